"""Opens the files of recordings, which may be a stranger's: pipes and devices would be read for ever."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from viva.journal.kept_files import open_plain
from viva.streams import descriptor_named


def open_recording(path: Path) -> BinaryIO:
    """Open a regular file for reading; a link to one will do, and so will what the shell opened (`/dev/stdin`).

    Raises:
        OSError: it is a named pipe, a device or a folder, or it is missing.
    """
    if (descriptor := descriptor_named(path)) is not None:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or os.isatty(descriptor):
            return path.open("rb")
        raise OSError(errno.EINVAL, "it is neither a file nor a pipe", str(path))
    try:
        return open_plain(path.resolve(strict=True))
    except RuntimeError as error:  # Python 3.12 and older
        raise OSError(errno.ELOOP, "its links lead in a circle", str(path)) from error

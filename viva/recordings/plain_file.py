"""Opens the files of recordings, which may be a stranger's: pipes and devices would be read for ever."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from viva.journal.kept_files import open_plain


def open_recording(path: Path) -> BinaryIO:
    """Open a regular file for reading; a link to one will do.

    Raises:
        OSError: there is no regular file: it is a pipe or a device, a folder, or missing.
    """
    try:
        return open_plain(path.resolve(strict=True))
    except RuntimeError as error:  # a circle of links, in Python 3.12 and older
        raise OSError(None, "its links lead in a circle", str(path)) from error

"""Names what is full when the system says that there is no space left: its own message often names nothing."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
SMALL = 1 << 20
"""Bytes below which a file system counts as full: the rest may be reserved, or too small for what was written."""


def error_words(error: OSError, places: Iterable[str | os.PathLike[str]] = ()) -> str:
    """Return the message of an error; if a disk or quota is full, with the file systems that are.

    Args:
        error: The error.
        places: Folders and files that were written, besides the working and the temporary folder.
    """
    if error.errno not in NO_ROOM:
        return str(error)
    named = [os.fsdecode(error.filename)] if isinstance(error.filename, str | bytes) else []
    here = [str(place) for place in places]
    with contextlib.suppress(OSError):
        here.append(os.getcwd())
    full = dict.fromkeys(_full([*named, *here, tempfile.gettempdir()]))
    where = f"on {', '.join(full)}" if full else "(on standard output, or a disk that is not full any more)"
    what = f"No space left {where}"
    if named:
        what = f"{named[0]} cannot be written: {what}"
    return f"{what} (quota, or size of the file system)" if error.errno == errno.EDQUOT else what


def _full(places: Iterable[str]) -> Iterator[str]:
    """Yield each file system with one of these paths that has no space, or no room for further files."""
    for place in places:
        path = _existing(Path(place))
        try:
            found = os.statvfs(path)
        except OSError:
            continue
        if found.f_bavail * found.f_frsize < SMALL:
            yield f"the file system of {_mount_of(path)}"
        elif found.f_files and not found.f_favail:
            yield f"the file system of {_mount_of(path)}, which can hold no further files"


def _existing(path: Path) -> Path:
    path = path.absolute()
    while not os.path.lexists(path) and path != path.parent:
        path = path.parent
    return path


def _mount_of(path: Path) -> Path:
    path = path.resolve()
    while not os.path.ismount(path) and path != path.parent:
        path = path.parent
    return path

"""Opens and reads the files that a user names or a stranger has made: regular files only, and only up to a size.

A named pipe or a device would be read for ever, and a document of gigabytes would take all memory.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from viva.errors import SetupError
from viva.streams import descriptor_named

MIB = 1024 * 1024
MOST_GIVEN = 16 * MIB
"""Maximum size in bytes of a file of settings, prompts, definitions or references. Parsing takes many times as much
memory."""

_STRAY = "".join(map(chr, range(0xDC80, 0xDD00)))
"""What bytes that are not UTF-8 are decoded to."""
Stamp = tuple[int, int, int] | None
"""When a file was changed, its size and its inode; None for one that is not there."""
BUFFER = 64 * 1024
"""Bytes that are read at once; with the usual 8 KiB, a large journal takes 40,000 system calls."""


def open_plain(path: str | Path, inside: int | None = None) -> BinaryIO:
    """Open a regular file for reading. Links are not followed, and pipes and devices are not waited for.

    Args:
        path: The path of the file; its folder may be reached through links.
        inside: File descriptor of the folder to which a relative path refers.

    Raises:
        OSError: there is no regular file.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=inside)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise OSError(errno.ELOOP, "it is a link, not a regular file", str(path)) from None
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        os.close(fd)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return open(fd, "rb", buffering=BUFFER)


def open_linked(path: Path) -> BinaryIO:
    """Open a regular file for reading; a link to one will do.

    Raises:
        OSError: it is a named pipe, a device or a folder, or it is missing.
    """
    try:
        return open_plain(path.resolve(strict=True))
    except RuntimeError as error:  # Python 3.12 and older
        raise OSError(errno.ELOOP, "its links lead in a circle", str(path)) from error


def open_given(path: Path) -> BinaryIO:
    """Open a file that the user named on the command line: as `open_linked`, or what the shell opened (`/dev/stdin`).

    Raises:
        OSError: it is a named pipe, a device or a folder, or it is missing.
    """
    if (descriptor := descriptor_named(path)) is not None:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or os.isatty(descriptor):
            return path.open("rb")
        raise OSError(errno.EINVAL, "it is neither a file nor a pipe", str(path))
    return open_linked(path)


def read_text(path: Path, what: str, most: int = MOST_GIVEN, *, torn_lines: bool = False) -> str:
    """Return the text of a file that the user named.

    Args:
        path: The file.
        what: What it is, as messages begin: `the mapping file`.
        most: Maximum size in bytes.
        torn_lines: Whether a line of JSON may break off within a character, because its writer was killed. What is
            there of the character is left out.

    Raises:
        SetupError: it cannot be read, is not a regular file, is larger, or is not UTF-8. The message says which.
    """
    try:
        with open_given(path) as file:
            content = file.read(most + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise SetupError(f"{what} {path} cannot be read: {why}.") from error
    if len(content) > most:
        raise SetupError(f"{what} {path} is larger than {in_words(most)}, the maximum.")
    if torn_lines and content.lstrip()[:1] == b"{":
        content = _without_torn_ends(content)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise SetupError(f"{what} {path} is not UTF-8 in line {line}: {error.reason}.") from error


def _without_torn_ends(content: bytes) -> bytes:
    """Return lines of JSON without parts of characters at their ends: a whole line ends in a brace."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return b"\n".join(
            line.decode("utf-8", "surrogateescape").rstrip(_STRAY).encode("utf-8", "surrogateescape")
            for line in content.split(b"\n")
        )
    return content


def in_words(size: int) -> str:
    """Return a number of bytes in words: `64 MiB`, `200,000 bytes`."""
    return f"{size // MIB:,} MiB" if size >= MIB and size % MIB == 0 else f"{size:,} bytes"


def stamp_of(place: str | Path) -> Stamp:
    """Return how a file or folder is now."""
    try:
        found = os.stat(place)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino

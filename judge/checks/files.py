"""Reads the one file of a workspace that a check names. Everything there is the agent's: no link is followed."""

from __future__ import annotations

import errno
import os
import stat
from codecs import getincrementaldecoder
from dataclasses import dataclass
from pathlib import Path

from viva.judge.checks.looked_at import MOST_CHARACTERS, WrittenText
from viva.regular_files import in_words, open_plain

MOST_READ = 4 * MOST_CHARACTERS
"""Maximum number of bytes of a file that are read: what so many characters take at most."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class NamedFile:
    """What is at a path in a workspace."""

    words: str
    """What there is, in words."""
    content: WrittenText | None = None
    """What the regular file there holds; None if there is none."""


def read_named(workspace: Path, path: str) -> NamedFile:
    """Return what is at a path, without following links, waiting for pipes or reading more than `MOST_READ`."""
    *folders, name = os.path.normpath(path).split("/")
    opened: int | None = None
    try:
        opened = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for folder in folders:
            inner = os.open(folder, _FOLDER, dir_fd=opened)
            os.close(opened)
            opened = inner
        with open_plain(name, opened) as stream:
            size = os.fstat(stream.fileno()).st_size
            content = stream.read(MOST_READ + 1)
    except (OSError, ValueError) as error:
        return NamedFile(_why(error, opened, name))
    finally:
        if opened is not None:
            os.close(opened)
    whole = len(content) <= MOST_READ
    words = f"a file of {in_words(max(size, len(content)))}"
    # Half a character at the end of what was read is left out: it is not the agent's fault. Nothing else is, so that
    # words are not found where the whole file has none.
    text = getincrementaldecoder("utf-8")("replace").decode(content[:MOST_READ], final=whole)
    return NamedFile(words, WrittenText(text, whole))


def _why(error: OSError | ValueError, folder: int | None, name: str) -> str:
    code = error.errno if isinstance(error, OSError) else None
    if code in (errno.ENOENT, errno.ENAMETOOLONG, errno.EILSEQ) or not isinstance(error, OSError):
        return "no such file"
    if code in (errno.ELOOP, errno.ENOTDIR):
        return "a link, which is not followed" if _is_link(folder, name) or code == errno.ELOOP else "no such file"
    if code == errno.EISDIR:
        return "a folder, and no file"
    return f"no readable file: {error.strerror}"


def _is_link(folder: int | None, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except (OSError, ValueError):
        return False

"""Files beside a journal: pictures, long texts, cases and their files, what was asked for. Each sort has names of one
form; files are written once and read by these names only, and no link is followed: a journal may come from a stranger.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

_FORM = rb"(?:images\\?/[0-9a-f]{64}\.(?:png|jpeg|gif|webp)|texts\\?/[0-9a-f]{64}\.(?:txt|json))"
_BY_CONTENT = re.compile(_FORM.replace(rb"\\?", b"").decode() + r"|files/[0-9a-f]{64}\.bin")
_CASE = re.compile(r"cases/[0-9a-f]{64}\.json")
_BESIDE = frozenset({"suite.json", "sources.json"})
MOST_BYTES = 256 * 1024 * 1024
"""Of one file: what is longer is not read."""
MOST_JSON = 16 * 1024 * 1024
"""Of a case, or of what was asked for: parsed, it takes many times as much memory."""
_IN_LINE = re.compile(rb'"(' + _FORM + rb')"')


def name_for(folder: str, content: bytes, ending: str) -> str:
    """The name under which a content is kept: `images`, `texts` or `files`, its SHA-256, and what it is."""
    return f"{folder}/{hashlib.sha256(content).hexdigest()}.{ending}"


def is_kept_name(name: str) -> bool:
    """Whether it is a name that `name_for` gives."""
    return _BY_CONTENT.fullmatch(name) is not None


def case_name(digest: str) -> str:
    """The name under which the case of this hash is kept.

    Raises:
        ValueError: it is no SHA-256.
    """
    if _CASE.fullmatch(name := f"cases/{digest}.json") is None:
        raise ValueError(f"{digest[:80]!r} is not the hash of a case")
    return name


def may_be_written(name: str, content: bytes) -> bool:
    """Whether a journal may hold this content under this name; a name made from another content is refused, too."""
    if is_kept_name(name):
        return _is_made_from(name, content)
    return name in _BESIDE or _CASE.fullmatch(name) is not None


def names_in(line: bytes) -> Iterator[str]:
    """The names that stand in a line of JSON as texts of their own."""
    # Looked for as bytes: parsing every line that is copied takes longer than copying it.
    for match in _IN_LINE.finditer(line):
        yield match[1].replace(b"\\", b"").decode()


def read_kept(folder: Path, name: str) -> bytes | None:
    """The content of a file of this name in a journal's folder; None where there is none, or it is too long.

    Nothing else is read: no other name, no link, nothing that is no plain file.
    """
    if not (is_kept_name(name) or name in _BESIDE or _CASE.fullmatch(name)):
        return None
    *parents, file = name.split("/")
    most = MOST_BYTES if is_kept_name(name) else MOST_JSON
    try:
        with open_folder(folder, parents) as inside, open_plain(file, inside) as opened:
            content = opened.read(most + 1) if os.fstat(opened.fileno()).st_size <= most else None
            return content if content is not None and len(content) <= most else None
    except OSError:
        return None


def open_plain(path: str | Path, inside: int | None = None) -> BinaryIO:
    """Open a plain file for reading: no link is followed, and no pipe or device is waited for.

    Args:
        path: Of the file; its folder may be reached by links.
        inside: Descriptor of the folder that a relative path begins in.

    Raises:
        OSError: there is no plain file.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=inside)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise OSError(errno.ELOOP, "it is a link, not a plain file", str(path)) from None
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        os.close(fd)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise OSError(errno.EINVAL, "it is not a plain file", str(path))
    return open(fd, "rb")


def read_sound(folder: Path, name: str) -> bytes | None:
    """The same, and None where the content is not the one that the name was made from."""
    content = read_kept(folder, name) if is_kept_name(name) else None
    return content if content is not None and _is_made_from(name, content) else None


def is_kept(folder: Path, name: str) -> bool:
    """Whether a journal's folder itself, and no link in it, holds a plain file of this name."""
    *parents, file = name.split("/")
    try:
        with open_folder(folder, parents) as inside:
            return stat.S_ISREG(os.stat(file, dir_fd=inside, follow_symlinks=False).st_mode)
    except (OSError, ValueError):
        return False


def _is_made_from(name: str, content: bytes) -> bool:
    return hashlib.sha256(content).hexdigest() == name.partition("/")[2].partition(".")[0]


def write_once(folder: Path, name: str, content: bytes) -> None:
    """Write a file below a folder unless it is there; any number of threads and processes may do so at once.

    Raises:
        OSError: the disk did not take it, or a link stands where a folder should be.
    """
    *parents, last = name.split("/")
    part = f".{last}.{os.urandom(8).hex()}.part"
    with open_folder(folder, parents, make=True) as inside:
        if _is_there(last, inside, name, len(content)):
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with open(os.open(part, flags, 0o644, dir_fd=inside), "wb") as file:
                file.write(content)
                file.flush()
                # Renamed before its content reached the disk, it could survive a power cut as an empty file.
                os.fsync(file.fileno())
            os.replace(part, last, src_dir_fd=inside, dst_dir_fd=inside)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part, dir_fd=inside)
            raise


def _is_there(file: str, inside: int, name: str, size: int) -> bool:
    try:
        found = os.stat(file, dir_fd=inside, follow_symlinks=False)
    except OSError:
        return False
    # A name that is made from the content promises its size: what differs was left by a power cut or a stranger.
    return stat.S_ISREG(found.st_mode) and (found.st_size == size or not is_kept_name(name))


@contextlib.contextmanager
def open_folder(folder: Path, parents: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """Open a folder below another, without following a link on the way; gives its descriptor.

    Args:
        folder: The upper one, which may itself be reached by links.
        parents: Names of the folders on the way down.
        make: Make those that are not there.

    Raises:
        OSError: there is none, or a link in its place.
    """
    if make:
        os.makedirs(folder, exist_ok=True)
    inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for parent in parents:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(parent, 0o755, dir_fd=inside)
            deeper = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=inside)
            os.close(inside)
            inside = deeper
        yield inside
    finally:
        os.close(inside)

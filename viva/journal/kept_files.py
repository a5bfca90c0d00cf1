"""Files next to a journal: images, long texts, cases and their files, and the stored request. Each kind has names of a
fixed form. Files are written once and read only by such names, and no link is followed, because a journal may come from
a stranger.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from viva.regular_files import MIB, in_words, open_plain

_FORM = rb"(?:images\\?/[0-9a-f]{64}\.(?:png|jpeg|gif|webp)|texts\\?/[0-9a-f]{64}\.(?:txt|json))"
_BY_CONTENT = re.compile(_FORM.replace(rb"\\?", b"").decode() + r"|files/[0-9a-f]{64}\.bin")
_CASE = re.compile(r"cases/[0-9a-f]{64}\.json")
_BATCH = re.compile(r"batches/[0-9]{4}\.json")
MOST_BATCHES = 9999
"""Maximum number of batches of an adaptive suite."""
_BESIDE = frozenset({"request.json", "suite.json", "sources.json"})
UNREAD = "unread.json"
"""The file that says what of the sources of an import could not be read."""
MOST_BYTES = 256 * 1024 * 1024
"""Maximum size of one file; a longer file is not read."""
MOST_JSON = 16 * 1024 * 1024
"""Maximum size of a case, which requires many times as much memory when it is parsed. A request or a batch, which may
name as many cases as a journal has runs, may be as long as other files, but not hold more values than fit into this."""
_MOST_VALUES = MOST_JSON // 3
"""Maximum number of values, each of which takes at least three bytes (`[],`), and most of them far more."""
_IN_LINE = re.compile(rb'"(' + _FORM + rb')"')


def name_for(folder: str, content: bytes, ending: str) -> str:
    """Return the name of a stored file: its folder (`images`, `texts` or `files`), its SHA-256, and its extension."""
    return f"{folder}/{hashlib.sha256(content).hexdigest()}.{ending}"


def is_kept_name(name: str) -> bool:
    """Return whether a name has the form of those from `name_for`."""
    return _BY_CONTENT.fullmatch(name) is not None


def case_name(digest: str) -> str:
    """Return the name of the stored case with this hash.

    Raises:
        ValueError: the hash is not a SHA-256.
    """
    if _CASE.fullmatch(name := f"cases/{digest}.json") is None:
        raise ValueError(f"{digest[:80]!r} is not the hash of a case")
    return name


def batch_name(number: int) -> str:
    """Return the name of the file of a batch, which are counted from 1."""
    return f"batches/{number:04}.json"


def may_be_written(name: str, content: bytes) -> bool:
    """Return whether a journal may hold this content under this name, which must match the content."""
    if is_kept_name(name):
        return _is_made_from(name, content)
    return name in _BESIDE or _CASE.fullmatch(name) is not None


def names_in(line: bytes) -> Iterator[str]:
    """Yield the names of stored files that are values in a line of JSON."""
    # Found by searching the bytes: parsing every line that is copied takes longer than copying it.
    if not _may_name_files(line):
        return
    for match in _IN_LINE.finditer(line):
        yield match[1].replace(b"\\", b"").decode()


def _may_name_files(line: bytes) -> bool:
    """Return whether a name may be in some bytes; most have none, and few slashes, which are found a hundred times as
    fast as a name is.
    """
    at = line.find(b"/")
    for _ in range(_MOST_SLASHES):
        if at < 0:
            return False
        if line.endswith(_FOLDERS, 0, at):
            return True
        at = line.find(b"/", at + 1)
    return b'"images' in line or b'"texts' in line


_FOLDERS = (b'"images', b'"texts', b'"images\\', b'"texts\\')
"""What may be before the slash of a name."""
_MOST_SLASHES = 32
"""Maximum number of slashes that are looked at one by one."""


def read_kept(folder: Path, name: str) -> bytes | None:
    """Return the content of a file in a journal's folder; None if there is no such file, or if it is too long.

    Names of other forms, links, and files that are not regular are not read.
    """
    if not (is_kept_name(name) or name in {*_BESIDE, UNREAD} or _CASE.fullmatch(name) or _BATCH.fullmatch(name)):
        return None
    *parents, file = name.split("/")
    most = MOST_JSON if _CASE.fullmatch(name) else MOST_BYTES
    try:
        with open_folder(folder, parents) as inside, open_plain(file, inside) as opened:
            content = opened.read(most + 1) if os.fstat(opened.fileno()).st_size <= most else None
            return content if content is not None and can_be_read(name, content) else None
    except OSError:
        return None


def can_be_read(name: str, content: bytes) -> bool:
    """Return whether `read_kept` reads this content under this name: what cannot be read again must not be written."""
    return not why_unreadable(name, content)


def why_unreadable(name: str, content: bytes) -> str:
    """Return what of this content is more than `read_kept` reads under this name, in words; empty if it reads it."""
    size, most = len(content), MOST_JSON if _CASE.fullmatch(name) else MOST_BYTES
    if size > most:
        return f"takes {-(-size // MIB):,} MiB, more than the {in_words(most)}"
    if is_kept_name(name) or size <= MOST_JSON:
        return ""
    values = sum(map(content.count, (b",", b"[", b"{")))
    return f"has about {values:,} values, more than the {_MOST_VALUES:,}" if values > _MOST_VALUES else ""


def read_sound(folder: Path, name: str) -> bytes | None:
    """Return the same as `read_kept`, but None if the content does not match the name."""
    content = read_kept(folder, name) if is_kept_name(name) else None
    return content if content is not None and _is_made_from(name, content) else None


def is_kept(folder: Path, name: str) -> bool:
    """Return whether a journal's folder contains a regular file of this name, without following links."""
    *parents, file = name.split("/")
    try:
        with open_folder(folder, parents) as inside:
            return stat.S_ISREG(os.stat(file, dir_fd=inside, follow_symlinks=False).st_mode)
    except (OSError, ValueError):
        return False


def _is_made_from(name: str, content: bytes) -> bool:
    return hashlib.sha256(content).hexdigest() == name.partition("/")[2].partition(".")[0]


def write_once(folder: Path, name: str, content: bytes) -> None:
    """Write a file below a folder unless it exists; several threads and processes may do so at the same time.

    Raises:
        OSError: the file cannot be written, or a link is where a folder should be.
    """
    *parents, last = name.split("/")
    with open_folder(folder, parents, make=True) as inside:
        if not _is_there(last, inside, name, len(content)):
            _replace(last, inside, content)


def write_again(folder: Path, name: str, content: bytes) -> None:
    """Write a file of a folder, in place of the one that is there: at any time it has the old content or the new.

    Raises:
        OSError: the file cannot be written, or a folder is where it should be.
    """
    with open_folder(folder, ()) as inside:
        _replace(name, inside, content)


def _replace(file: str, inside: int, content: bytes) -> None:
    part = f".{file}.{os.urandom(8).hex()}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(part, flags, 0o644, dir_fd=inside), "wb") as opened:
            opened.write(content)
            opened.flush()
            # If it were renamed before its content is on the disk, a power cut could leave an empty file.
            os.fsync(opened.fileno())
        os.replace(part, file, src_dir_fd=inside, dst_dir_fd=inside)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part, dir_fd=inside)
        raise


def _is_there(file: str, inside: int, name: str, size: int) -> bool:
    try:
        found = os.stat(file, dir_fd=inside, follow_symlinks=False)
    except OSError:
        return False
    # A name made from the content implies its size; a different size was left by a power cut or a stranger.
    return stat.S_ISREG(found.st_mode) and (found.st_size == size or not is_kept_name(name))


@contextlib.contextmanager
def open_folder(folder: Path, parents: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """Open a folder below another one without following links, and yield its file descriptor.

    Args:
        folder: The upper folder, which may itself be reached through links.
        parents: The names of the folders on the way down.
        make: Whether to create missing folders.

    Raises:
        OSError: a folder does not exist or is a link.
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

"""Reads and writes files for an agent, inside its workspace only: no link is followed, and nothing waits for a pipe."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 16 * 1024 * 1024
"""Maximum size of a text that is read or written."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PLAIN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FileRefused(Exception):
    """A file cannot be read or written for the agent; the message says why."""

    def __init__(self, words: str, *, missing: bool = False) -> None:
        super().__init__(words)
        self.missing = missing
        """Whether there is no such file."""


def inside(workspace: Path, path: object) -> tuple[str, ...]:
    """Return the parts of a path relative to the workspace.

    Args:
        workspace: The workspace, absolute.
        path: What the agent named.

    Raises:
        FileRefused: it is not an absolute path inside the workspace.
    """
    if not isinstance(path, str) or "\0" in path or not os.path.isabs(path):
        raise FileRefused(f"{path!r:.200} is not an absolute path")
    named = os.path.normpath(path)
    for root in (os.path.normpath(workspace), os.path.realpath(workspace)):
        if named == root:
            return ()
        if named.startswith(f"{root}{os.sep}"):
            return tuple(named[len(root) + 1 :].split(os.sep))
    raise FileRefused(f"{path!r:.200} is outside of the session's working directory")


def read_text(workspace: Path, path: object, line: int | None = None, limit: int | None = None) -> str:
    """Return the text of a file, or some of its lines.

    Args:
        workspace: The workspace, absolute.
        path: What the agent named.
        line: The first line, counted from 1.
        limit: Maximum number of lines.

    Raises:
        FileRefused: it is outside, a link, missing, too large, not a regular file, or not UTF-8.
    """
    parts = inside(workspace, path)
    with _as_refusal(path), _opened(workspace, parts, os.O_RDONLY) as descriptor:
        content = _read(descriptor, str(path))
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileRefused(f"{path} is not UTF-8 text") from error
    if line is None and limit is None:
        return text
    # Lines as editors and agents count them: a form feed or U+2028 ends none.
    lines = io.StringIO(text, newline="\n").readlines()[max((line or 1) - 1, 0) :]
    return "".join(lines if limit is None else lines[: max(limit, 0)])


def write_text(workspace: Path, path: object, text: str) -> None:
    """Write a file, in place of what it contained; folders on its path are made.

    Args:
        workspace: The workspace, absolute.
        path: What the agent named.
        text: The new content.

    Raises:
        FileRefused: it is outside, a link, too large, or not a regular file, or it cannot be written.
    """
    parts = inside(workspace, path)
    content = text.encode("utf-8", "backslashreplace")
    if len(content) > MOST_BYTES:
        raise FileRefused(f"{path} would have more than {MOST_BYTES // 1024**2} MiB, the maximum")
    write_file(workspace, parts, content, str(path))


def write_file(workspace: Path, parts: tuple[str, ...], content: bytes, shown: str) -> None:
    """Write a file, in place of what it contained; folders on its path are made.

    Args:
        workspace: The workspace, absolute.
        parts: The path below the workspace.
        content: The new content.
        shown: The path, for messages.

    Raises:
        FileRefused: it is a link or not a regular file, or it cannot be written.
    """
    with _as_refusal(shown), _opened(workspace, parts, os.O_WRONLY | os.O_CREAT) as descriptor:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileRefused(f"{shown} is not a regular file")
        os.ftruncate(descriptor, 0)
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]


@dataclass(frozen=True, slots=True)
class CheckedFolder:
    """A folder in which a command may run."""

    path: Path
    identity: tuple[int, int] | None = None
    """Its device and inode when it was checked; None for the workspace itself."""


def folder_inside(workspace: Path, path: object) -> CheckedFolder:
    """Return a folder in which a command may run.

    Raises:
        FileRefused: it is outside of the workspace, behind a link, or no folder.
    """
    parts = inside(workspace, path)
    with _as_refusal(path):
        folder = os.open(workspace, _FOLDER)
        try:
            for part in parts:
                folder = _step(folder, part)
            found = os.fstat(folder)
        finally:
            os.close(folder)
    return CheckedFolder(workspace.joinpath(*parts), (found.st_dev, found.st_ino))


def _read(descriptor: int, path: str) -> bytes:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise FileRefused(f"{path} is not a regular file")
    with open(os.dup(descriptor), "rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise FileRefused(f"{path} has more than {MOST_BYTES // 1024**2} MiB, the maximum")
    return content


@contextlib.contextmanager
def _opened(workspace: Path, parts: tuple[str, ...], flags: int) -> Iterator[int]:
    """Open a file below the workspace, one folder after another, so that no link is followed at any time."""
    if not parts:
        raise FileRefused("the working directory is not a file")
    folder = os.open(workspace, _FOLDER)
    try:
        for part in parts[:-1]:
            if flags & os.O_CREAT:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=folder)
            folder = _step(folder, part)
        descriptor = os.open(parts[-1], flags | _PLAIN, 0o644, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _step(folder: int, name: str) -> int:
    """Return a folder below an open one, which is then closed."""
    deeper = os.open(name, _FOLDER, dir_fd=folder)
    os.close(folder)
    return deeper


@contextlib.contextmanager
def _as_refusal(path: object) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # What a link in place of a folder gives, too.
        link = error.errno in (errno.ELOOP, errno.ENOTDIR)
        words = "it is reached through a link, or something on its path is not a folder" if link else error.strerror
        raise FileRefused(f"{path}: {words}", missing=isinstance(error, FileNotFoundError)) from error

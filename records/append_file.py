"""A file of lines that several threads and processes append to; whoever is killed while writing costs its own line."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
from pathlib import Path

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
"""What a file system answers that knows no locks. Each line still is one write to an `O_APPEND` file there."""


# A journal may come from a stranger: no link is followed, and no pipe is waited for.
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class AppendFile:
    """Appends whole lines, one writer at a time. A line after a torn one begins on a fresh line."""

    def __init__(self, path: Path) -> None:
        """Open the file, and create it if need be.

        Raises:
            OSError: it cannot be written.
        """
        # Read as well: what another process left at the end has to be looked at.
        self._fd = os.open(path, _FLAGS, 0o644)
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            os.close(self._fd)
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        self._path = path.absolute()
        # The lock below belongs to this open file, so it does not keep the threads that share it apart.
        self._turn = threading.Lock()
        self._locks = True
        self._sound_end = -1
        """Size of the file after the last write of this process that succeeded; -1 before, and after one that failed.
        At any other size, its last byte may not be the end of a line."""

    def append(self, lines: bytes) -> None:
        """Append whole lines with one write.

        Raises:
            OSError: the disk did not take them all; a part may stand there.
        """
        with self._turn:
            if self._fd < 0:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            self._lock()
            try:
                end = os.fstat(self._fd).st_size
                if end != self._sound_end and end and os.pread(self._fd, 1, end - 1) != b"\n":
                    lines = b"\n" + lines
                self._sound_end = -1
                written = os.write(self._fd, lines)
                if written != len(lines):
                    raise OSError(errno.ENOSPC, f"it took {written} of {len(lines)} bytes: is the disk full?")
                self._sound_end = end + written
            finally:
                if self._locks:
                    fcntl.flock(self._fd, fcntl.LOCK_UN)

    def sync(self) -> None:
        """Wait until the disk has what was appended.

        Raises:
            OSError: it did not take it.
        """
        os.fdatasync(self._fd)

    def is_in_place(self) -> bool:
        """Whether the file still lies where it was opened: else what is appended goes where nobody will find it."""
        mine = os.fstat(self._fd)
        try:
            found = os.stat(self._path, follow_symlinks=False)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == (mine.st_dev, mine.st_ino)

    def close(self) -> None:
        """Release the file. May be called twice."""
        with self._turn:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1

    def _lock(self) -> None:
        if not self._locks:
            return
        try:
            # Goes with the process, however it ends. It is held for one write: nobody waits longer than that.
            fcntl.flock(self._fd, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            self._locks = False

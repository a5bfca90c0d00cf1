"""A file of lines to which several threads and processes append; a writer that is killed loses only its own line."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
from pathlib import Path

from viva.file_locks import NO_LOCKS

# A journal may come from a stranger: links are not followed, and pipes are not waited for.
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class AppendFile:
    """Appends whole lines, one writer at a time. After a torn line, the next one begins on a new line."""

    def __init__(self, path: Path) -> None:
        """Open the file, and create it if necessary.

        Raises:
            OSError: the file cannot be written.
        """
        # Opened for reading too, to check what another process left at the end.
        self._fd = os.open(path, _FLAGS, 0o644)
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            os.close(self._fd)
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        self._path = path.absolute()
        # The file lock below belongs to this open file, so it does not exclude threads that share it.
        self._turn = threading.Lock()
        self._locks = True
        self._sound_end = -1
        """The size of the file after this process's last successful write; -1 before the first write and after a failed
        one. At any other size, the last byte may not be the end of a line."""

    def append(self, lines: bytes, *, only_first: bool = False) -> bool:
        """Append whole lines with one write.

        Args:
            lines: The lines.
            only_first: Write nothing unless the file is empty.

        Returns:
            Whether they were written.

        Raises:
            OSError: not all lines were written; the file may contain part of them.
        """
        with self._turn:
            if self._fd < 0:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            self._lock()
            try:
                end = os.lseek(self._fd, 0, os.SEEK_END)  # the size; fstat takes five times as long
                if only_first and end:
                    return False
                if end != self._sound_end and end and os.pread(self._fd, 1, end - 1) != b"\n":
                    lines = b"\n" + lines
                self._sound_end = -1
                written = os.write(self._fd, lines)
                if written != len(lines):
                    raise OSError(errno.ENOSPC, f"only {written} of {len(lines)} bytes were written: is the disk full?")
                self._sound_end = end + written
                return True
            except OSError as error:
                error.filename = error.filename or str(self._path)
                raise
            finally:
                if self._locks:
                    fcntl.flock(self._fd, fcntl.LOCK_UN)

    def sync(self) -> None:
        """Wait until everything that was appended is on the disk.

        Raises:
            OSError: the file cannot be synced.
        """
        os.fdatasync(self._fd)

    def is_in_place(self) -> bool:
        """Return whether the path still leads to the open file; otherwise, nobody will find what is appended."""
        mine = os.fstat(self._fd)
        try:
            found = os.stat(self._path, follow_symlinks=False)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == (mine.st_dev, mine.st_ino)

    def close(self) -> None:
        """Close the file. It may be called twice."""
        with self._turn:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1

    def _lock(self) -> None:
        if not self._locks:
            return
        try:
            # Released when the process ends, in whatever way. It is held for one write, so nobody waits longer.
            fcntl.flock(self._fd, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            self._locks = False  # there, each line is still one write to an `O_APPEND` file

"""Locks a journal's folder for one process at a time, because two writers of the same runs would mix them up."""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from viva.journal.writer import JournalBusy, JournalError
from viva.processes import process_is_alive

INHERITED_SECONDS = 10.0
"""How long a lock is waited for whose holder is dead. A process that it was starting when it was killed still has the
lock, until its own program begins: some milliseconds, or more on a busy machine."""


@contextmanager
def exclusive_writer(folder: Path) -> Iterator[None]:
    """Lock a folder for this process, and create it if necessary. The lock is released when the process ends.

    Raises:
        JournalBusy: another process has locked it.
        JournalError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    except OSError as error:
        reason = "it is a file, not a folder" if folder.is_file() else error.strerror
        raise JournalError(
            f"cannot write a journal in {folder}: {reason}. Choose another folder with --out."
        ) from error
    try:
        if not _taken(lock):
            raise JournalBusy(
                f"another viva process is writing to {folder}. Wait until it ends, or choose another folder with --out."
            )
        _note_holder(lock)
        yield
    finally:
        os.close(lock)


def holder(folder: Path) -> int | None:
    """Return the id of the process that has locked a folder; None if there is none. Nothing is locked to find out."""
    try:
        lock = os.open(folder / ".lock", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        noted = re.fullmatch(rb"([1-9]\d{0,8})\n", os.pread(lock, 20, 0))
        if noted is None or not process_is_alive(int(noted[1])):
            return None
        # Another process may have got the id of one that was killed.
        return int(noted[1]) if _is_locked(os.fstat(lock)) else None
    except OSError:
        return None
    finally:
        os.close(lock)


def _is_locked(file: os.stat_result) -> bool:
    """Return whether somebody has locked a file, as Linux lists it in /proc/locks (proc(5)); True where it does not."""
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return True
    name = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    if any(name in line.split() for line in lines):
        return True
    # Some file systems list their locks by another device (overlayfs, btrfs): there, the inode has to do.
    return any(line.split()[5:6] and line.split()[5].rpartition(":")[2] == str(file.st_ino) for line in lines)


def _taken(lock: int) -> bool:
    """Acquire the lock if it is free or was left by a dead process."""
    until = time.monotonic() + INHERITED_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if not _holder_is_dead(lock) or time.monotonic() > until:
                return False
            time.sleep(0.01)
        else:
            return True


def _note_holder(lock: int) -> None:
    found = os.fstat(lock)
    # A folder from elsewhere may hold a second name of another file there, which is not to be written.
    if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
        with suppress(OSError):  # a full disk: the lock holds all the same
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)


def _holder_is_dead(lock: int) -> bool:
    try:
        noted = re.fullmatch(rb"([1-9]\d{0,8})\n", os.pread(lock, 20, 0))
    except OSError:  # not a regular file
        return False
    return noted is not None and not process_is_alive(int(noted[1]))

"""Locks a journal's folder for one process at a time, because two writers of the same runs would mix them up.

Where the file system has no locks, the process's id in `.lock` is all that another process on this machine can see.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from viva.file_locks import try_lock
from viva.journal.writer import JournalBusy, JournalError
from viva.processes import process_is_alive

INHERITED_SECONDS = 10.0
"""How long a lock is waited for whose holder is dead. A process that it was starting when it was killed still has the
lock, until its own program begins: some milliseconds, or more on a busy machine."""
_UNLOCKED = b"unlocked\n"
"""What follows the process's id in `.lock` if the file system has no locks."""
_NOTED = re.compile(rb"([1-9]\d{0,8})\n(%s)?" % _UNLOCKED)
_MOST_NOTED = 20
_unlocked: set[tuple[int, int]] = set()
"""The lock files, by device and inode, of the folders to which this process writes without a lock."""


@contextmanager
def exclusive_writer(folder: Path) -> Iterator[str | None]:
    """Lock a folder for this process, and create it if necessary. The lock is released when the process ends.

    Yields:
        A note for the user if the file system has no locks, so that a second writer may go unnoticed; else None.

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
        try:
            taken = _taken(lock)
        except OSError as error:
            raise JournalError(
                f"cannot write a journal in {folder}: it cannot be locked: {error.strerror}. "
                "Choose another folder with --out."
            ) from error
        if taken is None:
            with _without_lock(folder, lock) as note:
                yield note
            return
        if not taken:
            raise JournalBusy(
                f"another viva process is writing to {folder}. Wait until it ends, or choose another folder with --out."
            )
        _note_holder(lock)
        yield None
    finally:
        os.close(lock)


@contextmanager
def _without_lock(folder: Path, lock: int) -> Iterator[str]:
    """Note in the lock file that this process writes to a folder that cannot be locked.

    Raises:
        JournalBusy: a living process, or this one, is noted there.
    """
    found = os.fstat(lock)
    file = found.st_dev, found.st_ino
    process = _unlocked_holder(lock)
    if file in _unlocked or (process is not None and process != os.getpid()):
        raise JournalBusy(
            f"another viva process seems to be writing to {folder}: its file system has no locks, but "
            f"{folder / '.lock'} names the process {process or os.getpid()}. Wait until it ends, or choose another "
            "folder with --out. If that process is another program, remove the file."
        )
    _unlocked.add(file)
    try:
        _note_holder(lock, _UNLOCKED)
        yield (
            f"{folder} is on a file system without locks: another viva process that writes there is noticed only if it "
            "runs on the same machine and began earlier. Let no two write there at the same time."
        )
    finally:
        _unlocked.discard(file)
        _write_note(lock, b"")


def holder(folder: Path) -> int | None:
    """Return the id of the process that has locked a folder; None if there is none. Nothing is locked to find out."""
    try:
        lock = os.open(folder / ".lock", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        noted = _NOTED.fullmatch(os.pread(lock, _MOST_NOTED, 0))
        if noted is None or not process_is_alive(int(noted[1])):
            return None
        # Another process may have got the id of one that was killed.
        return int(noted[1]) if noted[2] or _is_locked(os.fstat(lock)) else None
    except OSError:
        return None
    finally:
        os.close(lock)


def _unlocked_holder(lock: int) -> int | None:
    """Return the id of the living process that is noted in a lock file of a file system without locks."""
    try:
        noted = _NOTED.fullmatch(os.pread(lock, _MOST_NOTED, 0))
    except OSError:  # not a regular file
        return None
    return int(noted[1]) if noted is not None and noted[2] and process_is_alive(int(noted[1])) else None


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


def _taken(lock: int) -> bool | None:
    """Acquire the lock if it is free or was left by a dead process; return None if the file system has no locks.

    Raises:
        OSError: the file cannot be locked for another reason.
    """
    until = time.monotonic() + INHERITED_SECONDS
    while (taken := try_lock(lock)) is False and _holder_is_dead(lock) and time.monotonic() <= until:
        time.sleep(0.01)
    return taken


def _note_holder(lock: int, how: bytes = b"") -> None:
    _write_note(lock, b"%d\n%s" % (os.getpid(), how))


def _write_note(lock: int, note: bytes) -> None:
    found = os.fstat(lock)
    # A folder from elsewhere may hold a second name of another file there, which is not to be written.
    if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
        with suppress(OSError):  # a full disk: the lock holds all the same
            os.ftruncate(lock, 0)
            os.pwrite(lock, note, 0)


def _holder_is_dead(lock: int) -> bool:
    try:
        noted = _NOTED.fullmatch(os.pread(lock, _MOST_NOTED, 0))
    except OSError:  # not a regular file
        return False
    return noted is not None and not process_is_alive(int(noted[1]))

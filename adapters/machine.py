"""Distinguishes shortages of this machine (disk, file descriptors, memory, threads) from failures of an agent."""

from __future__ import annotations

import errno
import mmap
import os
import re
import tempfile
from pathlib import Path

from viva.errors import DescriptorsGone, MachineError

PROBE_BYTES = 64 * 1024
PROBE_MEMORY = 64 * 1024 * 1024
SPARE_DESCRIPTORS = 10
MORE_THREADS = "Raise the limit (ulimit -u, ulimit -v, or the container's pids limit), or reduce --concurrency."
LONGEST_CHAIN = 10
"""Maximum number of exceptions in a chain of causes that are examined."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_NO_FILES = (errno.EMFILE, errno.ENFILE)
# An agent in its own process reports its errors as text.
_NO_ROOM_WORDS = re.compile("|".join(rf"\[Errno {number}\]" for number in _NO_ROOM))


def check_machine(error: BaseException, folder: Path | None) -> None:
    """Check that an agent's error was not caused by this machine. An error is not trusted: the shortage is verified.

    Args:
        error: The exception, from Viva's process or as text from another.
        folder: The run's workspace, which may not exist.

    Raises:
        MachineError: the machine lacks what the error says; `DescriptorsGone` for descriptors.
    """
    try:
        numbers = _numbers(error)
    except Exception:  # an exception's attributes may be properties that the agent defined
        return
    for number in numbers:
        words = None
        if number in _NO_FILES and (words := _descriptors()) is not None:
            raise DescriptorsGone(f"{words}; this says nothing about the agent") from error
        if number in _NO_ROOM:
            words = _disk(folder)
        elif number == errno.ENOMEM:
            words = _memory()
        if words is not None:
            raise MachineError(f"{words}; this says nothing about the agent") from error


def _numbers(error: BaseException | None) -> set[int]:
    """Return the error numbers in a chain of exceptions."""
    found: set[int] = set()
    for _ in range(LONGEST_CHAIN):
        if error is None:
            break
        if isinstance(error, OSError) and isinstance(error.errno, int):
            found.add(error.errno)
        elif isinstance(error, MemoryError):
            found.add(errno.ENOMEM)
        elif type(error).__module__.startswith("viva.") and _NO_ROOM_WORDS.search(str(error)):
            found.add(errno.ENOSPC)
        error = error.__cause__ or error.__context__
    return found


def _disk(folder: Path | None) -> str | None:
    place = folder
    # What the agent put in place of its workspace says nothing about the disk that its files are on.
    while place is not None and (os.path.islink(place) or not os.path.isdir(place)):
        place = None if place == place.parent else place.parent
    if place is None:
        return None
    try:
        with tempfile.TemporaryFile(dir=place, prefix=".viva-room-") as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno in _NO_ROOM:
            return f"there is no space left on the disk under {place}"
    return None


def _descriptors() -> str | None:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno in _NO_FILES:
            return "Viva has no more file descriptors (ulimit -n)"
    return None


def are_descriptors_free() -> bool:
    """Return whether this process can open a few files more."""
    opened: list[int] = []
    try:
        opened.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(SPARE_DESCRIPTORS))
    except OSError:
        return False
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return True


def is_memory_free() -> bool:
    """Return whether this process can have some more memory."""
    return _memory() is None


def _memory() -> str | None:
    try:
        # Mapped, and not written to: the same limits apply, and the process does not grow.
        mmap.mmap(-1, PROBE_MEMORY).close()
    except OSError:
        return "Viva has no more memory"
    return None

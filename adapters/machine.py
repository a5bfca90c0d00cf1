"""Tells what this machine lacks from what an agent does wrong: no room on the disk, no descriptors, no memory."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from pathlib import Path

from adapters.errors import MachineError

PROBE_BYTES = 64 * 1024
PROBE_MEMORY = 64 * 1024 * 1024
LONGEST_CHAIN = 10
"""Exceptions that are looked through, from one to its cause."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_NO_FILES = (errno.EMFILE, errno.ENFILE)
# How a process of the agent's own tells of it: in words.
_NO_ROOM_WORDS = re.compile("|".join(rf"\[Errno {number}\]" for number in _NO_ROOM))


def check_machine(error: BaseException, folder: Path | None) -> None:
    """See that an error of an agent's does not come of this machine. Believe no error: try what it says cannot be done.

    Args:
        error: What was raised, in Viva's process or in words from another.
        folder: The run's workspace; it may not have been made.

    Raises:
        MachineError: the machine lacks what the error says.
    """
    try:
        numbers = _numbers(error)
    except Exception:  # an exception's attributes may be properties of the agent's making
        return
    for number in numbers:
        words = None
        if number in _NO_ROOM:
            words = _disk(folder)
        elif number in _NO_FILES:
            words = _descriptors()
        elif number == errno.ENOMEM:
            words = _memory()
        if words is not None:
            raise MachineError(f"{words}; this says nothing about the agent") from error


def _numbers(error: BaseException | None) -> set[int]:
    """What the errors of a chain come of."""
    found: set[int] = set()
    for _ in range(LONGEST_CHAIN):
        if error is None:
            break
        if isinstance(error, OSError) and isinstance(error.errno, int):
            found.add(error.errno)
        elif isinstance(error, MemoryError):
            found.add(errno.ENOMEM)
        elif type(error).__module__.startswith("adapters.") and _NO_ROOM_WORDS.search(str(error)):
            found.add(errno.ENOSPC)
        error = error.__cause__ or error.__context__
    return found


def _disk(folder: Path | None) -> str | None:
    place = folder
    # What the agent put in place of its workspace says nothing about the disk that its files are on.
    while place is not None and (place.is_symlink() or not place.is_dir()):
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
            return f"there is no room left on the disk under {place}"
    return None


def _descriptors() -> str | None:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno in _NO_FILES:
            return "Viva has no more file descriptors (ulimit -n)"
    return None


def _memory() -> str | None:
    try:
        bytearray(PROBE_MEMORY)
    except MemoryError:
        return "Viva has no more memory"
    return None

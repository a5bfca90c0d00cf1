"""Pauses work that another process does: it begins no further run until it is resumed. Runs in progress go on.

A file in the journal's folder says so. It counts only while the process works for which it was written: the next one
removes it, so that a process that is killed leaves nothing paused.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from viva.errors import SetupError
from viva.journal.lock import holder

FILE = ".pause"
POLL_SECONDS = 0.3


class NotAtWork(SetupError):
    """No process works on a journal."""


def pause(folder: Path) -> bool:
    """Pause the process that works on a journal; return whether it was not paused before.

    Raises:
        NotAtWork: none does.
        SetupError: the folder cannot be written.
    """
    process = _working(folder)
    before = is_paused(folder)
    try:
        with suppress(FileNotFoundError):
            os.unlink(folder / FILE)
        handle = os.open(folder / FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with os.fdopen(handle, "w") as file:
            file.write(f"{process}\n")
    except OSError as error:
        raise SetupError(f"cannot write {folder / FILE}: {error.strerror}.") from error
    return not before


def resume(folder: Path) -> bool:
    """Let the process that works on a journal go on; return whether it was paused.

    Raises:
        NotAtWork: none does.
        SetupError: the folder cannot be written.
    """
    _working(folder)
    before = is_paused(folder)
    try:
        os.unlink(folder / FILE)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise SetupError(f"cannot remove {folder / FILE}: {error.strerror}.") from error
    return before


def is_paused(folder: Path) -> bool:
    """Return whether the process that works on a journal is paused; False if none does."""
    process = holder(folder)
    return process is not None and _paused_process(folder) == process


def _working(folder: Path) -> int:
    process = holder(folder)
    if process is None:
        raise NotAtWork(f"no viva process is at work on {folder}.")
    return process


def _paused_process(folder: Path) -> int | None:
    """Return the process that the file names."""
    try:
        handle = os.open(folder / FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            text = file.read(20).strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def forget_pause(folder: Path) -> None:
    """Remove what was left for an earlier process."""
    with suppress(OSError):
        os.unlink(folder / FILE)


class Pauses:
    """Holds up the work of this process while it is paused."""

    def __init__(self, folder: Path, note: Callable[[str], None]) -> None:
        """Args:
        folder: The journal's, which this process has locked.
        note: Tells the user something.
        """
        self._folder, self._note = folder, note
        self._waiting = 0

    async def wait(self) -> None:
        """Return when work may begin: at once, unless it is paused."""
        if not self._is_paused():
            return
        if not self._waiting:
            self._note(f"paused: no further run starts. To continue: viva resume {self._folder}")
        self._waiting += 1
        try:
            while self._is_paused():  # noqa: ASYNC110 - by another process
                await asyncio.sleep(POLL_SECONDS)
        finally:
            self._waiting -= 1
            if not self._waiting and not self._is_paused():
                self._note("resumed")

    def _is_paused(self) -> bool:
        return os.path.lexists(self._folder / FILE) and _paused_process(self._folder) == os.getpid()

"""Removes the workspaces that agents left empty."""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path

SLOW = 0.0005
"""Time in seconds above which a removal is slow: the next ones are then done on a thread, for a while."""
SLOW_FOR = 1.0
"""The length of that while, in seconds."""


class EmptyFolders:
    """Removes empty folders: on the event loop, or on a thread while the file system is slow.

    A local file system removes a folder in some 20 µs, and a thread takes several times as long to be woken. Others can
    take milliseconds, for which no conversation should have to wait.
    """

    def __init__(self) -> None:
        self._slow_until = 0.0

    async def remove(self, folder: Path, *, at_once: bool) -> None:
        """Remove a folder unless something is in it.

        Args:
            folder: The folder; it may be missing.
            at_once: Whether to return only when it is removed.
        """
        began = time.monotonic()
        if began < self._slow_until:
            # If no thread is left, it is removed here: a run that has its record must not fail because of a folder.
            with contextlib.suppress(RuntimeError):
                removal = asyncio.get_running_loop().run_in_executor(None, _remove, folder)
                if at_once:
                    await removal
                return
        _remove(folder)
        ended = time.monotonic()
        if ended - began > SLOW:
            self._slow_until = ended + SLOW_FOR


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):  # the agent left something, so the folder stays
        folder.rmdir()

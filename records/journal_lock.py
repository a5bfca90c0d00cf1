"""Locks a journal's folder for one process at a time, because two writers of the same runs would mix them up."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from records.journal import JournalBusy, JournalError


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
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise JournalBusy(
                f"another viva process is writing to {folder}. Wait until it ends, or choose another folder with --out."
            ) from None
        yield
    finally:
        os.close(lock)

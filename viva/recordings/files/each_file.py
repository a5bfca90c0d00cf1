"""Reads several files one after another: one of them that cannot be read does not keep the others from being read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from viva.recordings.recording import HalfWritten, NothingYet, RecordingError, SourceNotes

T = TypeVar("T")


def of_each_file(files: Sequence[Path], read: Callable[[Path], Iterator[T]], told: SourceNotes) -> Iterator[T]:
    """Yield what is in each file.

    Args:
        files: In the order in which they are read.
        read: Reads one file.
        told: Takes which files cannot be read, or not whole.

    Raises:
        RecordingError: the only file cannot be read, or none of several holds anything that can.
    """
    failed: list[RecordingError] = []
    found = False
    for path in files:
        try:
            for each in read(path):
                found = True
                yield each
        except RecordingError as error:
            if len(files) == 1:
                raise
            failed.append(error)
            told.leave_out(path, error)
    if failed and not found:
        waits = all(isinstance(error, NothingYet | HalfWritten) for error in failed)
        raise (NothingYet if waits else RecordingError)(str(failed[0])) from failed[0]

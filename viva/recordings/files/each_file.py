"""Reads several files, or the parts of one: a broken one does not keep those after it from being read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from viva.recordings.recording import HalfWritten, NothingYet, RecordingError, SourceNotes

T = TypeVar("T")
P = TypeVar("P")


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


def of_each_part(parts: Iterable[P], read: Callable[[P], Iterator[T]], told: SourceNotes) -> Iterator[T]:
    """Yield what is in each line or element of a file.

    If the file is followed, one that is broken is lost, and those after it are read: nobody would be alerted otherwise
    until somebody mended the file.

    Args:
        parts: In the order in which they are read.
        read: Reads one part.
        told: Says whether the file is followed, and takes which parts cannot be read.

    Raises:
        RecordingError: nobody follows the file, and a part cannot be read; or none can.
    """
    failed: list[RecordingError] = []
    found = False
    for part in parts:
        try:
            for each in read(part):
                found = True
                yield each
        except RecordingError as error:
            if not told.growing:
                raise
            failed.append(error)
    if failed and not found:
        raise failed[0]
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        told.lose(f"{str(failed[0]).rstrip('.')}{more}; what comes after it is read")

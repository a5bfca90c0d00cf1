"""Reads the files of JSON Lines in which coding agents keep their sessions, one file after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from viva.recordings.files.locations import find_files
from viva.recordings.files.packed import open_recording
from viva.recordings.json_pieces import lines_of
from viva.recordings.recording import NothingYet, Recording, RecordingError, SourceNotes

ENDINGS = (".jsonl",)
Sessions = Callable[[Path, list[Mapping[str, Any]]], list[Recording]]
"""Makes the recordings of one file from its lines; none if it holds no session."""


def read_sessions_of(
    source: str,
    sessions: Sessions,
    is_damaged: Callable[[list[Mapping[str, Any]]], bool],
    what: str,
    since: datetime | None,
    when: Callable[[Mapping[str, Any]], Any],
    told: SourceNotes | None,
) -> Iterator[Recording]:
    """Yield the recordings of a file, or of the files of a folder or glob.

    Args:
        source: As the user named it.
        sessions: Makes the recordings of one file.
        is_damaged: Returns whether the lines of a file without a session are those of one that says too little.
        what: What such a file is, for messages.
        since: Files whose last line is older are left out.
        when: Returns the time of a line in nanoseconds, if it has one.
        told: Takes what is not about a single session.

    Raises:
        RecordingError: while iterating: a file cannot be read, or, if it is the only one, holds no session.
    """
    found = find_files((source,), ENDINGS)
    told = SourceNotes() if told is None else told
    found.tell(told)
    least = 0 if since is None else int(since.timestamp() * 10**9)
    none = 0
    for path in found.files:
        lines, bad, ends_badly = _lines(path, told)
        recordings = sessions(path, lines)
        if not recordings and len(found.files) == 1:
            raise (RecordingError if lines else NothingYet)(f"{path}: not {what}.")
        none += not recordings
        if not lines and not bad:
            told.leave_out(path, NothingYet(f"{path}: the file is empty"))
        newest = max((at for line in lines if (at := when(line)) is not None), default=least)
        is_old = newest < least
        if not recordings and not is_old and is_damaged(lines):
            told.lose(f"{path.name}: left out because it does not say enough to be {what}")
        if bad:
            words = f"lines of {path.name} left out because they are not JSON objects: {bad}"
            if is_old and not ends_badly:  # older than the newest line
                told.add(words)
            else:
                told.lose(words)
        yield from () if is_old else map(told.on, recordings)
    if none == len(found.files):
        notes = "".join(f" {note}." for note in told.waiting)
        raise NothingYet(f"{source}: no file in it is {what}.{notes}")
    # Files of other kinds lie in the same folders, so that this is no fault.


def _lines(path: Path, told: SourceNotes) -> tuple[list[Mapping[str, Any]], int, bool]:
    """Return the lines that are JSON objects, the number of others, and whether one of these is the last."""
    good, bad, ends_badly = [], 0, False
    try:
        with open_recording(path) as file:
            for _, value in lines_of(path, file, half_written=told.passing_over(path)):
                ends_badly = not isinstance(value, Mapping)
                if isinstance(value, Mapping):
                    good.append(value)
                else:
                    bad += 1
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error
    return good, bad, ends_badly

"""Reads the files of JSON Lines in which coding agents keep their sessions, one file after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from viva.recordings.files.locations import find_files
from viva.recordings.files.packed import open_recording
from viva.recordings.json_pieces import lines_of
from viva.recordings.recording import NothingYet, Recording, RecordingError

ENDINGS = (".jsonl",)
Sessions = Callable[[Path, list[Mapping[str, Any]]], list[Recording]]
"""Makes the recordings of one file from its lines; none if it holds no session."""


def read_sessions_of(
    source: str, sessions: Sessions, what: str, since: datetime | None, when: Callable[[Mapping[str, Any]], Any]
) -> Iterator[Recording]:
    """Yield the recordings of a file, or of the files of a folder or glob.

    Args:
        source: As the user named it.
        sessions: Makes the recordings of one file.
        what: What such a file is, for messages.
        since: Files whose last line is older are left out.
        when: Returns the time of a line in nanoseconds, if it has one.

    Raises:
        RecordingError: while iterating: a file cannot be read, or, if it is the only one, holds no session.
    """
    found = find_files((source,), ENDINGS)
    notes = list(found.notes)
    least = 0 if since is None else int(since.timestamp() * 10**9)
    none = 0
    for path in found.files:
        lines, bad = _lines(path)
        if bad:
            notes.append(f"lines of {path.name} left out because they are not JSON objects: {bad}")
        recordings = sessions(path, lines)
        if not recordings and len(found.files) == 1:
            raise (RecordingError if lines else NothingYet)(f"{path}: not {what}.")
        none += not recordings
        newest = max((at for line in lines if (at := when(line)) is not None), default=least)
        if newest < least:
            continue
        for recording in recordings:
            yield replace(recording, notes=(*recording.notes, *notes))
            notes = []
    if none == len(found.files):
        raise NothingYet(f"{source}: no file in it is {what}.")
    # Files of other kinds lie in the same folders, so that this is no fault.


def _lines(path: Path) -> tuple[list[Mapping[str, Any]], int]:
    good, bad = [], 0
    try:
        with open_recording(path) as file:
            for _, value in lines_of(path, file):
                if isinstance(value, Mapping):
                    good.append(value)
                else:
                    bad += 1
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error
    return good, bad

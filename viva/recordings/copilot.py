"""Reads recorded events of GitHub Copilot sessions from JSON Lines files: what a session's stream sent, or what Copilot
stores as `events.jsonl`. What an event means is in `viva.recordings.events.copilot`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from viva.recordings.events.collector import EvalCollector
from viva.recordings.files.packed import open_recording
from viva.recordings.json_pieces import bounded_lines, stripped
from viva.recordings.recording import NothingYet, Recording, RecordingError, SourceNotes
from viva.records.bounded_json import UnfitJson, read
from viva.records.text import one_line
from viva.records.transcript import Transcript

SOURCE = "copilot"
LABEL = 80
"""Characters of the first message that label a task."""


class CopilotReader:
    """Reads `copilot:FILE`."""

    evaluators = ("operational",)
    """The default evaluators of these recordings, which contain no reward."""

    def read(self, source: str, *, told: SourceNotes | None = None) -> Iterator[Recording]:
        """Read the sessions of a file; see `read_sessions`."""
        return read_sessions(Path(source), told)


def read_sessions(path: Path, told: SourceNotes | None = None) -> Iterator[Recording]:
    """Read the sessions of a file, in its order.

    A line is one event. A `session.start` with a new id begins another session; everything else belongs to the session
    before it. One session is one task, labelled with its first user message (or the file's name), whose user messages
    are its rounds. A line that is not an event is skipped and counted, as what is torn by a crash is; a file without a
    single event is an error.

    Args:
        path: The file.
        told: Says whether somebody may be writing it, and is told if its last line is half written.

    Raises:
        RecordingError: while iterating: the file cannot be read, or holds no event.
    """
    session, found, skipped = _CopilotSession(path, 1), False, 0
    for number, event in _events(path, SourceNotes() if told is None else told):
        if event is None:
            skipped += 1
            continue
        found = True
        if (name := _new_session(event, session)) is not None:
            if session.events:
                yield session.recording(skipped)
                skipped = 0
            session = _CopilotSession(path, number, name)
        session.take(event)
    if not found:
        kind = RecordingError if skipped else NothingYet
        raise kind(f"{path}: no line is an event of a Copilot session, that is, a JSON object with a `type`")
    yield session.recording(skipped)


class _CopilotSession:
    def __init__(self, path: Path, line: int, name: str | None = None) -> None:
        self._path, self._line, self.name = path, line, name
        self._collector = EvalCollector(capture_content=True, source=SOURCE)
        self.events = 0

    def take(self, event: dict[str, Any]) -> None:
        self.events += 1
        self._collector.take(event)

    def recording(self, skipped: int) -> Recording:
        transcript = self._collector.transcript()
        told = SourceNotes()
        if skipped:
            told.lose(f"lines of {self._path.name} skipped because they are not events: {skipped}")
        notes = [*transcript.notes, *told.waiting]
        if unknown := sum((transcript.metrics or EvalCollector().snapshot()).unknown.values()):
            notes.append(f"unknown events, fields or values, counted and left out: {unknown}")
        recording = Recording(
            replace(transcript, notes=tuple(notes)),
            place=f"{self._path}, line {self._line}",
            # Without the folders above it: a file that was moved holds the same runs.
            run_key=self.name or f"{self._path.name}, line {self._line}",
            subject=_label(transcript) or self._path.name,
            agent=SOURCE,
        )
        return told.on(recording)


def _label(transcript: Transcript) -> str:
    first = next((round_.examiner for round_ in transcript.rounds if round_.examiner), "")
    return one_line(first, LABEL)


def _new_session(event: dict[str, Any], session: _CopilotSession) -> str | None:
    """Return the id of the session that this event begins, if it is not the current one."""
    data = event.get("data")
    if event.get("type") != "session.start" or not isinstance(data, dict):
        return None
    name = data.get("sessionId")
    return name if isinstance(name, str) and name and name != session.name else None


def _events(path: Path, told: SourceNotes) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Read each line with text: its number and its event, which is None if the line is not an event."""
    try:
        with open_recording(path) as file:
            for number, line in bounded_lines(file, half_written=told.passing_over(path)):
                if line is None:
                    yield number, None
                elif text := stripped(line):
                    yield number, _event(text)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error


def _event(text: bytes) -> dict[str, Any] | None:
    try:
        event = read(text, strict=False)
    except UnfitJson:
        return None
    if isinstance(event, dict) and "type" not in event and isinstance(event.get("event"), dict):
        event = event["event"]
    return event if isinstance(event, dict) and isinstance(event.get("type"), str) else None

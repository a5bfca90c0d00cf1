"""The reader of recorded Copilot sessions: sessions, rounds and labels, and files that are odd."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.copilot_sessions import RECORDED, event, long_session, recorded_events
from viva.recordings.copilot import read_sessions
from viva.recordings.events.collector import EvalCollector
from viva.recordings.recording import RecordingError
from viva.recordings.table import load_reader, read_recordings


def write(path: Path, *lines: Any) -> Path:
    path.write_bytes(b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines))
    return path


def test_the_recorded_file_gives_the_same_snapshot_as_its_events() -> None:
    expected = EvalCollector()
    for each in recorded_events():
        expected.take(each)
    (recording,) = read_recordings(f"copilot:{RECORDED}")
    assert recording.transcript.metrics == expected.snapshot()
    assert (recording.subject, recording.agent) == ("fix the bug", "copilot")
    assert [round_.examiner for round_ in recording.transcript.rounds] == ["fix the bug"]
    assert recording.notes == ()
    assert recording.transcript.notes == ("unknown events, fields or values, counted and left out: 1",)
    assert load_reader(f"copilot:{RECORDED}").evaluators == ("operational",)


def test_a_session_of_the_sdks_objects_survives_its_file(tmp_path: Path) -> None:
    events = long_session()
    expected = EvalCollector(capture_content=True)
    for each in events:
        expected.take(each)
    (recording,) = read_sessions(write(tmp_path / "events.jsonl", *(each.to_dict() for each in events)))
    assert recording.transcript == expected.transcript()
    assert (recording.subject, recording.run_key) == ("make the tests pass", "session-7")


def test_a_file_may_hold_several_sessions_and_a_resumed_one_is_still_one(tmp_path: Path) -> None:
    file = write(
        tmp_path / "events.jsonl",
        event("session.start", 1, sessionId="a"),
        event("user.message", 2, content="one"),
        event("session.start", 3, sessionId="a"),
        event("user.message", 4, content="two"),
        event("session.start", 5, sessionId="b"),
        event("abort", 6, reason="user_initiated"),
    )
    first, second = read_sessions(file)
    assert [(each.run_key, each.subject) for each in (first, second)] == [("a", "one"), ("b", "events.jsonl")]
    assert [round_.examiner for round_ in first.transcript.rounds] == ["one", "two"]
    assert second.place.endswith("line 5")


def test_lines_that_are_no_events_are_skipped_and_counted(tmp_path: Path) -> None:
    file = write(
        tmp_path / "events.jsonl",
        b"\xef\xbb\xbf" + json.dumps(event("user.message", 1, content="hi")).encode() + b"\n",
        b"\n",
        b"not json\n",
        [1],
        {"sessionId": "a", "event": event("abort", 2, reason="user_initiated")},
        b'{"type": "abort", "da',
    )
    (recording,) = read_sessions(file)
    words = "lines of events.jsonl skipped because they are not events: 3"
    assert (recording.transcript.notes[0], recording.notes, recording.lost) == (words, (words,), (words,))
    assert recording.transcript.metrics is not None
    assert recording.transcript.metrics.aborts == {"user_initiated": 1}


@pytest.mark.parametrize("content", [b"", b"\n\n", b"[]\n", b"\x00\xff\n", b'{"a": 1}\n'])
def test_a_file_without_an_event_is_an_error(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(content)
    with pytest.raises(RecordingError, match="no line is an event"):
        list(read_sessions(file))


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="cannot be read"):
        list(read_sessions(tmp_path / "none.jsonl"))

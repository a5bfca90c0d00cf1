"""A run's conversation as plain lines: split without parsing, shipped as JSON, decoded elsewhere to the same run."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from viva.journal import conversation_lines
from viva.journal.conversation_lines import ConversationLines
from viva.journal.reader import decode_run, read_conversation_lines, read_runs
from viva.journal.writer import FILE, Damage, Event, Journal, JournalError, parse
from viva.records import Insight, Outcome, Round, RunRecord, Setting, Step, StopReason, Transcript
from viva.records.codec import decode, encode, loads

DECODER = """
import sys
from viva.records.codec import decode, encode, loads
from viva.journal.conversation_lines import ConversationLines
from viva.journal.reader import decode_run
stored = decode_run(decode(ConversationLines, loads(sys.stdin.buffer.read())))
sys.stdout.buffer.write(encode(stored.transcript) + b"\\n" + encode(stored.record))
"""


def write(folder: Path) -> None:
    """Three runs: one with two attempts, one that broke off, one recorded with a long text."""
    with Journal(folder) as journal:
        for attempt in (1, 2):
            journal.append("setting", "again", attempt, Setting(case="echo", agent=f"attempt {attempt}"))
            for number in (1, 2, 3):
                journal.append("round", "again", attempt, Round(number, f"äsk {attempt}", "tell\u2028"))
                journal.append("round", "broken", 1, Round(number + 3 * attempt, "ask"))
            journal.append("transcript", "again", attempt, Transcript(stop=StopReason.FINISHED))
            journal.append("insight", "again", attempt, Insight("points", "again", "hit", 1.0))
            record = RunRecord("again", "echo", "me", Outcome.SCORED, 1.0, attempt=attempt)
            journal.append("run", "again", attempt, record)
        journal.append("round", "recorded", 1, Round(1, "ask", "long " * 100_000, (Step("s", result="x"),)))
        journal.append("transcript", "recorded", 1, Transcript(source="chat"))
    with (folder / FILE).open("ab") as file:
        file.write(b'{ "v": 1, "event": "round", "run": "recorded", "attempt": 1, "data": {"number": 2} }\n')


def test_a_run_decoded_from_its_lines_is_the_run_that_is_read(tmp_path: Path) -> None:
    write(tmp_path)
    read = list(read_runs(tmp_path))
    split = list(read_conversation_lines(tmp_path))
    assert [decode_run(lines) for lines in split] == read
    assert [(lines.run, lines.attempt, lines.ended) for lines in split] == [
        ("broken", 1, False),
        ("again", 2, True),
        ("recorded", 1, True),
    ]
    assert [len(lines.lines) for lines in split] == [6, 5, 3]
    for lines in split:
        assert list(read_conversation_lines(tmp_path, lines.run)) == [lines]


def test_lines_cross_a_process_border_as_json(tmp_path: Path) -> None:
    write(tmp_path)
    for lines, stored in zip(read_conversation_lines(tmp_path), read_runs(tmp_path), strict=True):
        shipped = encode(lines)
        assert decode(ConversationLines, loads(shipped)) == lines
        done = subprocess.run([sys.executable, "-c", DECODER], input=shipped, capture_output=True, check=True)
        transcript, record = done.stdout.split(b"\n")
        assert decode(Transcript, loads(transcript)) == stored.transcript
        assert (None if record == b"null" else decode(RunRecord, loads(record))) == stored.record


def test_nothing_is_parsed_when_a_journal_is_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Journal(tmp_path) as journal:
        journal.append("setting", "run", 1, Setting())
        for number in range(1, 100):
            journal.append("round", "run", 1, Round(number))
        journal.append("transcript", "run", 1, Transcript(stop=StopReason.FINISHED))
    parsed: list[str] = []

    def seen(line: bytes, number: int = 0, damage: Damage | None = None) -> Event | None:
        event = parse(line, number, damage)
        parsed.append(event.kind if event else "torn")
        return event

    monkeypatch.setattr(conversation_lines, "parse", seen)
    (lines,) = read_conversation_lines(tmp_path)
    assert parsed == []
    assert len(decode_run(lines).transcript.rounds) == 99


def test_rounds_of_runs_at_once_are_counted_whatever_their_order(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for run in ("one", "two", "old"):
            journal.append("setting", run, 1, Setting(agent=run))
        for run, number in [("one", 1), ("two", 1), ("old", 1), ("one", 2), ("two", 3), ("old", 2), ("one", 1)]:
            journal.append("round", run, 1, Round(number, f"ask {run}"))
        journal.append("setting", "old", 2, Setting(agent="new"))
        for run, attempt, number in [("one", 1, 3), ("two", 1, 2), ("old", 1, 3), ("old", 2, 1), ("two", 1, 5)]:
            journal.append("round", run, attempt, Round(number, f"ask {run} {attempt}"))
        journal.append("transcript", "one", 1, Transcript(stop=StopReason.FINISHED))
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"v":1,"event":"round","run":"old","attempt":2\n')
    damage = Damage()
    split = {lines.run: lines for lines in read_conversation_lines(tmp_path, damage=damage)}
    assert {run: lines.gap for run, lines in split.items()} == {
        "one": None,
        "two": "round 4 of 5 is missing",
        "old": None,
    }
    assert {run: len(lines.lines) for run, lines in split.items()} == {"one": 6, "two": 5, "old": 2}
    assert damage.torn == 1
    read = list(read_runs(tmp_path))
    assert [decode_run(lines) for lines in split.values()] == read
    numbers = {stored.id: [each.number for each in stored.transcript.rounds] for stored in read}
    assert numbers == {"one": [1, 2, 3], "two": [1, 2, 3, 5], "old": [1]}


@pytest.mark.parametrize("kind", ["setting", "round", "transcript", "insight"])
def test_a_torn_line_neither_begins_an_attempt_nor_is_lost_sight_of(tmp_path: Path, kind: str) -> None:
    write(tmp_path)
    with (tmp_path / FILE).open("ab") as file:
        file.write(f'{{"v":1,"event":"{kind}","run":"again","attempt":3,"data":{{"number"\n'.encode())
    damage = Damage()
    again = {lines.run: lines for lines in read_conversation_lines(tmp_path, damage=damage)}["again"]
    assert (again.attempt, len(again.lines), damage.torn) == (2, 5, 1)
    damage = Damage()
    assert {stored.id: stored.attempt for stored in read_runs(tmp_path, damage=damage)}["again"] == 2
    assert damage.torn == 1


def test_a_torn_round_is_counted_once_and_handed_to_nobody(tmp_path: Path) -> None:
    write(tmp_path)
    content = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(content.replace("äsk 2".encode(), b"\xff\xfe", 1).replace(b'"number":3', b'"nu', 2))
    damage, later = Damage(), Damage()
    split = list(read_conversation_lines(tmp_path, damage=damage))
    decoded = [decode_run(lines, later) for lines in split]
    whole = Damage()
    read = list(read_runs(tmp_path, damage=whole))
    assert [replace(stored, lines=b"") for stored in decoded] == [replace(stored, lines=b"") for stored in read]
    # One stands in the older attempt, which nobody decodes.
    assert (damage.torn, later.torn, whole.torn) == (3, 0, 3)
    assert [each.number for each in read[1].transcript.rounds] == [2]


def test_an_unknown_run_is_said_in_the_same_words(tmp_path: Path) -> None:
    write(tmp_path)
    for reader in (read_runs, read_conversation_lines):
        with pytest.raises(JournalError, match=r"holds no run 'nine'\. It has: again, broken, recorded\."):
            list(reader(tmp_path, "nine"))

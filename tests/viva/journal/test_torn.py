"""Damage: a torn write, garbage or a killed writer costs exactly the events it hit; readers count what they skip."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.journal.reader import read_records, read_runs
from viva.journal.writer import FILE, Damage, Event, Journal, parse, scan
from viva.records import Outcome, Round, RunRecord, Setting, StopReason, Transcript
from viva.records.codec import decode

WRITER = """
import sys
from pathlib import Path
from viva.records import Round
from viva.journal.writer import Journal
run, count, size = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with Journal(Path(sys.argv[1])) as journal:
    for number in range(1, count + 1):
        journal.append("round", run, 1, Round(number, run, run * (number * size % 1000)))
        if number % 100 == 0 or number < 3:
            print(number, flush=True)
"""


def writer(folder: Path, run: str, count: int, size: int = 1) -> subprocess.Popen[str]:
    """A process of its own that appends rounds to a journal."""
    command = [sys.executable, "-c", WRITER, str(folder), run, str(count), str(size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def whole(folder: Path) -> bytes:
    """A small journal with one ended run and one that is under way; its bytes."""
    with Journal(folder) as journal:
        journal.append("setting", "first", 1, Setting(case="echo"))
        for number in (1, 2, 3):
            journal.append("round", "first", 1, Round(number, "ask", "tëll\n"))
            journal.append("round", "second", 1, Round(number, "ask"))
        journal.append("transcript", "first", 1, Transcript(stop=StopReason.FINISHED))
        journal.append("run", "first", 1, RunRecord("first", "echo", "me", Outcome.SCORED, 1.0))
    return (folder / FILE).read_bytes()


def told(event: Event) -> tuple[str, str, int]:
    return event.kind, event.run, event.data.get("number", 0)


def key(line: bytes) -> tuple[str, str, int] | None:
    event = parse(line)
    return None if event is None else told(event)


def test_a_journal_cut_off_at_any_byte_loses_the_one_event_it_cuts(tmp_path: Path) -> None:
    content = whole(tmp_path)
    for end in range(len(content) + 1):
        (tmp_path / FILE).write_bytes(content[:end])
        damage = Damage()
        events = list(scan(tmp_path, damage))
        kept = [line for line in content[:end].split(b"\n") if key(line)]
        assert [(event.kind, event.run, event.data.get("number", 0)) for event in events] == [
            key(each) for each in kept
        ]
        # A cut inside a line leaves a rest that is no event: that, and only that, is counted.
        tail = content[:end].rsplit(b"\n", 1)[-1]
        assert damage.torn == (1 if tail and not key(tail) else 0)
        assert sum(len(stored.transcript.rounds) for stored in read_runs(tmp_path)) == sum(
            event.kind == "round" for event in events
        )


def test_an_append_after_a_cut_at_any_byte_can_be_read(tmp_path: Path) -> None:
    content = whole(tmp_path)
    for end in range(0, len(content) + 1, 3):
        (tmp_path / FILE).write_bytes(content[:end])
        before = [key(line) for line in content[:end].split(b"\n") if key(line)]
        with Journal(tmp_path) as journal:
            journal.append("round", "second", 1, Round(4))
        assert list(map(told, scan(tmp_path))) == [*before, ("round", "second", 4)]


garbage = (
    st.binary(max_size=40)
    | st.just(b"\0" * 64)
    | st.sampled_from(
        [
            b"\n",
            b"\n\n\r\n",
            b'{"v":1,"event":"round","run":"first","attempt":1,"data":{"number":9',
            b'{"v":1,"event":"round","run":"\xff\xfe","attempt":1,"data":{"number":9}}',
            b'{"v":1,"event":"round","run":"first","attempt":1,"data":[]}',
            b'{"v":1,"event":"round","run":"first","attempt":true,"data":{}}',
            b'{"v":true,"event":"round","run":"first","attempt":1,"data":{}}',
            b'{"v":"1","event":"round","run":"first","attempt":1,"data":{}}',
            b"[" * 5000,
            b'{"v":' + b"9" * 5000 + b"}",
            '{"v":1}'.encode("utf-16"),
            b"null",
            b"\xef\xbb\xbf{}",
        ]
    )
)


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_garbage_anywhere_costs_only_the_events_it_stands_in(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    content = whole(folder)
    sound = {line: key(line) for line in content.split(b"\n") if line}
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        length = data.draw(st.integers(0, 60))
        content = content[:at] + data.draw(garbage) + content[at + length :]
    (folder / FILE).write_bytes(content)
    lines = [line for line in content.split(b"\n") if line]
    damage = Damage()
    found = list(scan(folder, damage))
    events = list(map(told, found))
    # A splice may make a new sound line (of digits changed within one), even one that tells the same as another: so
    # lines are compared at their places. Each that still stands whole is told there; others as each by itself reads.
    assert events == [told_there for line in lines if (told_there := sound.get(line) or key(line))]
    assert damage.torn + damage.unknown == len(lines) - len(events)
    runs = Damage()
    rounds = sum(len(stored.transcript.rounds) for stored in read_runs(folder, damage=runs))
    assert rounds <= sum(event.kind == "round" for event in found)
    assert runs.torn >= damage.torn
    list(read_records(folder))


@pytest.mark.parametrize("gone", range(9))
def test_a_lost_line_takes_no_other_event_with_it(tmp_path: Path, gone: int) -> None:
    lines = [line for line in whole(tmp_path).split(b"\n") if line]
    for rest in (b"", lines[gone][:-7], lines[gone][:60], b"\0" * 30, b"\xff\xfe" * 9):
        (tmp_path / FILE).write_bytes(
            b"".join(b"\n" + each + b"\n" for each in [*lines[:gone], rest, *lines[gone + 1 :]])
        )
        damage = Damage()
        runs = {stored.id: stored for stored in read_runs(tmp_path, damage=damage)}
        assert damage.torn == (1 if rest else 0)
        expected = [key(line) for line in (*lines[:gone], *lines[gone + 1 :])]
        for name, stored in runs.items():
            numbers = [each.number for each in stored.transcript.rounds]
            assert numbers == [number for kind, run, number in filter(None, expected) if (kind, run) == ("round", name)]
            assert (stored.record is not None) == (("run", name, 0) in expected)
            assert stored.ended == (("transcript", name, 0) in expected)
            assert (stored.setting.case == "echo") == (("setting", name, 0) in expected)


def test_lines_of_a_newer_format_are_counted_apart(tmp_path: Path) -> None:
    whole(tmp_path)
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"v":2,"event":"round","run":"first","attempt":1,"data":{"number":4}}\n')
        file.write(b'{"v":2,"kind":"of another shape"}\n')
        file.write(b'{"v":1,"kind":"of another shape"}\n')
        file.write(b'{"v":1,"event":"a kind of tomorrow","run":"second","attempt":1,"data":{}}\n')
    damage = Damage()
    runs = {stored.id: stored for stored in read_runs(tmp_path, damage=damage)}
    assert (damage.unknown, damage.torn) == (2, 1)
    assert len(damage.lines) == 3
    assert len(runs["first"].transcript.rounds) == 3
    assert len(runs["second"].transcript.rounds) == 3


def test_damage_names_the_first_twenty_lines_only(tmp_path: Path) -> None:
    whole(tmp_path)
    with (tmp_path / FILE).open("ab") as file:
        file.write(b"garbage\n" * 1000)
    damage = Damage()
    assert len(list(scan(tmp_path, damage))) == 9
    assert damage.torn == 1000
    assert len(damage.lines) == 20


def test_two_processes_append_to_one_journal_without_losing_an_event(tmp_path: Path) -> None:
    writers = [writer(tmp_path, name, 2000, size) for name, size in (("left", 1), ("right", 7))]
    for process in writers:
        process.communicate()
        assert process.returncode == 0
    damage = Damage()
    seen: dict[str, list[int]] = {"left": [], "right": []}
    for event in scan(tmp_path, damage):
        round_ = decode(Round, event.data)
        assert round_.examiner == event.run
        seen[event.run].append(round_.number)
    assert damage.torn == 0
    assert seen == {"left": list(range(1, 2001)), "right": list(range(1, 2001))}


@pytest.mark.parametrize("reached", [1, 100, 500])
def test_a_writer_killed_in_the_middle_leaves_every_round_it_had_appended(tmp_path: Path, reached: int) -> None:
    process = writer(tmp_path, "run", 10**9)
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= reached:
            break
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    damage = Damage()
    (stored,) = read_runs(tmp_path, damage=damage)
    numbers = [each.number for each in stored.transcript.rounds]
    assert len(numbers) >= reached
    assert numbers == list(range(1, len(numbers) + 1))
    assert damage.torn <= 1
    assert not stored.ended
    assert stored.record is None


def test_a_reader_sees_a_run_once_while_another_process_appends_to_it(tmp_path: Path) -> None:
    whole(tmp_path)
    runs = read_runs(tmp_path)
    seen = []
    with Journal(tmp_path) as journal:
        for number, stored in enumerate(runs):
            seen.append(stored.id)
            journal.append("round", "first", 1, Round(10 + number))
            journal.append("round", "second", 1, Round(10 + number))
    assert sorted(seen) == ["first", "second"]

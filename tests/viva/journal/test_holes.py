"""A conversation with holes is not taken for a whole one, and a line with a changed byte is not taken for sound."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journals import edit, unsealed
from viva.journal.line_checksum import is_unchanged, seal
from viva.journal.reader import decode_run, read_conversation_lines, read_records, read_runs
from viva.journal.tallies.round_tally import RoundTally
from viva.journal.writer import FILE, Damage, Journal, parse
from viva.records import Outcome, Round, RunRecord, Setting, StopReason, Transcript
from viva.records.codec import encode

ROUNDS = 5


def write(folder: Path, rounds: int = ROUNDS) -> Path:
    with Journal(folder) as journal:
        journal.append("setting", "one", 1, Setting(case="echo"))
        said = tuple(Round(number, f"ask {number}", "tëll") for number in range(1, rounds + 1))
        for round_ in said:
            journal.append("round", "one", 1, round_)
        journal.append("transcript", "one", 1, Transcript(said, stop=StopReason.FINISHED).without_rounds())
        journal.append("run", "one", 1, RunRecord("one", "echo", "me", Outcome.SCORED, 1.0, rounds=rounds))
    return folder


def gaps(folder: Path) -> set[str | None]:
    """What every reader says of the one run's gap."""
    (stored,), (lines,) = list(read_runs(folder)), list(read_conversation_lines(folder))
    return {stored.gap, lines.gap, decode_run(lines).gap}


def drop(number: int) -> Callable[[bytes], bytes | None]:
    return lambda line: None if b'"data":{"number":%d,' % number in line else line


def without_checksum(line: bytes) -> bytes:
    return unsealed(line.rstrip(b"\n")) + b"\n"


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ((1,), "round 1 of 5 is missing"),
        ((3,), "round 3 of 5 is missing"),
        ((5,), "round 5 of 5 is missing"),
        ((2, 4), "2 of 5 rounds are missing, the first of them round 2"),
        ((1, 2, 3, 4, 5), "5 of 5 rounds are missing, the first of them round 1"),
    ],
)
def test_lost_rounds_are_noticed_wherever_they_stood(tmp_path: Path, lost: tuple[int, ...], words: str) -> None:
    write(tmp_path)
    assert gaps(tmp_path) == {None}
    for number in lost:
        edit(tmp_path, drop(number))
    assert gaps(tmp_path) == {words}


def test_rounds_that_a_newer_version_wrote_are_missing_here(tmp_path: Path) -> None:
    write(tmp_path)
    edit(tmp_path, lambda line: line.replace(b'{"v":1,', b'{"v":2,') if b'"number":2,' in line else line)
    damage = Damage()
    (lines,) = read_conversation_lines(tmp_path, damage=damage)
    assert lines.gap == "round 2 of 5 is missing"
    assert (damage.torn, damage.unknown) == (0, 1)
    assert damage.words() == "1 line of a newer format"


def test_a_round_beyond_the_count_is_noticed_too(tmp_path: Path) -> None:
    write(tmp_path)
    edit(tmp_path, lambda line: line.replace(b'"round_count":5', b'"round_count":2'))
    assert gaps(tmp_path) == {"it ended with 2 rounds, but has a round 5"}


def test_an_older_journal_without_checksums_and_counts_is_read_and_its_holes_are_seen(tmp_path: Path) -> None:
    write(tmp_path)
    edit(tmp_path, lambda line: without_checksum(line.replace(b',"round_count":5', b"")), seals=False)
    assert b"crc" not in (tmp_path / FILE).read_bytes()
    assert gaps(tmp_path) == {None}
    (stored,) = read_runs(tmp_path)
    assert (len(stored.transcript.rounds), stored.record is not None) == (ROUNDS, True)
    edit(tmp_path, drop(2), seals=False)
    assert gaps(tmp_path) == {"round 2 of 5 is missing"}


def test_rounds_that_were_written_twice_fill_the_holes_of_the_first_time(tmp_path: Path) -> None:
    write(tmp_path)
    twice = [line for line in (tmp_path / FILE).read_bytes().splitlines(True) if b'"round"' in line]
    edit(tmp_path, drop(2))
    first = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(b"".join(twice[:1] + twice[2:]) + b"".join(twice[1:3]) + first)
    assert gaps(tmp_path) == {None}
    (stored,) = read_runs(tmp_path)
    assert [round_.number for round_ in stored.transcript.rounds] == [1, 2, 3, 4, 5]


def test_every_flipped_bit_of_a_line_makes_it_a_torn_one_and_costs_nothing_else(tmp_path: Path) -> None:
    write(tmp_path)
    content = (tmp_path / FILE).read_bytes()
    lines = content.splitlines(keepends=True)
    dice = random.Random(5)
    for number in range(1, ROUNDS + 1):
        line = lines[number]
        for _ in range(60):
            at = dice.randrange(len(line) - len(b',"crc":"00000000"}\n'))
            flipped = line[:at] + bytes([line[at] ^ 1 << dice.randrange(8)]) + line[at + 1 :]
            (tmp_path / FILE).write_bytes(b"".join([*lines[:number], flipped, *lines[number + 1 :]]))
            damage = Damage()
            stored = next(iter(read_runs(tmp_path, damage=damage)))
            # A byte that became a line feed makes two torn lines of one.
            assert damage.torn + damage.unknown in (1, 2), flipped
            assert stored.gap == f"round {number} of 5 is missing"
            assert [each.number for each in stored.transcript.rounds] == [n for n in range(1, 6) if n != number]
            assert [each.gap for each in read_conversation_lines(tmp_path)] == [stored.gap]


def test_a_record_whose_score_changed_by_a_byte_is_no_record(tmp_path: Path) -> None:
    write(tmp_path)
    file = tmp_path / FILE
    file.write_bytes(re.sub(rb'"score":1\.0', b'"score":0.0', file.read_bytes()))
    damage = Damage()
    assert list(read_records(tmp_path, damage)) == []
    assert damage.torn == 1
    damage = Damage()
    (lines,) = read_conversation_lines(tmp_path, damage=damage)
    assert (lines.judged, damage.torn) == ((), 1)


def test_a_whole_line_has_a_checksum_and_one_that_was_cut_is_not_sound() -> None:
    line = seal(b'{"v":1,"event":"round","run":"a","attempt":1,"data":' + encode(Round(1, "a", ',"crc":"00000000"}')))
    assert is_unchanged(line) is True
    assert is_unchanged(line.rstrip(b"\n")) is True
    assert is_unchanged(unsealed(line.rstrip(b"\n"))) is None
    assert is_unchanged(b"") is None
    assert parse(line) is not None
    for end in range(len(line) - 1):
        assert parse(line[:end]) is None


@pytest.mark.parametrize(
    ("seen", "count", "whole"),
    [
        ((), 0, True),
        ((), None, True),
        ((), 1, False),
        ((1, 2), None, True),
        ((2, 1), 2, True),
        ((3, 2, 1, 1), 3, True),
        ((2,), None, False),
        ((1, 10**9), None, False),
    ],
)
def test_numbers_in_any_order_make_a_whole(seen: tuple[int, ...], count: int | None, whole: bool) -> None:
    tally = RoundTally()
    for number in seen:
        tally.see(number)
    assert (tally.gap(count) is None) is whole

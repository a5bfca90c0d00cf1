"""A journal under view is read once, and then only what was appended."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.journals import edit, unsealed
from tests.viva.reports.made import write_run
from viva.exam.stored_runs import read_run_states
from viva.filters.expression import FilterError
from viva.filters.parsing import parse_filter
from viva.filters.selection import RunFilter, choose_runs
from viva.journal import lines as journal_lines
from viva.journal.conversation_lines import read_conversation_lines
from viva.journal.errors import JournalError
from viva.journal.line_checksum import is_unchanged
from viva.journal.lines import FILE
from viva.journal.reader import read_runs
from viva.journal.run_index import index_runs
from viva.journal.writer import Damage, Journal, scan
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.transcript import Round, StopReason, Transcript
from viva.viewer import places
from viva.viewer.answers import NotFound, position_of, runs_view
from viva.viewer.export.exporting import write_export
from viva.viewer.places import JournalPlaces
from viva.viewer.watched import WatchedJournal


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Six runs: hit, missed, two agents, one that broke off, one in progress."""
    with Journal(tmp_path) as journal:
        for trial in (1, 2):
            write_run(journal, "one", "a.py:A", trial, hits=(True, trial == 1), tags=("smoke",))
            write_run(journal, "two", "b.py:B", trial, said=("x",) * (trial + 2), reason="nothing was saved")
        write_run(journal, "three", "b.py:B", outcome=Outcome.TARGET_ERROR, hits=(False,), error="it died")
        write_run(journal, "four", "a.py:A", ended=False)
    return tmp_path


def test_a_conversation_is_the_one_that_every_reader_finds(written: Path) -> None:
    watched = WatchedJournal(written)
    watched.follow()
    for stored in read_runs(written):
        found = watched.conversation(stored.id, 0, 10_000)
        assert found is not None
        assert (found.transcript, found.record, found.setting) == (stored.transcript, stored.record, stored.setting)


def test_rounds_are_read_in_parts(written: Path) -> None:
    watched = WatchedJournal(written)
    watched.follow()
    run = next(stored for stored in read_runs(written) if len(stored.transcript.rounds) == 4)
    parts = [watched.conversation(run.id, place, place + 1) for place in range(4)]
    assert [part.transcript.rounds for part in parts if part] == [(round_,) for round_ in run.transcript.rounds]


def test_a_round_is_found_in_a_part_of_the_journal_that_was_not_read_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viva.viewer.places.MOST_AT_ONCE", 2_000)
    with Journal(tmp_path) as journal:
        write_run(journal, "long", "a.py:A", said=("x",) * 60)
    (stored,) = read_runs(tmp_path)

    def half_read() -> WatchedJournal:
        watched = WatchedJournal(tmp_path)
        watched.follow(whole=False)
        assert 0 < len(watched.runs[stored.id].places.numbers) < 60
        return watched

    assert position_of(half_read(), stored.id, 60) == 59
    assert position_of(half_read(), stored.id, 1_000) == 60
    watched = half_read()
    assert position_of(watched, stored.id, 2) == 1
    assert watched.is_behind
    with pytest.raises(NotFound):
        position_of(half_read(), "none", 1)


@pytest.mark.parametrize(
    "where",
    [
        "", "agent=a.py:A", "score<1", "score<1 and tag=smoke",
        "not passed", "status=unfinished", "rounds>=3", "case~o",
        "outcome=target_error", "missed~right", "hit~right", "reason~saved", "seconds>1", "cost>0", "stop=finished",
    ],
)  # fmt: skip
def test_a_filter_keeps_what_the_command_line_keeps(written: Path, where: str) -> None:
    watched = WatchedJournal(written)
    watched.follow()
    filters = RunFilter(parse_filter(where), where) if where else RunFilter()
    expected = choose_runs(filters, index_runs(written), 1.0).runs
    assert {each.places.run for each in watched.matching(where)} == expected


def test_a_mistake_in_a_filter_names_its_column(written: Path) -> None:
    watched = WatchedJournal(written)
    watched.follow()
    with pytest.raises(FilterError, match="did you mean score"):
        list(watched.matching("scroe<1"))


@pytest.mark.parametrize(
    "order", ["score", "-score", "case", "-seconds", "cost", "tokens", "-rounds", "began", "nonsense"]
)
def test_every_order_shows_every_run_once(written: Path, order: str) -> None:
    watched = WatchedJournal(written)
    watched.follow()
    seen = [runs_view(watched, "", order, first, 2)["rows"] for first in range(0, 6, 2)]
    assert sorted(row["id"] for rows in seen for row in rows) == sorted(watched.runs)


def test_a_line_that_is_being_written_is_taken_when_it_is_whole(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append("setting", "run-1", 1, Setting(case="c", agent="a"))
        watched = WatchedJournal(tmp_path)
        assert watched.follow()
        journal.append("round", "run-1", 1, Round(1, "q", "a"))
    path = tmp_path / FILE
    content = path.read_bytes()
    path.write_bytes(content[:-7])
    assert not watched.follow()
    with path.open("ab") as file:
        file.write(content[-7:])
    assert watched.follow()
    assert list(watched.runs["run-1"].places.numbers) == [1]
    assert not watched.follow()


def test_a_later_attempt_replaces_the_earlier_one(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for attempt, rounds in ((1, 3), (2, 1)):
            journal.append("setting", "run-1", attempt, Setting(case="c", agent="a"))
            for number in range(1, rounds + 1):
                journal.append("round", "run-1", attempt, Round(number, f"attempt {attempt}", "a"))
    watched = WatchedJournal(tmp_path)
    watched.follow()
    found = watched.conversation("run-1", 0, 10)
    assert found is not None
    assert [round_.examiner for round_ in found.transcript.rounds] == ["attempt 2"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(numbers=st.lists(st.integers(1, 12), max_size=15), cuts=st.lists(st.integers(0, 4000), max_size=4))
def test_rounds_in_any_order_and_in_any_pieces_are_those_of_the_reader(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], cuts: list[int]
) -> None:
    source, grown = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("grown")
    with Journal(source) as journal:
        journal.append("setting", "run-1", 1, Setting(case="c", agent="a"))
        for place, number in enumerate(numbers):
            journal.append("round", "run-1", 1, Round(number, f"written at {place}", "a"))
    content = (source / FILE).read_bytes()
    places = JournalPlaces(grown)
    (grown / FILE).touch()
    for cut in [*sorted(cuts), len(content)]:
        (grown / FILE).write_bytes(content[: min(cut, len(content))])
        places.follow()
    (stored,) = read_runs(source)
    found = places.runs["run-1"]
    assert list(found.numbers) == [round_.number for round_ in stored.transcript.rounds]
    lines = list(places.read(found.rounds))
    assert [round_.examiner in line.decode() for round_, line in zip(stored.transcript.rounds, lines, strict=True)] == [
        True
    ] * len(lines)


def shown(folder: Path, run: str = "run-1") -> list[str | None]:
    """What the examiner said in the rounds that the viewer shows, which are those that every reader finds."""
    watched = WatchedJournal(folder)
    watched.follow()
    found = watched.conversation(run, 0, 100)
    assert found is not None
    said = [round_.examiner for round_ in found.transcript.rounds]
    assert len(watched.runs[run].places.rounds) == len(said)
    (stored,) = read_runs(folder, run)
    assert said == [round_.examiner for round_ in stored.transcript.rounds]
    assert (found.setting, found.ended, found.record) == (stored.setting, stored.ended, stored.record)
    return said


def tear(folder: Path, part: bytes, keep: Callable[[bytes], bytes], *, again: bool = True) -> None:
    """Damage the first line with this part; with `again`, a second import wrote all lines once more, after it."""
    whole = (folder / FILE).read_bytes()
    lines = whole.splitlines(keepends=True)
    place = next(place for place, line in enumerate(lines) if part in line)
    lines[place] = keep(lines[place].rstrip(b"\n")) + b"\n"
    (folder / FILE).write_bytes(b"".join(lines) + (whole if again else b""))


TORN: list[Callable[[bytes], bytes]] = [
    lambda line: line[:-30],
    lambda line: line[: line.index(b"number") + 13],
    lambda line: line.replace(b"asked", b"asket"),
]


def a_run(folder: Path, attempt: int = 1, rounds: int = 3) -> None:
    with Journal(folder) as journal:
        journal.append("setting", "run-1", attempt, Setting(case="c", agent="a"))
        for number in range(1, rounds + 1):
            journal.append("round", "run-1", attempt, Round(number, f"asked {attempt}.{number}", "a"))
        journal.append("transcript", "run-1", attempt, Transcript(stop=StopReason.FINISHED))


@pytest.mark.parametrize("keep", TORN, ids=["cut", "cut after its number", "changed"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_torn_round_that_was_written_again_is_shown(
    tmp_path: Path, number: int, keep: Callable[[bytes], bytes]
) -> None:
    a_run(tmp_path)
    tear(tmp_path, b'{"number":%d,' % number, keep)
    assert shown(tmp_path) == ["asked 1.1", "asked 1.2", "asked 1.3"]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_round_that_was_cut_off_is_not_counted(tmp_path: Path, number: int) -> None:
    a_run(tmp_path)
    tear(tmp_path, b'{"number":%d,' % number, TORN[0], again=False)
    assert shown(tmp_path) == [f"asked 1.{each}" for each in (1, 2, 3) if each != number]


def test_a_torn_round_does_not_take_the_place_of_a_whole_one(tmp_path: Path) -> None:
    a_run(tmp_path)
    torn = (tmp_path / FILE).read_bytes().splitlines()[2][:-20]
    with (tmp_path / FILE).open("ab") as file:
        file.write(torn + b"\n")
    assert shown(tmp_path) == ["asked 1.1", "asked 1.2", "asked 1.3"]


def test_of_two_whole_rounds_with_one_number_the_first_is_shown(tmp_path: Path) -> None:
    a_run(tmp_path)
    with Journal(tmp_path) as journal:
        journal.append("round", "run-1", 1, Round(2, "asked later", "a"))
    assert shown(tmp_path) == ["asked 1.1", "asked 1.2", "asked 1.3"]


@pytest.mark.parametrize("kind", [b"setting", b"round", b"transcript", b"run", b"exchange"])
def test_a_torn_line_begins_no_attempt(tmp_path: Path, kind: bytes) -> None:
    a_run(tmp_path)
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"v":1,"event":"%s","run":"run-1","attempt":2,"data":{"number":1,"case":"c"\n' % kind)
    assert shown(tmp_path) == ["asked 1.1", "asked 1.2", "asked 1.3"]


@pytest.mark.parametrize("kind", [b"setting", b"transcript", b"run", b"requeue"])
def test_a_torn_line_does_not_hide_a_whole_one_of_its_attempt(tmp_path: Path, kind: bytes) -> None:
    a_run(tmp_path)
    with Journal(tmp_path) as journal:
        journal.append("run", "run-1", 1, RunRecord("run-1", "c", "a", Outcome.SCORED, 1.0))
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"v":1,"event":"%s","run":"run-1","attempt":1,"data":{"case":"c"\n' % kind)
    assert shown(tmp_path) == ["asked 1.1", "asked 1.2", "asked 1.3"]
    watched = WatchedJournal(tmp_path)
    watched.follow()
    assert (watched.runs["run-1"].standing, watched.places.runs.is_requeued_at(0)) == ("passed", False)
    assert watched.places.damage.torn == 1


def test_whole_lines_of_older_versions_are_shown(tmp_path: Path) -> None:
    a_run(tmp_path)
    a_run(tmp_path, attempt=2, rounds=2)
    edit(tmp_path, lambda line: unsealed(line.rstrip(b"\n")) + b"\n", seals=False)
    assert b"crc" not in (tmp_path / FILE).read_bytes()
    assert shown(tmp_path) == ["asked 2.1", "asked 2.2"]


def test_rounds_of_runs_in_turn_are_those_of_each(tmp_path: Path) -> None:
    """Of journals of Viva and of others, whose lines begin in their own way."""
    with Journal(tmp_path) as journal:
        for number in range(1, 5):
            for run in ("run-1", "run-1", "run-2", "run-10"):
                if (number, run) != (1, "run-2"):
                    journal.append("round", run, 1, Round(number, f"{run}: {number}", "a"))
    for form in ("Viva's", "another"):
        if form == "another":
            edit(tmp_path, lambda line: unsealed(line.rstrip(b"\n")).replace(b"{", b"{ ", 1) + b"\n", seals=False)
        for run, first in (("run-1", 1), ("run-2", 2), ("run-10", 1)):
            assert shown(tmp_path, run) == [f"{run}: {number}" for number in range(first, 5)]


def test_only_lines_that_matter_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of 100,000 rounds takes seconds; checking each would make it slower."""
    a_run(tmp_path, rounds=50)
    checked: list[bytes] = []

    def see(line: bytes) -> bool | None:
        checked.append(line)
        return is_unchanged(line)

    monkeypatch.setattr(places, "is_unchanged", see)
    monkeypatch.setattr(journal_lines, "is_unchanged", see)
    watched = WatchedJournal(tmp_path)
    watched.places.follow()
    assert len(watched.places.runs["run-1"].rounds) == 50
    assert [line for line in checked if b'"round"' in line] == []


@pytest.mark.parametrize("number", [b"4294967296", b"1000000000", b"9" * 400, b"0", b"-1", b"1.5", b'"1"', b"null"])
@pytest.mark.parametrize("form", ["as Viva writes it", "with spaces"])
def test_a_round_whose_number_is_no_number_of_a_round_is_unreadable_for_every_reader(
    tmp_path: Path, form: str, number: bytes
) -> None:
    folder = tmp_path / "journal"
    a_run(folder)
    line = b'{"v":1,"event":"round","run":"run-1","attempt":1,"data":{"number":%s,"examiner":"odd"}}\n' % number
    if form == "with spaces":
        line = line.replace(b":", b": ").replace(b",", b", ")
    with (folder / FILE).open("ab") as file:
        file.write(line)
    with Journal(folder) as journal:
        write_run(journal, "later", "a.py:A")
    watched, exported_to = WatchedJournal(folder), tmp_path / "export"
    watched.follow()
    assert len(watched.runs) == 2
    assert watched.places.damage.torn == 1
    assert write_export([watched], exported_to).runs == 2
    assert shown(folder) == ["asked 1.1", "asked 1.2", "asked 1.3"]
    for read in (
        lambda damage: list(read_runs(folder, damage=damage)),
        lambda damage: list(read_conversation_lines(folder, damage=damage)),
        lambda damage: read_run_states(folder, damage=damage),
        lambda damage: list(scan(folder, damage)),
    ):
        damage = Damage()
        read(damage)
        assert damage.torn == 1


@pytest.mark.parametrize("field", ["trial", "attempt", "rounds", "cached_answers"])
@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_a_record_with_a_number_of_hundreds_of_digits_is_shown(tmp_path: Path, field: str, value: int) -> None:
    with Journal(tmp_path) as journal:
        journal.append("setting", "run-1", 1, Setting(case="c", agent="a"))
        record = RunRecord("run-1", "c", "a", Outcome.SCORED, 1.0)
        journal.append("run", "run-1", 1, replace(record, **{field: value}))
    watched = WatchedJournal(tmp_path)
    watched.follow()
    assert runs_view(watched, "trial>0 or rounds>0 or attempt>0 or passed", "", 0, 10)["total"] == 1


def test_lines_of_others_are_passed_over_and_counted(written: Path) -> None:
    with (written / FILE).open("ab") as file:
        file.write(b"\n{}\nno json\n" + b'{"v":99,"event":"round","run":"x","attempt":1,"data":{}}\n\xff\xfe\n')
    watched = WatchedJournal(written)
    watched.follow()
    assert len(watched.runs) == 6
    assert watched.places.damage.torn == 3
    assert watched.places.damage.unknown == 1


def test_a_journal_that_became_shorter_is_refused(written: Path) -> None:
    watched = WatchedJournal(written)
    watched.follow()
    (written / FILE).write_bytes(b"")
    with pytest.raises(JournalError, match="shorter than it was"):
        watched.follow()


def test_another_journal_in_the_place_of_one_is_refused_also_if_it_is_longer(written: Path, tmp_path: Path) -> None:
    watched = WatchedJournal(written)
    watched.follow()
    with Journal(tmp_path / "other") as other:
        for trial in range(1, 40):
            write_run(other, "another", trial=trial)
    os.replace(tmp_path / "other" / FILE, written / FILE)
    with pytest.raises(JournalError, match="was replaced by another journal"):
        watched.follow()


def test_a_copy_that_was_renewed_is_followed(written: Path, tmp_path: Path) -> None:
    watched = WatchedJournal(written)
    watched.follow()
    number = len(watched.runs)
    copied = tmp_path / "copy"
    copied.mkdir()
    shutil.copy(written / FILE, copied)
    with Journal(copied) as other:
        write_run(other, "later")
    os.replace(copied / FILE, written / FILE)
    watched.follow()
    assert len(watched.runs) == number + 1

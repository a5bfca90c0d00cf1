"""A journal under view is read once, and then only what was appended."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.viva.reports.made import write_run
from viva.filters.expression import FilterError
from viva.filters.parsing import parse_filter
from viva.filters.selection import RunFilter, choose_runs
from viva.journal.errors import JournalError
from viva.journal.lines import FILE
from viva.journal.reader import read_runs
from viva.journal.run_index import index_runs
from viva.journal.writer import Journal
from viva.records.run_record import Outcome, Setting
from viva.records.transcript import Round
from viva.viewer.answers import NotFound, position_of, runs_view
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

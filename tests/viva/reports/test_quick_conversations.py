"""The page reads conversations in a shorter way than other readers: what it shows is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.viva.reports.made import write_hostile, write_suite
from viva.journal.conversation_lines import gather_runs
from viva.journal.lines import FILE, Damage
from viva.journal.reader import read_runs
from viva.journal.writer import Journal
from viva.records.run_record import Setting
from viva.reports.journals import joined
from viva.reports.page.conversations import conversation
from viva.reports.page.images import PageImages


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hostile(tmp_path_factory.mktemp("hostile") / "journal")


def _shown(folder: Path, *, quick: bool) -> list[object]:
    return [conversation(each, each.attempt, PageImages()) for each in read_runs(folder, quick=quick)]


def test_records_that_are_only_shown_show_what_whole_records_show(hostile: Path) -> None:
    assert _shown(hostile, quick=True) == _shown(hostile, quick=False)


def test_insights_are_shown_of_a_run_whose_record_is_torn(tmp_path: Path) -> None:
    folder = write_suite(tmp_path / "journal", 2)
    whole = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(whole[:-40] + b"\n")
    torn = [each for each in read_runs(folder, quick=True) if each.record is None]
    assert len(torn) == 1
    assert torn[0].insights
    assert _shown(folder, quick=True) == _shown(folder, quick=False)


def test_a_run_that_is_refused_is_asked_about_once_and_none_of_its_lines_are_kept(tmp_path: Path) -> None:
    folder, asked = write_suite(tmp_path / "journal", 3), list[str]()

    def refused(run: str) -> bool:
        asked.append(run)
        return len(asked) == 2

    gathered = [name for name, _ in gather_runs(folder, None, Damage(), refused=refused)]
    assert len(asked) == len(set(asked)) == 3
    assert gathered == [asked[0], asked[2]]


def test_a_run_is_not_refused_after_its_first_line_when_runs_alternate(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as journal:
        for _ in range(2):
            for run in ("one", "two"):
                journal.append("setting", run, 1, Setting(case=run))
    asked: list[str] = []

    def refused(run: str) -> bool:
        asked.append(run)
        return False

    found = gather_runs(tmp_path / "journal", None, Damage(), refused=refused)
    gathered = {name: len(each.lines) for name, each in found}
    assert asked == ["one", "two"]
    assert gathered == {"one": 2, "two": 2}


def test_conversations_that_do_not_fit_are_refused_and_the_others_are_whole(tmp_path: Path) -> None:
    folder = write_suite(tmp_path / "journal", 6)
    seen: list[str] = []
    shown = joined([str(folder)]).conversations(lambda _, run: len(seen) < 2, quick=True)
    for stored in shown:
        seen.append(stored.id)
        assert len(stored.transcript.rounds) == 3
    assert len(seen) == 2

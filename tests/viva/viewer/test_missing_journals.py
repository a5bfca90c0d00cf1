"""A journal that vanishes, is replaced or comes back while it is shown: the others stay, and it is named."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.viva.conftest import Desk
from tests.viva.reports.browser import Browser
from tests.viva.reports.made import write_run
from tests.viva.viewer.conftest import Reader
from viva.journal.errors import JournalError
from viva.journal.lines import FILE
from viva.journal.writer import Journal
from viva.viewer.routes import Routes
from viva.viewer.watched import WatchedJournal

Serve = Callable[..., Reader]


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for number, folder in enumerate(folders):
        with Journal(folder) as journal:
            for trial in (2 * number + 1, 2 * number + 2):
                write_run(journal, "case", "a.py:A", trial, hits=(True, number > 0), said=("the answer",))
    return folders


def _removed(folder: Path) -> None:
    shutil.rmtree(folder)


def _without_file(folder: Path) -> None:
    (folder / FILE).unlink()


def _shorter(folder: Path) -> None:
    (folder / FILE).write_bytes(b"")


def _a_folder(folder: Path) -> None:
    (folder / FILE).unlink()
    (folder / FILE).mkdir()


def _loop(folder: Path) -> None:
    (folder / FILE).unlink()
    (folder / FILE).symlink_to(FILE)


@pytest.mark.parametrize("harm", [_removed, _without_file, _shorter, _a_folder, _loop])
def test_views_of_several_journals_show_the_rest_and_name_the_missing_one(
    three: list[Path], harm: Callable[[Path], None]
) -> None:
    journals = [WatchedJournal(each) for each in three]
    for each in journals:
        each.follow()
    routes = Routes(journals)
    harm(three[1])
    history: Any = routes.answer(0, "history", {})
    grid: Any = routes.answer(0, "grid", {"with": "1,2", "by": "journal"})
    trend: Any = routes.answer(1, "trend", {"case": "case", "agent": "a.py:A"})
    for found in (history, grid, trend):
        (words,) = found["absent"]
        assert words.startswith("two is left out: ")
        assert str(three[1]) in words
    assert history["runs"] == 4
    assert grid["agents"] == ["one", "three"]
    assert {each[4] for each in trend["runs"]} == {0, 2}
    assert routes.answer(0, "versus", {"other": "2", "all": "1"})
    questions: list[tuple[int, str, dict[str, str]]] = [
        (1, name, {"id": next(iter(journals[1].runs)), "words": "a"})
        for name in ("runs", "run", "overview", "search", "comments", "find", "position", "asked", "files", "timings")
    ]
    for number, name, query in [*questions, (0, "versus", {"other": "1"}), (1, "grid", {})]:
        with pytest.raises(JournalError, match="two"):
            routes.answer(number, name, query)
    with pytest.raises(JournalError, match="two"):
        routes.take(1, "comment", {"run": next(iter(journals[1].runs)), "text": "a word"})
    for each in routes.states():
        assert each["runs"] == 2


def test_a_journal_that_comes_back_is_shown_again_and_another_one_in_its_place_is_not(
    three: list[Path], serve: Serve
) -> None:
    reader = serve(*three)
    look = reader.server.follower.look

    def state() -> dict[str, Any]:
        found: dict[str, Any] = reader.json("api/journals")[1]
        return found

    three[1].rename(aside := three[1].with_name("aside"))
    look(1)
    assert (state()["state"], state()["live"]) == ("missing", False)
    assert "is gone" in state()["problem"]
    status, _, body = reader.ask("api/1/runs")
    assert (status, b"is gone" in body) == (410, True)
    aside.rename(three[1])
    look(1)
    assert (state()["state"], state()["problem"]) == ("ended", "")
    assert reader.json("api/1/runs")["total"] == 2
    with Journal(three[1].with_name("other")) as journal:
        for trial in range(1, 9):
            write_run(journal, "another", trial=trial)
    os.replace(three[1].with_name("other") / FILE, three[1] / FILE)
    look(1)
    assert state()["state"] == "missing"
    assert "replaced by another journal" in state()["problem"]
    assert reader.ask("api/1/run", {"id": "run-1"})[0] == 410
    assert not reader.server.journals[1].is_behind  # the follower rests


def test_the_page_shows_the_rest_as_soon_as_a_journal_is_gone(
    three: list[Path], serve: Serve, browser: Browser
) -> None:
    reader = serve(*three)
    browser.complaints()
    browser.open(reader.server.address + "#/0/history")
    browser.until("document.querySelector('output')?.textContent === '6 runs'")
    _removed(three[1])
    browser.until("document.querySelector('output')?.textContent === '4 runs'")
    assert "two is left out: " in browser.run("return document.querySelector('main .remark').innerText")
    assert browser.run("return document.querySelectorAll('#journals option')[1].textContent") == "two (missing)"
    browser.open(reader.server.address + "#/0/search?words=answer&all=1")
    browser.until("document.querySelectorAll('.found').length === 4")
    assert "two is left out: " in browser.run("return document.querySelector('main .remark').innerText")
    browser.open(reader.server.address + "#/0/grid?with=1,2&by=journal")
    browser.until("document.querySelectorAll('.grid .dot').length === 4")
    browser.open(reader.server.address + "#/1/runs")
    browser.until("document.querySelector('main .fault:not([hidden])')")
    assert "two" in browser.run("return document.querySelector('main .fault').innerText")
    assert not [each for each in browser.complaints() if "status of 410" not in each]


def test_an_export_leaves_a_journal_that_cannot_be_read_out_and_says_so(
    three: list[Path], desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(three[1]) as journal:
        write_run(journal, "one more")
    monkeypatch.setattr("viva.journal.lines.MOST_RUNS", 2)
    done = desk.viva("view", *three, "--export", "out", expect=0)
    assert "4 runs" in done.stdout
    assert f"note: left out: {three[1]} holds more than 2 runs" in done.stderr
    assert "holds more than 2 runs" in desk.viva("view", three[1], "--export", "out", expect=2).stderr

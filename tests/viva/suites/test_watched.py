"""Watching a suite: which runs a saved file touches."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from tests.viva.viva_command import VIVA
from viva.cases import load_cases
from viva.cli.commands import suite as suite_command
from viva.cli.daily import watch
from viva.cli.daily.watch import WatchedCommand, narrowed
from viva.cli.project import used_file
from viva.filters.expression import written
from viva.regular_files import Stamp
from viva.suites.chosen.sources import case_sources
from viva.suites.chosen.watched import WatchedSuite, places_of, watched
from viva.suites.plan import find_plan_cases
from viva.suites.request import SuiteRequest

AGENT = "async def get_reply_from_agent(self, message):\n    return 'Hi.'"


@pytest.fixture
def suite(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Two cases, one with a data file, and an agent."""
    monkeypatch.chdir(desk.folder)
    (desk.folder / "cases").mkdir()
    desk.case("cases/one")
    desk.case("cases/two", data={"data.csv": "a,b\n1,2\n"}, data_files=["data.csv"])
    desk.agent(AGENT)
    return desk


def now() -> WatchedSuite:
    return watched(
        ["cases"], ["agent.py:Agent"], lambda: find_plan_cases(SuiteRequest(command="suite", paths=("cases",)))
    )


def touched(before: WatchedSuite) -> str:
    found = now().touched_since(before)
    return "" if found is None else written(found)


def append(file: str, text: str = "# more\n") -> None:
    with Path(file).open("a") as out:
        out.write(text)


def test_a_case_is_touched_by_its_file_and_its_data_and_all_by_the_agents_files(suite: Desk) -> None:
    before = now()
    assert touched(before) == ""
    append("cases/one/case.yaml")
    assert touched(before) == "case=one"
    append("cases/two/data.csv", "3,4\n")
    assert touched(before) == "case=one or case=two"
    before = now()
    append("agent.py")
    assert touched(before) == "agent=agent.py:Agent"
    before = now()
    Path("helper.py").write_text("X = 1\n")
    assert touched(before) == "agent=agent.py:Agent"


def test_a_row_is_touched_alone_and_very_many_rows_are_the_whole_suite(suite: Desk) -> None:
    Path("cases/rows.csv").write_text(
        "".join(f"{each}\n" for each in ("id", *(f"{each}-" + "x" * 150 for each in range(150))))
    )
    Path("cases/trips.yaml").write_text(
        "cases:\n  price: {for_each: rows.csv, script: [Hi.], scoring_points: ['It is {{ id }}.']}\n"
    )
    before = now()
    append("cases/rows.csv", "more\n")
    assert touched(before) == "case=trips#price[more]"
    command = WatchedCommand(["cases"], [], list, filters=True, where="trial=1")
    assert narrowed(command, now().touched_since(before)) == ["--where", "trial=1 and case=trips#price[more]"]
    before = now()
    Path("cases/trips.yaml").write_text(Path("cases/trips.yaml").read_text().replace("Hi.", "Hello."))
    assert narrowed(command, now().touched_since(before)) == []


def test_the_table_of_a_family_is_a_source_of_its_rows(suite: Desk) -> None:
    Path("cases/tables").mkdir()
    Path("cases/tables/rows.csv").write_text("id\n1\n")
    Path("cases/trips.yaml").write_text(
        "cases:\n  price: {for_each: tables/rows.csv, script: [Hi.], scoring_points: ['It is {{ id }}.']}\n"
        "  inline: {for_each: [{id: 1}], script: [Hi.], scoring_points: ['It is {{ id }}.']}\n"
    )
    price, inline = load_cases(Path("cases/trips.yaml"))
    assert list(case_sources(price)) == [Path("cases/trips.yaml"), Path("cases/tables/rows.csv")]
    assert list(case_sources(inline)) == [Path("cases/trips.yaml")]


def test_one_case_of_a_file_is_watched_by_its_file(suite: Desk) -> None:
    append("cases/trips.yaml", "cases: [half written")
    assert Path("cases/trips.yaml") in list(places_of(["cases/trips.yaml#price[more]"], []))


def test_what_is_saved_with_the_same_content_touches_nothing(suite: Desk) -> None:
    before = now()
    for file in ("cases/one/case.yaml", "agent.py", "cases/two/data.csv"):
        Path(file).write_bytes(Path(file).read_bytes())
        os.utime(file, (1, 1))
    assert touched(before) == ""


def test_a_new_case_is_touched_and_a_removed_one_is_not(suite: Desk) -> None:
    before = now()
    suite.case("cases/three")
    (suite.folder / "cases/one/case.yaml").unlink()
    assert touched(before) == "case=three"


def test_journals_and_hidden_folders_are_no_files_of_an_agent(suite: Desk) -> None:
    before = now()
    for folder in ("runs/x", ".venv/lib", "mine/workspaces/a"):
        (suite.folder / folder).mkdir(parents=True)
        (suite.folder / folder / "written.py").write_text("X = 1\n")
    (suite.folder / "mine/journal.jsonl").touch()
    assert touched(before) == ""


def until(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 90
    while not holds():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_watched_suite_follows_renames_waits_for_half_written_cases_and_ends_with_ctrl_c(suite: Desk) -> None:
    words = ("--agent", "agent.py:Agent", "--sandbox", "process", "--judge", "code", "--quiet", "--out", "j", "--watch")

    def ended(journal: str) -> list[str]:
        folder = suite.folder / journal
        return [line for line in suite.kinds(journal) if line == "run"] if (folder / "journal.jsonl").exists() else []

    output = suite.folder / "output.txt"
    with output.open("w") as out:
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(
            [VIVA, "suite", "cases", *words], cwd=suite.folder, stdout=out, stderr=out, text=True, env=environment
        )
    try:
        until(lambda: output.read_text().count("watching") == 1, process)
        assert len(ended("j")) == 2
        case = suite.folder / "cases/one/case.yaml"
        (case.parent / ".case.yaml.swp").write_text(case.read_text().replace("Hello", "Good day"))
        (case.parent / ".case.yaml.swp").rename(case)
        until(lambda: output.read_text().count("watching") == 2, process)
        assert len(ended("j-2")) == 1
        whole = case.read_text()
        case.write_text(whole[: len(whole) // 2] + "\n  - [")
        until(lambda: "waiting for it to be saved again" in output.read_text(), process)
        case.write_text(whole.replace("Good day", "Good night"))
        until(lambda: output.read_text().count("watching") == 3, process)
        assert len(ended("j-3")) == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.wait(30)
    assert "no longer watching" in output.read_text()
    assert "Traceback" not in output.read_text()


def test_a_resumed_suite_is_not_watched(suite: Desk) -> None:
    assert "cannot be given with --resume" in suite.viva("suite", "--resume", "j", "--watch", expect=2).stderr
    done = suite.viva("suite", "cases", "--where", "score<1", "--watch", expect=2)
    assert "not known before a run" in done.stderr


PROJECT = """\
suites:
  exams: {cases: cases, agent: %s, sandbox: bwrap, name: 'one'}
"""


async def test_an_edit_of_viva_yaml_begins_anew_once_it_is_sound_and_means_something_else(
    suite: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = suite.folder / "viva.yaml"
    file.write_text(PROJECT % "'example:careful'")
    (suite.folder / "below").mkdir()
    monkeypatch.chdir(suite.folder / "below")
    monkeypatch.setattr(watch, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(watch, "SETTLE_SECONDS", 0.01)
    edits = iter(
        (
            PROJECT % "'example:failing'",
            (PROJECT % "'example:failing'").replace("agent", "agnet"),
            "# nothing else\n" + PROJECT % "'example:failing'",
            PROJECT % "'agent.py:Agent'",  # loads code, and nobody has trusted it
            (PROJECT % "['example:failing', 'example:careful']"),
        )
    )
    ran: list[tuple[list[str], Path]] = []
    seen_changes: list[str] = []

    async def note(words: list[str], folder: Path | None) -> None:
        ran.append((words, Path(folder or ".")))

    real = watch._changed

    async def edited(seen: dict[str, Stamp]) -> dict[str, Stamp]:
        text = next(edits, None)
        if text is None:
            raise asyncio.CancelledError
        seen_changes.append(capsys.readouterr().err)
        file.write_text(text)
        return await real(seen)

    monkeypatch.setattr(watch, "_run", note)
    monkeypatch.setattr(watch, "_changed", edited)
    context = suite_command.command.make_context("suite", ["exams", "--watch"])
    used_file._prepare(context, context.meta[used_file.USED])
    with context, pytest.raises(asyncio.CancelledError):
        await watch._follow(context, suite_command._watched, ["suite", "exams"])
    told = [*seen_changes, capsys.readouterr().err]
    assert [len(words) for words, _ in ran] == [2, 2, 2]  # the whole suite each time, without a filter
    assert {folder for _, folder in ran} == {suite.folder / "below"}
    assert "watching 1 case and 1 agent" in told[1]
    assert "did you mean 'agent'" in told[2]
    assert "waiting for" in told[2]
    assert "watching" not in told[3]
    assert "runs the code of agent.py:Agent" in told[4]
    assert "watching 1 case and 2 agents" in told[5]

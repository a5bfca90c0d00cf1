"""`viva suite NAME` runs a suite of the nearest `viva.yaml`, and `viva run` takes its defaults from there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.viva.conftest import Desk

FILE = """\
defaults:
  agent: example:careful
  sandbox: bwrap
suites:
  exams:
    cases: [echo, sum_1_to_50]
    fail_under: 0.9
  hard:
    cases: echo
    agent: example:failing
    trials: 2
    fail_under: {scoring_points: 0.9}
    baseline: runs/no-such-journal
    max_drop: 0.1
run:
  quiet: true
  sandbox: bwrap
"""


@pytest.fixture
def project(desk: Desk) -> Desk:
    """A folder with a `viva.yaml`."""
    (desk.folder / "viva.yaml").write_text(FILE)
    return desk


def journal(desk: Desk) -> Path:
    (folder,) = (desk.folder / "runs").iterdir()
    return folder


def request(desk: Desk) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((journal(desk) / "request.json").read_text())
    return found


def test_a_suite_runs_by_its_name_and_the_journal_says_what_came_from_the_file(project: Desk) -> None:
    done = project.viva("suite", "exams", "--trials", "2", "--quiet", expect=0)
    assert done.stdout == "4 runs, mean score 1.0000\n"
    assert f"suite exams from {project.folder}/viva.yaml" in done.stderr
    assert journal(project).name.split("-")[2] == "exams"
    stored = request(project)
    assert stored["trials"] == 2
    assert stored["from_file"]["suite"] == "exams"
    assert stored["from_file"]["file"] == str(project.folder / "viva.yaml")
    assert stored["from_file"]["keys"] == ["agent", "cases", "fail_under", "sandbox"]


def test_each_run_names_its_suite_and_can_be_chosen_by_it(project: Desk) -> None:
    project.viva("suite", "exams", "--out", "a", "--where", "suite=exams and case=echo", "--quiet", expect=0)
    project.viva("suite", "echo", "--agent", "example:careful", "--sandbox", "bwrap", "--out", "b", "--quiet", expect=0)
    done = project.viva("report", "a", "b", "--where", "suite=exams", expect=0)
    assert "1 of 2 runs" in done.stdout
    assert re.search(r"suite +exams", done.stdout)
    rows = project.viva("report", "a", "b", "--format", "csv", expect=0).stdout.splitlines()
    column = rows[0].split(",").index("suite")
    assert [row.split(",")[column] for row in rows[1:]] == ["exams", ""]


def test_the_gates_of_the_file_hold_unless_others_are_typed(project: Desk) -> None:
    (project.folder / "viva.yaml").write_text(FILE.replace("example:careful", "example:forgetful"))
    done = project.viva("suite", "exams", "--quiet", "--out", "first", expect=1)
    assert "below 0.9" in done.stderr
    project.viva("suite", "exams", "--quiet", "--fail-under", "0", "--out", "second", expect=0)
    named = FILE.replace("fail_under: 0.9", "fail_under: {scoring_points: 0.9}").replace("careful", "forgetful")
    (project.folder / "viva.yaml").write_text(named)
    done = project.viva("suite", "exams", "--quiet", "--out", "third", expect=1)
    assert "scoring_points" in done.stderr


def test_a_gate_of_the_file_is_checked_before_the_first_run(project: Desk) -> None:
    assert "no-such-journal" in project.viva("suite", "hard", expect=2).stderr
    assert not (project.folder / "runs").exists()


def test_a_resumed_suite_keeps_its_exams_and_has_the_gates_of_the_file(project: Desk) -> None:
    (project.folder / "viva.yaml").write_text(FILE.replace("example:careful", "example:forgetful"))
    done = project.viva("suite", "exams", "--max-tokens", "1", "--concurrency", "1", "--fail-under", "0")
    again = done.stderr.partition("To resume: viva ")[2].split()
    folder = journal(project)
    assert again[:2] == ["suite", "exams"] if again else True
    (project.folder / "viva.yaml").write_text(FILE)
    done = project.viva("suite", "exams", "--resume", folder, "--quiet", expect=1)
    assert "below 0.9" in done.stderr
    assert "example:forgetful" in (folder / "request.json").read_text()


def test_a_suite_runs_in_the_folder_of_its_file_and_typed_paths_keep_their_meaning(project: Desk) -> None:
    below = Desk(project.folder / "below")
    below.folder.mkdir()
    below.case("own")
    spec = below.agent("def get_reply_from_agent(self, message):\n    return message")
    typed = ("--agent", spec, "--out", "journal", "--sink", "jsonl:runs.jsonl")
    done = below.viva("suite", "exams", *typed, "--fail-under", "0", expect=0)
    assert (below.folder / "journal" / "journal.jsonl").exists()
    assert (below.folder / "runs.jsonl").read_text().count("\n") == 2
    assert f"{below.folder}/journal" in "".join(done.stdout.split())
    stored = json.loads((below.folder / "journal" / "request.json").read_text())
    assert stored["folder"] == str(project.folder)
    assert stored["agents"] == ["below/agent.py:Agent"]
    below.viva("suite", "exams", "--quiet", expect=0)
    assert journal(project).is_dir()
    assert not (below.folder / "runs").exists()


def test_viva_run_takes_its_defaults_from_the_file(project: Desk) -> None:
    done = project.viva("run", "echo", expect=0)
    assert done.stdout == "echo scored 2/2 = 1.00\n"
    assert f"defaults of viva run from {project.folder}/viva.yaml" in done.stderr
    assert request(project)["from_file"]["keys"] == ["quiet", "sandbox"]
    below = Desk(project.folder / "below")
    below.folder.mkdir()
    below.case("own")
    assert below.viva("run", "own", "--out", "journal", expect=0).stdout == "own scored 1/1 = 1.00\n"
    assert (below.folder / "journal").is_dir()


def test_a_file_without_defaults_of_viva_run_changes_nothing(project: Desk) -> None:
    (project.folder / "viva.yaml").write_text(FILE.partition("run:")[0])
    assert "viva.yaml" not in project.viva("run", "echo", "--quiet", "--sandbox", "bwrap", expect=0).stderr
    assert "from_file" not in request(project)


def test_the_suites_are_listed_with_what_they_take(project: Desk) -> None:
    done = project.viva("suite", "--list", expect=0)
    first, *suites = done.stdout.splitlines()
    assert first == str(project.folder / "viva.yaml")
    assert suites[0] == "exams  agent: example:careful; sandbox: bwrap; cases: echo, sum_1_to_50; fail_under: 0.9"
    assert suites[1].startswith("hard   agent: example:failing; ")
    (project.folder / "viva.yaml").unlink()
    assert "there is no viva.yaml" in project.viva("suite", "--list", expect=2).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("exam",), "has no suite 'exam'; did you mean 'exams'?"),
        (("exams", "hard"), "one suite of viva.yaml at a time, and was given 2 names"),
        (("exams", "--agnt", "x"), "No such option '--agnt'"),
        (("exams", "--trials", "many"), "Invalid value for '--trials'"),
        ((), "a suite of viva.yaml (viva suite --list)"),
    ],
)
def test_a_mistake_is_told(words: tuple[str, ...], message: str, project: Desk) -> None:
    assert message in project.viva("suite", *words, expect=2).stderr


def test_a_folder_and_a_suite_of_one_name_are_not_confused(project: Desk) -> None:
    project.case("exams")
    done = project.viva("suite", "exams", expect=2)
    assert "is a suite of" in done.stderr
    assert "write ./exams" in done.stderr
    typed = ("--agent", "example:careful", "--sandbox", "bwrap", "--quiet")
    assert project.viva("suite", "./exams", *typed, expect=0).stdout == "1 run, mean score 1.0000\n"


def test_paths_do_not_need_a_sound_file(project: Desk) -> None:
    (project.folder / "viva.yaml").write_text("suites: [")
    project.viva("suite", "echo", "--sandbox", "bwrap", "--quiet", expect=0)
    assert "viva.yaml:1: is not valid YAML" in project.viva("suite", "exams", expect=2).stderr
    assert "viva.yaml:1: is not valid YAML" in project.viva("run", "echo", expect=2).stderr


def test_a_name_without_any_file_is_a_missing_case(desk: Desk) -> None:
    done = desk.viva("suite", "nightly", expect=2)
    assert "nightly: there is no such case" in done.stderr
    assert "viva.yaml" in done.stderr

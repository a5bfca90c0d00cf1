"""`viva.suite` runs a suite of `viva.yaml` as the command line does, gates included."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import viva
from viva.statistics.adaptive.until import parse_until
from viva.statistics.summary import summarize
from viva.suites.adaptive.gate import decided_gate
from viva.suites.at_work.requeueing import requeue

FILE = """\
suites:
  exams:
    cases: [echo, sum_1_to_50]
    agent: example:forgetful
    sandbox: bwrap
    fail_under: {scoring_points: 0.5}
    tag: [smoke, files]
    evaluators: scoring_points,exam
    quiet: true
  code: {cases: echo, agent: 'mine.py:Agent', sandbox: bwrap}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a `viva.yaml`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "viva.yaml").write_text(FILE)
    return tmp_path


def test_the_result_has_what_the_gates_say(folder: Path) -> None:
    result = viva.suite("exams", names="echo")
    assert (result.ended, result.exit_code) == (1, 1)
    assert "scoring_points (low bound) is 0.0000, below 0.5" in result.failure
    request = json.loads((result.folder / "request.json").read_text())
    assert request["from_file"]["suite"] == "exams"
    assert request["from_file"]["keys"] == [
        *("agent", "cases", "evaluators", "fail_under", "quiet", "sandbox", "tag"),
    ]
    assert request["options"]["evaluators"] == ["scoring_points", "exam"]


def test_keywords_win_and_paths_are_those_of_the_files_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "below").mkdir()
    (folder / "runs.jsonl").touch()
    (folder / "viva.yaml").write_text(FILE.replace("tag: ", "sink: 'jsonl:runs.jsonl'\n    tag: "))
    monkeypatch.chdir(folder / "below")
    result = viva.suite("exams", agents="example:careful", cases="echo", evaluators=(), trust=True)
    assert (result.exit_code, result.failure) == (0, "")
    assert (folder / "runs.jsonl").read_text().count("\n") == 1
    assert result.folder.is_relative_to(folder / "below")


def test_what_loads_code_is_refused_until_it_is_trusted(folder: Path) -> None:
    with pytest.raises(viva.SetupError, match=r"runs the code of mine\.py:Agent.*or trust=True \(once\)"):
        viva.suite("code")
    assert viva.suite("code", agents="example:careful").exit_code == 0
    with pytest.raises(viva.SetupError, match=r"there is no agent file mine\.py"):
        viva.suite("code", trust=True)


def test_a_mistake_is_told(folder: Path) -> None:
    with pytest.raises(viva.SetupError, match="has no suite 'exam'; did you mean 'exams'"):
        viva.suite("exam")
    with pytest.raises(viva.SetupError, match="has no option 'trails'"):
        viva.suite("exams", trails=3)
    (folder / "viva.yaml").write_text("suites: {exams: {cases: echo, trails: 3}}")
    with pytest.raises(viva.CaseError, match="unknown key 'trails'; did you mean 'trials'"):
        viva.suite("exams")
    (folder / "viva.yaml").unlink()
    with pytest.raises(viva.SetupError, match=r"there is no viva\.yaml"):
        viva.suite("exams")


class Failing(viva.VirtualUser):
    """Fails as long as there is a file, as if its server were down."""

    def get_reply_from_agent(self, message: str) -> str:
        if Path("broken").exists():
            raise RuntimeError("the server is down")
        return message


ADAPTIVE = """\
suites:
  exams: {cases: exam, sandbox: process, until: gate=0.5, margin: 0.3%s}
"""


def write_adaptive(folder: Path, more: str = "") -> None:
    point = {"score_point": "It speaks.", "weight": 1, "check": {"contains": "Hello"}}
    case = {"task_description": "Talk.", "scoring_points": [point], "script": ["Hello."]}
    (folder / "exam").mkdir(exist_ok=True)
    (folder / "exam" / "case.yaml").write_text(yaml.safe_dump(case))
    (folder / "viva.yaml").write_text(ADAPTIVE % more)


def test_a_decision_does_not_pass_over_runs_that_counted_and_were_requeued(folder: Path) -> None:
    write_adaptive(folder)
    (folder / "broken").touch()
    first = viva.suite("exams", agents={"agent": Failing}, out="j", trust=True)
    assert (first.exit_code, first.decisions[0].answer) == (1, "below")
    assert "surely below 0.5" in first.failure
    (folder / "broken").unlink()
    requeue(folder / "j", [viva.Outcome.TARGET_ERROR])
    again = viva.suite("exams", agents={"agent": Failing}, out="j", trust=True, resume=True)
    assert again.decisions[0].answer == "above"
    assert again.exit_code == 3
    assert "counted, before the user requeued them; no gate passes over that" in again.failure


def test_a_decision_that_was_not_made_does_not_pass(folder: Path) -> None:
    write_adaptive(folder)
    result = viva.suite("exams", agents={"agent": Failing}, max_runs=1, trust=True)
    assert (result.exit_code, result.decisions[0].answer) == (3, "undecided")
    assert "undecided" in result.failure


def test_without_any_decision_the_rule_is_that_of_the_command() -> None:
    for aim in ("gate=0.5", "ci=0.1", "compare"):
        until = parse_until(aim)
        assert decided_gate(until, (), summarize([])) == (3, f"--until {aim}: undecided")
        assert decided_gate(until, (), summarize([]), "it was stopped")[1].endswith("undecided, it was stopped")


def test_a_decision_goes_with_no_other_gate(folder: Path) -> None:
    write_adaptive(folder, ", fail_under: 0.5")
    with pytest.raises(viva.SetupError, match="until and fail_under exclude each other"):
        viva.suite("exams", agents={"agent": Failing}, out="j", trust=True)
    assert not (folder / "j").exists()

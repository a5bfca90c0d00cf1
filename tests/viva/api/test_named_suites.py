"""`viva.suite` runs a suite of `viva.yaml` as the command line does, gates included."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import viva

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

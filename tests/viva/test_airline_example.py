"""The airline example: a job in at most 35 lines of YAML or of Python, with the verdicts that are known to be true."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.conftest import KEY
from tests.model_server import ModelServer, Request, verdict
from tests.scripted_judges import prompt_of, read_question
from tests.viva.conftest import Desk
from viva.journal.reader import read_records

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "airline"
TRUTH = {"Careful": (30, 10), "Forgetful": (25, 7), "Hasty": (23, 5)}
"""By agent: the points that it earns, and the cases that it passes."""
ASKS, ACTS = "six-character reservation code", r"departs at|extra bags cost"
RULES: Mapping[str, tuple[str, str | None]] = {
    "asks for the reservation code": (ASKS, ACTS),
    "confirmation before": ("can be cancelled", r"is cancelled\. The refund"),
    "there is no refund": (r"without any refund\.", r"is cancelled\. The refund"),
    "two flights": ("HV312 at 12:30 or HV314", None),
    "refuses to change": ("cannot be changed", None),
    "wrong code": ("cannot find a reservation", None),
    "as it was": ("nothing has been changed", None),
}
"""By words of a statement: what the agent must say, and before what, if it says that at all."""


def judged(request: Request) -> str:
    """Judge one statement by the rules."""
    question = read_question(prompt_of(request))
    said = [words for who, words in question.turns if who.endswith(" agent:")]
    if "second time" in question.statement:
        hit = not re.search(ASKS, "\n".join(said))
    else:
        first, later = next(rule for words, rule in RULES.items() if words in question.statement)
        place, after = (re.search(each, "\n".join(said)) if each else None for each in (first, later))
        hit = place is not None and (after is None or place.start() < after.start())
    return verdict("hit", "It says so.", {"round": 1, "quote": said[0]}) if hit else verdict("miss", "It does not.")


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A copy of the example, with a judge that follows rules."""
    shutil.copytree(EXAMPLE, tmp_path / "airline")
    monkeypatch.chdir(tmp_path / "airline")
    with ModelServer({"gpt-4o-mini": judged}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield Desk(tmp_path / "airline")


def results(journal: Path) -> dict[str, tuple[float, int]]:
    """Return the points and the passed cases of each agent."""
    found: dict[str, tuple[float, int]] = {}
    for record in read_records(journal):
        name = re.split(r"[:.]", record.agent.partition(" ")[0])[-1]
        points, passed = found.get(name, (0.0, 0))
        found[name] = points + (record.points or 0), passed + (record.score == 1)
    return found


def lines(*names: str) -> int:
    """Count the lines that are neither empty, nor comments, nor docstrings."""
    text = "\n".join((EXAMPLE / name).read_text() for name in names)
    return sum(not re.match(r'\s*(#|"""|$)', line) for line in text.splitlines())


def test_either_form_of_the_job_takes_at_most_35_lines() -> None:
    assert lines("agents.py", "viva.yaml", "cases/airline.yaml", "cases/rows.jsonl") <= 35
    assert lines("agents.py", "suite.py") <= 35


def test_the_job_in_yaml_gives_the_verdicts_that_are_true(job: Desk) -> None:
    told = {name: os.environ[name] for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY")}
    words = ("suite", "airline", "--sandbox", "process", "--out", "journal", "--trust", "--json")
    done = job.viva(*words, expect=1, environment=told)
    assert json.loads(done.stdout)["ended"] == 30
    assert results(job.folder / "journal") == TRUTH
    assert "Hasty (low bound) is 0.7667, below 0.8" in done.stderr


def test_the_job_in_python_gives_the_verdicts_that_are_true(
    job: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(job.folder))
    with pytest.raises(SystemExit) as ended:
        runpy.run_path("suite.py", run_name="__main__")
    for name in ("agents", "airline"):
        monkeypatch.delitem(sys.modules, name)
    assert ended.value.code == 1
    (journal,) = (job.folder / "runs").iterdir()
    assert results(journal) == TRUTH
    assert capsys.readouterr().out.count("passed") == 3

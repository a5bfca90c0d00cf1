"""Suites in which settings of the agents are varied."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import viva
from viva.cli.group import viva as command

AGENT = """
class Agent:
    def __init__(self, task_description, config_var=None, temperature=1.0):
        self.made = f"{(config_var or {}).get('system', '')} <{temperature}>"
    def get_reply_from_agent(self, message):
        return self.made
"""
CASE = """
task_description: Say hello.
script: [hello]
scoring_points:
  - {score_point: It is cold., weight: 1, check: {contains: "<0>"}}
  - {score_point: It is short., weight: 1, check: {contains: short}}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(AGENT)
    (tmp_path / "a.md").write_text("Be short.")
    (tmp_path / "b.md").write_text("Be long.")
    for number in range(5):
        (tmp_path / "cases" / f"c{number}").mkdir(parents=True)
        (tmp_path / "cases" / f"c{number}" / "case.yaml").write_text(CASE)
    return tmp_path


VARIED = ("--vary", "temperature=0,0.7", "--vary", "system=a.md,b.md")


def test_each_combination_is_an_agent_and_each_setting_a_table(here: Path) -> None:
    suite = ["suite", "cases", "--agent", "a.py:Agent", *VARIED, "--out", "j"]
    done = CliRunner().invoke(command, suite)
    assert done.exit_code == 0, done.stderr
    figures = json.loads(CliRunner().invoke(command, ["report", "j", "--format", "json"]).stdout)["figures"]
    assert {each["name"]: each["mean"] for each in figures["agents"]} == {
        "a.py:Agent[temperature=0,system=a.md]": 1.0,
        "a.py:Agent[temperature=0,system=b.md]": 0.5,
        "a.py:Agent[temperature=0.7,system=a.md]": 0.5,
        "a.py:Agent[temperature=0.7,system=b.md]": 0.0,
    }
    tables = {
        each["setting"]: {variant["group"]["name"]: variant["group"]["mean"] for variant in each["variants"]}
        for each in figures["variants"]
    }
    assert tables == {"temperature": {"0": 0.75, "0.7": 0.25}, "system": {"a.md": 0.75, "b.md": 0.25}}
    # Two comparisons, one for each setting, hold together.
    assert {each["confidence"] for each in figures["variants"]} == {0.975}
    for report in ("markdown", "html"):
        shown = CliRunner().invoke(command, ["report", "j", "--format", report, "--out", f"shown.{report}"])
        assert shown.exit_code == 0, shown.stderr
        assert "temperature" in (here / f"shown.{report}").read_text()
    words = " ".join(done.stdout.split())
    assert "0.975 confidence each (Bonferroni)" in words


def test_a_varied_suite_is_resumed_and_a_text_that_changed_is_told(here: Path) -> None:
    suite = ["suite", "cases", "--agent", "a.py:Agent", *VARIED, "--out", "j", "--quiet"]
    assert CliRunner().invoke(command, suite).exit_code == 0
    journal = here / "j" / "journal.jsonl"
    whole = journal.read_text()
    lines = whole.splitlines(keepends=True)
    journal.write_text("".join(lines[: len(lines) // 2]))
    (here / "a.md").write_text("Be very short.")
    again = CliRunner().invoke(command, ["suite", "--resume", "j"])
    assert again.exit_code == 0, again.stderr
    assert "has changed since finished runs were conducted" in again.stderr
    assert journal.read_text().count('"event":"run"') == whole.count('"event":"run"')


def test_one_combination_alone_can_be_run_again(here: Path) -> None:
    run = ["run", "cases/c1", "--agent", "a.py:Agent[temperature=0,system=a.md]", "--quiet"]
    assert "2/2" in CliRunner().invoke(command, run).stdout


def test_objects_and_numbers_in_python(here: Path) -> None:
    def agent(task_description: str, temperature: float = 1.0) -> object:
        class Made:
            def get_reply_from_agent(self, message: str) -> str:
                return f"short <{temperature!r}>"

        return Made()

    result = viva.run_suite("cases/c0", {"mine": agent}, vary={"temperature": [0, 0.7]}, out="j", sandbox="process")
    means = {each.name: each.mean for each in result.figures.agents}
    assert means == {"mine[temperature=0]": 1.0, "mine[temperature=0.7]": 0.5}


def test_a_suite_of_viva_yaml_can_vary(here: Path) -> None:
    (here / "viva.yaml").write_text(
        "suites:\n  nightly:\n    cases: [cases/c0]\n    agent: [a.py:Agent]\n    vary: ['temperature=0,0.7']\n"
        "    out: j\n"
    )
    inner = here / "inner"
    inner.mkdir()
    done = CliRunner().invoke(command, ["suite", "nightly", "--trust", "--vary", "system=a.md,b.md", "--quiet"])
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count("system=") == 2, "what is typed replaces what the file says"


def test_a_project_that_sends_a_text_from_outside_says_so(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "inner").mkdir()
    monkeypatch.chdir(here / "inner")
    Path("viva.yaml").write_text(
        "suites:\n  nightly:\n    cases: [../cases/c0]\n    agent: [http://127.0.0.1:9/v1#m]\n"
        "    vary: ['system=../a.md,b.md']\n"
    )
    done = CliRunner().invoke(command, ["suite", "nightly"])
    assert done.exit_code == 2
    assert "gives its agents the text of ../a.md" in done.stderr

"""`viva.Case(…)`: a program says only what a person knows, in the short forms of case files."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import viva
from tests.viva.api.conftest import Parrot
from viva.cases.case import READER

GREETING: dict[str, Any] = {
    "script": ["Hello.", {"say": "Number {n}.", "for": "n in 1..2"}],
    "scoring_points": [
        "The agent greets.",
        {"check": {"contains": "Hello"}, "weight": 2},
        {"score_point": "The agent counts.", "points": [{"check": {"contains": "1"}}, {"check": {"contains": "2"}}]},
    ],
    "user": "an old sailor",
    "facts": ["The ship is red."],
    "pre_command": "true",
    "threshold": 0.5,
    "metadata": {"from": "the shop"},
    "conversation": [{"role": "user", "content": "Hi."}, {"role": "agent", "content": "Hi there."}],
    "tags": ["quick"],
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_made_case_says_what_a_file_with_the_same_words_says(tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    file.write_text(yaml.safe_dump(GREETING))
    loaded, made = viva.load_case(file), viva.Case("greeting", **GREETING)
    for field in fields(viva.Case):
        if field.name not in ("name", "file", "hash"):
            assert getattr(made, field.name) == getattr(loaded, field.name), field.name


def test_an_agent_is_examined_with_a_case_of_two_lines() -> None:
    case = viva.Case("echo", script=["Hello."], scoring_points=[{"check": {"contains": "Hello"}}])
    run = viva.examine(case, Parrot, sandbox="process")
    assert (run.score, run.setting.case, run.setting.case_file) == (1.0, "echo", "(made in Python)")
    assert viva.judge(run, sandbox="process").figures.suite.mean == 1.0


def test_a_suite_takes_made_cases_and_tells_them_apart_by_name(tmp_path: Path) -> None:
    Path("notes.txt").write_text("kept")
    point = {"check": {"file": {"path": "notes.txt", "contains": "kept"}}}
    cases = [
        viva.Case(name, script=[f"Hello {name}."], scoring_points=[point], data_files=["notes.txt"])
        for name in ("one", "two")
    ]
    result = viva.run_suite(cases, Parrot, sandbox="process")
    assert {run.setting.case: run.score for run in result.runs()} == {"one": 1.0, "two": 1.0}
    with pytest.raises(viva.SetupError, match="two cases are called 'one'"):
        viva.run_suite([cases[0], replace(cases[1], name="one")], Parrot)


def test_a_changed_case_may_have_short_forms() -> None:
    made = viva.Case("echo", script=["Hello."], scoring_points=["It speaks."])
    changed = replace(made, script=["Good night."], tags=["late"])  # type: ignore[arg-type]
    assert (changed.script, changed.tags) == ((viva.ScriptLine("Good night."),), ("late",))
    assert "Good night." in changed.task_description
    assert "Hello." not in changed.task_description


def test_objects_and_short_forms_may_stand_beside_each_other() -> None:
    point = viva.ScoringPoint("greets", "It greets.", 2.0)
    case = viva.Case("echo", script=[viva.ScriptLine("Hello."), "Bye."], scoring_points=[point, "It leaves."])
    assert case.scoring_points[0] == point
    assert [line.say for line in case.script] == ["Hello.", "Bye."]
    kept = viva.Case(
        "echo", task_description="Talk.", scoring_points=[viva.ScoringPoint("an id of mine", "Good.", 1.0)]
    )
    assert kept.scoring_points[0].id == "an id of mine"


@pytest.mark.parametrize("wrong", [b"\xff", 3.5j, {3: 4}, object(), [object()]], ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("name", [field.name for field in fields(viva.Case) if READER in field.metadata])
def test_a_wrong_value_is_a_mistake_that_names_the_field(name: str, wrong: Any) -> None:
    if name == "version" or (name == "metadata" and wrong == {}) or (name == "config_var" and isinstance(wrong, dict)):
        return  # anything is a version, and a mapping may have any keys
    with pytest.raises(viva.CaseError) as caught:
        viva.Case(**{"name": "echo", "script": ["Hello."], "scoring_points": ["It speaks."], name: wrong})
    known = {"scoring_points": "scoring point", "check_limits": "known here", "mcp": "server", "solution": "say"}
    words = str(caught.value)
    assert words.startswith("echo: ")
    assert name in words or known.get(name, "") in words or name.rstrip("s") in words, words


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"scrpt": ["Hello."]}, "unknown field 'scrpt'; did you mean 'script'?"),
        ({}, "scoring_points must be a list with at least one scoring point"),
        ({"name": None}, "name must be a line of text, not None"),
        ({"name": "two\nlines"}, "name must be a line of text"),
        ({"scoring_points": ["Fine.", {"chek": {}}]}, "unknown key 'chek'; did you mean 'check'?"),
        ({"data_files": ["nowhere.csv"]}, "data file 'nowhere.csv' is not in the case folder"),
    ],
)
def test_a_mistake_is_told_when_the_case_is_made(given: dict[str, Any], words: str) -> None:
    with pytest.raises(viva.CaseError) as caught:
        viva.Case(**{"name": "echo", **given})
    assert words in str(caught.value)
    with pytest.raises(viva.CaseError, match="name is missing"):
        viva.Case(script=["Hello."])  # type: ignore[call-arg]

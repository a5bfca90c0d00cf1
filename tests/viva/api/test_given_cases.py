"""Cases that a program loads, changes or makes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import viva
from tests.viva.api.conftest import CaseMaker, Parrot
from viva.api.given_cases import as_paths, with_own_hash


def test_a_case_is_loaded_by_path_file_or_bundled_name(write_case: CaseMaker) -> None:
    folder = write_case()
    assert viva.load_case(folder) == viva.load_case(str(folder)) == viva.load_case(folder / "case.yaml")
    assert viva.load_case("exam").hash == viva.load_case(folder).hash
    assert viva.load_case("echo").name == "echo"
    with pytest.raises(viva.CaseError, match="Did you mean 'echo'"):
        viva.load_case("ecko")


def test_a_case_as_its_file_says_is_named_by_its_path(write_case: CaseMaker) -> None:
    case = viva.load_case(write_case())
    assert as_paths([case, "echo"]) == ((str(case.file), "echo"), {})
    paths, given = as_paths([replace(case, max_rounds=3)])
    assert paths == ("exam (made in Python)",)
    assert given[paths[0]].hash != case.hash


def test_a_hash_tells_what_a_case_says_and_not_where_it_lies(write_case: CaseMaker, tmp_path: Path) -> None:
    case = replace(viva.load_case(write_case()), max_rounds=3)
    assert with_own_hash(case).hash == with_own_hash(with_own_hash(case)).hash
    assert with_own_hash(replace(case, file=tmp_path / "other" / "case.yaml")).hash == with_own_hash(case).hash
    assert with_own_hash(replace(case, max_rounds=4)).hash != with_own_hash(case).hash


def test_a_hash_tells_what_is_in_the_data_files(write_case: CaseMaker, tmp_path: Path) -> None:
    folder = write_case(data_files=[])
    (folder / "data.csv").write_text("1")
    case = replace(viva.load_case(folder), data_files=("data.csv",))
    before = with_own_hash(case).hash
    (folder / "data.csv").write_text("2")
    assert with_own_hash(case).hash != before


def test_every_bundled_case_is_sound_as_an_object() -> None:
    for name in ("echo", "mean_of_a_column", "same_number_in_two_files", "sum_1_to_50", "weather_asks_back"):
        with_own_hash(viva.load_case(name))


def test_a_case_may_be_made_from_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    case = viva.Case(
        name="made",
        file=tmp_path / "made.yaml",
        hash="",
        task_description="Talk.",
        scoring_points=(viva.ScoringPoint("p", "It speaks.", 1.0, "assert rounds"),),
        script=(viva.ScriptLine("Say {n}.", first=1, last=3),),
    )
    run = viva.examine(case, Parrot, sandbox="process")
    assert (run.score, len(run.transcript.rounds)) == (1.0, 3)
    assert viva.judge(run, sandbox="process").figures.suite.mean == 1.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"task_description": " "}, "task_description is empty"),
        ({"scoring_points": ()}, "at least one scoring point"),
        ({"scoring_points": (viva.ScoringPoint("p", "x", -1.0),)}, "weight must be a number above 0"),
        ({"scoring_points": (viva.ScoringPoint("p", "x", 1.0, "# nothing"),)}, "checks nothing"),
        ({"scoring_points": (viva.ScoringPoint("p", "x", 1.0, "def"),)}, "does not compile"),
        ({"scoring_points": (viva.ScoringPoint("p", "x", 1.0), viva.ScoringPoint("p", "y", 1.0))}, "the same id"),
        ({"data_files": ("../secret",)}, "data file"),
        ({"max_rounds": 0}, "max_rounds"),
        ({"name": ""}, "no name"),
    ],
)
def test_a_made_case_is_checked_as_a_file_is(write_case: CaseMaker, change: dict[str, object], words: str) -> None:
    case = replace(viva.load_case(write_case()), **change)  # type: ignore[arg-type]
    with pytest.raises(viva.CaseError, match=words):
        viva.examine(case, Parrot, sandbox="process")


@pytest.mark.parametrize(
    ("values", "named", "words"),
    [
        (("a", "Ask for tea.", ["It brings tea."]), {}, "give task_description=, script= and scoring_points= by name"),
        (("a", "Ask for tea."), {"scoring_points": ["It brings tea."]}, "file must be the path of a YAML file"),
        (("a",), {"script": ["Hi."], "scoring_points": ["x"], "for_each": "rows.csv"}, "make a Case of each row"),
    ],
)
def test_what_is_given_for_another_field_is_a_mistake(values: Any, named: dict[str, Any], words: str) -> None:
    with pytest.raises(viva.CaseError, match=words):
        viva.Case(*values, **named)


def test_two_cases_of_one_name_are_refused(write_case: CaseMaker) -> None:
    case = viva.load_case(write_case())
    with pytest.raises(viva.SetupError, match="two cases are called 'exam'"):
        viva.run_suite([replace(case, max_rounds=1), replace(case, max_rounds=2)], Parrot)
    with pytest.raises(viva.SetupError, match="two cases are called 'exam'"):
        viva.run_suite([case, replace(case, max_rounds=2)], Parrot)

"""`viva cases lint` finds what is wrong with a case, and nothing where nothing is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.viva.conftest import Desk
from tests.viva.lint.planted import PLANTED, Planted


def lint(desk: Desk, *words: str | Path, expect: int | None = None) -> dict[str, Any]:
    done = desk.viva("cases", "lint", *words, "--sandbox", "process", "--json", expect=expect)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def linted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    desk = Desk(tmp_path_factory.mktemp("lint"))
    for each in PLANTED:
        each.write(desk.folder / "planted", planted=True)
        each.write(desk.folder / "sound", planted=False)
    found = lint(desk, "planted", "sound", "--strict", expect=1)
    return {case["file"]: case for case in found["cases"]}


@pytest.mark.parametrize("each", PLANTED, ids=lambda each: each.name)
def test_each_planted_defect_is_found_and_nothing_else(linted: dict[str, Any], each: Planted) -> None:
    found = linted[f"planted/{each.name}/case.yaml"]
    assert not found["failed"]
    problems = [one for one in found["findings"] if not one["note"]]
    assert [(one["kind"], one["point"]) for one in problems] == [(each.kind, each.point)], problems
    assert each.words in problems[0]["message"]
    assert problems[0]["line"] > 0
    assert problems[0]["advice"]
    assert problems[0]["by"] == "code"


@pytest.mark.parametrize("each", PLANTED, ids=lambda each: each.name)
def test_the_same_case_without_the_defect_has_no_finding(linted: dict[str, Any], each: Planted) -> None:
    found = linted[f"sound/{each.name}/case.yaml"]
    assert not found["failed"]
    assert [one for one in found["findings"] if not one["note"]] == []

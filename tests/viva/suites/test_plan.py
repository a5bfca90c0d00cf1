"""The cases of a stored plan are found where they are now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from viva.cases import CaseError
from viva.errors import SetupError
from viva.journal.writer import run_id
from viva.suites.plan import find_plan_cases, planned_runs
from viva.suites.request import SuiteRequest


def test_a_bundled_case_of_an_earlier_installation_is_found_by_its_name(tmp_path: Path) -> None:
    for path in (tmp_path / "site-packages/cases/echo", tmp_path / "site-packages/cases/echo/case.yaml"):
        (case,) = find_plan_cases(SuiteRequest(command="run", paths=(str(path),)))
        assert case.name == "echo"


@pytest.mark.parametrize("path", ["site-packages/cases/no_such", "mine/echo"])
def test_other_cases_that_are_gone_are_named(tmp_path: Path, path: str) -> None:
    with pytest.raises(CaseError, match=path.rpartition("/")[2]):
        find_plan_cases(SuiteRequest(command="run", paths=(str(tmp_path / path),)))


def test_two_runs_whose_ids_collide_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text(
        'cases:\n  one: {for_each: [{id: 1}, {id: 2}], script: [Hi.], scoring_points: ["It is {{ id }}."]}\n'
    )
    request = SuiteRequest(command="suite", paths=(str(tmp_path / "a.yaml"),), agents=("a.py:A",))
    cases = find_plan_cases(request)
    assert len({header.id for header, _ in planned_runs(request, cases)}) == 2
    monkeypatch.setattr("viva.suites.plan.run_id", lambda *words: "same")
    with pytest.raises(SetupError, match=r"a#one\[1\] by a.py:A, trial 1 and a#one\[2\] by a.py:A, trial 1. Rename"):
        list(planned_runs(request, cases))


def test_the_ids_of_rows_are_long_enough_for_many(tmp_path: Path) -> None:
    assert re.fullmatch(r"a-one-1-[0-9a-f]{12}", run_id("a#one[1]", "a.py:A"))
    assert re.fullmatch(r"a-one-[0-9a-f]{8}", run_id("a#one", "a.py:A"))

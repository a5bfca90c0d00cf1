"""The cases of a stored plan are found where they are now."""

from __future__ import annotations

from pathlib import Path

import pytest

from viva.cases import CaseError
from viva.suites.plan import find_plan_cases
from viva.suites.request import SuiteRequest


def test_a_bundled_case_of_an_earlier_installation_is_found_by_its_name(tmp_path: Path) -> None:
    for path in (tmp_path / "site-packages/cases/echo", tmp_path / "site-packages/cases/echo/case.yaml"):
        (case,) = find_plan_cases(SuiteRequest(command="run", paths=(str(path),)))
        assert case.name == "echo"


@pytest.mark.parametrize("path", ["site-packages/cases/no_such", "mine/echo"])
def test_other_cases_that_are_gone_are_named(tmp_path: Path, path: str) -> None:
    with pytest.raises(CaseError, match=path.rpartition("/")[2]):
        find_plan_cases(SuiteRequest(command="run", paths=(str(tmp_path / path),)))

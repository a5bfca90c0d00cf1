"""Every module of the layouts before the package `viva` has a present name."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from viva.plugins.old_names import new_name
from viva.plugins.renamed_modules import RENAMED

OLD = (Path(__file__).parent / "old_modules.txt").read_text().split()
"""The modules of the first published layout, and of the last one before everything was inside one package."""


def test_every_old_module_has_a_present_name_that_exists() -> None:
    assert len(OLD) > 250
    found = {old: new_name(old) for old in OLD}
    assert [old for old, now in found.items() if now is None or find_spec(now) is None] == []


def test_the_table_names_old_modules_only() -> None:
    assert set(RENAMED) <= set(OLD)


@pytest.mark.parametrize(
    ("old", "now"),
    [
        ("harness.reports.suite_console", "viva.reports.console.suite"),
        ("harness.figures.summary", "viva.statistics.summary"),
        ("harness.suites.run", "viva.suites.suite"),
        ("records.protocols", "viva.records.evaluator"),
        ("adapters.model_client", "viva.models.client"),
        ("harness", "viva"),
        ("harness.no_such_module", None),
        ("pandas.core", None),
    ],
)
def test_an_old_name_is_told_the_new_one(old: str, now: str | None) -> None:
    assert new_name(old) == now

"""What a case may ask for its checks: any limit up to a maximum, and every mistake with its line."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from viva.cases import Case, CaseError, CheckLimits, load_case
from viva.cases.check_limits import ALLOWED
from viva.records.codec import decode, encode, loads

CASE = """\
task_description: Count the words.
scoring_points:
  - score_point: The count is right.
    weight: 1
    eval_code: assert rounds
check_limits:
"""


def load(folder: Path, *limits: str) -> Case:
    (folder / "case.yaml").write_text(CASE + "".join(f"  {line}\n" for line in limits))
    return load_case(folder)


def test_a_case_sets_the_limits_that_it_names_and_no_others(tmp_path: Path) -> None:
    case = load(tmp_path, "seconds: 90.5", "memory_mb: 1024", "processes: 8")
    assert case.check_limits == CheckLimits(seconds=90.5, memory_mb=1024, processes=8)
    assert decode(Case, loads(encode(case))) == case, "a journal keeps them"


def test_an_empty_mapping_sets_nothing(tmp_path: Path) -> None:
    assert load(tmp_path).check_limits == CheckLimits()


@pytest.mark.parametrize("field", fields(CheckLimits), ids=lambda field: str(field.name))
def test_no_case_can_ask_for_more_than_the_maximum_or_less_than_the_minimum(tmp_path: Path, field: object) -> None:
    name, allowed = field.name, field.metadata[ALLOWED]  # type: ignore[attr-defined]
    for value in (allowed.minimum, allowed.maximum):
        assert getattr(load(tmp_path, f"{name}: {value}").check_limits, name) == value
    for value in (allowed.minimum - 1, allowed.maximum + 1, 10**15, -1, ".inf", ".nan", "true", "'512'", "[1]"):
        with pytest.raises(CaseError) as caught:
            load(tmp_path, "", f"{name}: {value}")
        (mistake,) = caught.value.mistakes
        assert mistake.line == 8
        assert mistake.message.startswith(f"{name} must be {allowed}, not ")
    assert f"from {allowed.minimum} to {allowed.maximum}" in str(caught.value)


def test_part_of_a_number_is_allowed_for_seconds_only(tmp_path: Path) -> None:
    assert load(tmp_path, "seconds: 2.5").check_limits.seconds == 2.5
    with pytest.raises(CaseError, match=r"memory_mb must be a whole number from 32 to 2048, not 512\.5"):
        load(tmp_path, "memory_mb: 512.5")


def test_unknown_limits_are_reported_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(CaseError) as caught:
        load(tmp_path, "seconds: 5", "memory: 512", "cpu_seconds: 5")
    assert [(mistake.line, mistake.message) for mistake in caught.value.mistakes] == [
        (8, "unknown key 'memory'; did you mean 'memory_mb'?"),
        (9, "unknown key 'cpu_seconds'; did you mean 'seconds'?"),
    ]


@pytest.mark.parametrize("value", ["30", "[seconds]", "much"])
def test_limits_that_are_no_mapping_are_reported(tmp_path: Path, value: str) -> None:
    (tmp_path / "case.yaml").write_text(CASE.replace("check_limits:", f"check_limits: {value}"))
    with pytest.raises(CaseError, match=r":6: check_limits must be a mapping, not "):
        load_case(tmp_path)

"""Corrected scores take a point whose requirement people call a miss for a miss, as exams do."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.viva.conftest import Desk
from viva.cases import Case, load_case
from viva.journal.reader import read_runs
from viva.judge.calibration.label_files import SAMPLE, HumanLabel
from viva.statistics.corrected.requirements import under_requirements
from viva.statistics.corrected.truths import truths_about, truths_of

POINTS = [
    {"score_point": "It greets.", "id": "greets", "weight": 1, "eval_code": "assert False"},
    {"score_point": "It is kind.", "id": "kind", "weight": 1, "eval_code": "assert rounds", "require": ["greets"]},
    {"score_point": "It sings.", "id": "sings", "weight": 1, "eval_code": "assert rounds", "require": ["kind"]},
]


@pytest.fixture
def case(desk: Desk) -> Case:
    return load_case(desk.folder / desk.case(scoring_points=POINTS))


@pytest.mark.parametrize(
    ("said", "truths"),
    [
        ((True, True, True), (True, True, True)),
        ((False, True, True), (False, False, False)),
        ((True, False, True), (True, False, False)),
        ((None, True, False), (None, None, False)),
        ((None, False, True), (None, False, False)),
    ],
)
def test_a_point_is_a_hit_only_if_all_that_it_requires_is_one(
    case: Case, said: tuple[bool | None, ...], truths: tuple[bool | None, ...]
) -> None:
    names = ("greets", "kind", "sings")
    assert under_requirements(case, dict(zip(names, said, strict=True))) == dict(zip(names, truths, strict=True))


@pytest.mark.parametrize("said", [{"kind": True, "sings": True}, {"kind": False, "sings": False}])
def test_points_without_a_label_on_what_they_require_are_left_out_whatever_they_are(
    case: Case, said: Mapping[str, bool | None]
) -> None:
    assert under_requirements(case, {**said, "of no case": True}) == {"of no case": True}


def label(run: str, criterion: str, said: str, chosen: str = "random") -> HumanLabel:
    return HumanLabel("ann", run, criterion, said, chosen=chosen)


def test_a_label_that_was_not_chosen_at_random_tells_about_a_requirement_and_what_is_left_out_is_counted(
    case: Case,
) -> None:
    labels = [
        label("one", "greets", "miss", SAMPLE),
        label("one", "kind", "hit"),
        label("two", "kind", "hit"),
    ]
    found = truths_of(labels, cases={"one": case, "two": case})
    assert found.points == {"one": {"kind": False}}
    assert (found.set_aside, found.unfounded) == (1, 1)
    assert "1 labelled point that requires a point without a label: not used" in found.notes()


def test_the_requirements_are_those_of_the_stored_case(desk: Desk) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): return 'La la.'")
    case = desk.case(scoring_points=POINTS)
    desk.viva("suite", case, "--agent", agent, "--sandbox", "process", "--out", "journal", expect=0)
    (run,) = read_runs(desk.folder / "journal")
    labels = [label(run.id, "greets", "miss"), label(run.id, "kind", "hit"), label(run.id, "sings", "hit")]
    found = truths_about(labels, lambda names: read_runs(desk.folder / "journal", wanted=names.__contains__))
    assert found.points == {run.id: {"greets": False, "kind": False, "sings": False}}

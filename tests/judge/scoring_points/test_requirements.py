"""Scoring points that require others: an unmet requirement is a miss that nobody judges."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ModelAt
from tests.model_server import ModelServer, Request, said_by, verdict
from viva.cases import Case, ScoringPoint
from viva.cases.case import PointGroup
from viva.cases.points.requirements import stages
from viva.judge import ScoringPointsEvaluator
from viva.records.evaluator import Context
from viva.records.transcript import Round, Transcript
from viva.records.verdict import Insight
from viva.sandbox.choice import choose

TALK = Transcript((Round(1, "Please write it.", "I wrote it, and it has 3 tests."),))
A = ScoringPoint("a", "It writes a program.", 1.0)
B = ScoringPoint("b", "The program has tests.", 1.0, require=("a",))
C = ScoringPoint("c", "The tests pass.", 2.0, require=("b",))


def case(*points: ScoringPoint, groups: tuple[PointGroup, ...] = ()) -> Case:
    return Case("case", Path("case.yaml"), "0" * 64, "Ask for a program.", points, point_groups=groups)


async def judged(model_at: ModelAt, labels: dict[str, str], case_: Case) -> tuple[Insight, list[str]]:
    asked: list[str] = []

    def play(request: Request) -> str:
        question = said_by("user", request)[0]
        point = next(point for point in case_.scoring_points if point.score_point in question)
        asked.append(point.id)
        return verdict(labels[point.id], "It is so.", {"round": 1, "quote": "I wrote it"})

    with ModelServer({"m": play}) as server:
        insight = await ScoringPointsEvaluator("code", None, model_at(server.url)).evaluate(TALK, Context("run", case_))
    return insight, asked


async def test_what_requires_a_miss_is_a_miss_and_is_not_asked(model_at: ModelAt) -> None:
    insight, asked = await judged(model_at, {"a": "miss", "b": "hit", "c": "hit"}, case(C, A, B))
    assert asked == ["a"]
    assert [(each.criterion, each.label) for each in insight.verdicts] == [("c", "miss"), ("a", "miss"), ("b", "miss")]
    c, _, b = insight.verdicts
    assert b.reason == "requires “It writes a program.”, which is a miss"
    assert c.reason == "requires “The program has tests.”, which is a miss"
    assert (b.by, b.flags, b.score) == ("rule", ("requirement-unmet",), 0.0)
    assert insight.score == 0


async def test_requirements_that_are_met_change_nothing(model_at: ModelAt) -> None:
    insight, asked = await judged(model_at, {"a": "hit", "b": "hit", "c": "miss"}, case(A, B, C))
    assert asked == ["a", "b", "c"]
    assert [each.label for each in insight.verdicts] == ["hit", "hit", "miss"]
    assert all(not each.flags for each in insight.verdicts)
    assert insight.usage.calls == 3


async def test_a_hit_that_requires_what_is_open_is_open_and_a_miss_stays_one(model_at: ModelAt) -> None:
    insight, asked = await judged(model_at, {"a": "unsure", "b": "hit", "c": "miss"}, case(A, B, C))
    assert asked == ["a", "b", "c"]
    assert [each.label for each in insight.verdicts] == ["unsure", "unsure", "miss"]
    assert insight.verdicts[1].flags == ("requirement-open",)
    assert insight.verdicts[1].reason.endswith("[It requires “It writes a program.”, which is unsure.]")
    assert (insight.low, insight.high) == (0, 0.5)


async def test_a_group_is_met_when_all_its_points_are(model_at: ModelAt) -> None:
    points = (
        ScoringPoint("x", "It has a name.", 1.0, path=("g",)),
        ScoringPoint("y", "It has a licence.", 1.0, path=("g",)),
        ScoringPoint("z", "It is published.", 1.0, require=("g",)),
    )
    tree = case(*points, groups=(PointGroup("g", "It is ready."),))
    insight, asked = await judged(model_at, {"x": "hit", "y": "miss", "z": "hit"}, tree)
    assert sorted(asked) == ["x", "y"]
    assert insight.verdicts[2].reason == "requires “It has a licence.”, which is a miss"
    insight, asked = await judged(model_at, {"x": "hit", "y": "hit", "z": "hit"}, tree)
    assert sorted(asked) == ["x", "y", "z"]


async def test_a_check_whose_requirement_is_unmet_does_not_run() -> None:
    points = (
        ScoringPoint("a", "It is long.", 1.0, "assert len(rounds) > 5"),
        ScoringPoint("b", "It is broken.", 1.0, "a_name_that_does_not_exist", require=("a",)),
    )
    sandbox = (await choose("process")).sandbox
    try:
        insight = await ScoringPointsEvaluator("code", sandbox, None).evaluate(TALK, Context("run", case(*points)))
    finally:
        await sandbox.close()
    assert [each.label for each in insight.verdicts] == ["miss", "miss"]
    assert insight.verdicts[1].flags == ("requirement-unmet",)


def test_stages_are_as_few_as_they_can_be() -> None:
    wide = [ScoringPoint(f"w{n}", f"{n}.", 1.0, require=("a",)) for n in range(5)]
    assert [len(stage) for stage in stages(case(*wide, A, B, C))] == [1, 6, 1]
    assert stages(case(A)) == [(A,)]


@pytest.mark.parametrize("require", [("nobody",), ("b",)])
async def test_a_stored_case_that_requires_nonsense_still_has_one_verdict_for_each_point(
    require: tuple[str, ...], model_at: ModelAt
) -> None:
    a, b = ScoringPoint("a", "It writes.", 1.0, require=require), ScoringPoint("b", "It reads.", 1.0, require=("a",))
    insight, _ = await judged(model_at, {"a": "hit", "b": "hit"}, case(a, b))
    assert [each.criterion for each in insight.verdicts] == ["a", "b"]
    assert [each.label for each in insight.verdicts] == ["hit", "hit"]

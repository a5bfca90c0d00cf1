"""Points that only a call seen by the environment can earn: `shown: environment`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import ModelAt
from tests.model_server import ModelServer, Request, sequence, verdict
from viva.cases import Case, ScoringPoint, load_case
from viva.judge import ScoringPointsEvaluator
from viva.judge.scoring_points.layers import layer_of
from viva.records.evaluator import Context
from viva.records.transcript import Round, Step, Transcript
from viva.records.verdict import Verdict

CALLED = Step(
    "environment:1", tool="book_room", tool_input={"day": "Monday"}, result="booked B12", recorded_by="environment"
)
CLAIMED = Step("s1", tool="book_room", tool_input={"day": "Monday"}, result="booked B12")
BOOKED = {"round": 1, "quote": "booked B12"}
WORDS = {"round": 1, "quote": "I have booked B12"}


def talk(*steps: Step, said: str = "I have booked B12.") -> Transcript:
    return Transcript((Round(1, "Book a room.", said, steps),), attributes={"mcp_servers": {"rooms": ["book_room"]}})


async def judged(
    model_at: ModelAt, transcript: Transcript, *answers: str, shown: str | None = "environment"
) -> tuple[Verdict, Sequence[Request]]:
    point = ScoringPoint("p", "The agent books a room.", 1.0, shown=shown)
    case = Case("case", Path("case.yaml"), "0" * 64, "Ask to book a room.", (point,))
    with ModelServer({"m": sequence(*answers, then=answers[-1])}) as server:
        evaluator = ScoringPointsEvaluator("model", None, model_at(server.url))
        insight = await evaluator.evaluate(transcript, Context("run", case))
        requests = [each.body for each in server.requests]
    (one,) = insight.verdicts
    return one, requests


def hit(*quotes: dict[str, object]) -> str:
    return verdict("hit", "It does so.", *quotes)


@pytest.mark.parametrize("transcript", [talk(CALLED), talk(CALLED, said="Hm."), talk(CLAIMED, CALLED)])
async def test_a_call_that_was_recorded_earns_the_point_also_where_the_agent_says_nothing(
    transcript: Transcript, model_at: ModelAt
) -> None:
    one, _ = await judged(model_at, transcript, hit(BOOKED))
    assert (one.label, layer_of(one)) == ("hit", "environment")


@pytest.mark.parametrize(
    "transcript",
    [talk(), talk(CLAIMED), talk(replace(CALLED, recorded_by="agent"))],
    ids=["in words", "in a step of its own", "in a step with the environment's id"],
)
async def test_a_call_that_only_the_agent_claims_earns_nothing_whatever_the_judge_says(
    transcript: Transcript, model_at: ModelAt
) -> None:
    one, requests = await judged(model_at, transcript, hit(WORDS), hit(WORDS, BOOKED), hit(BOOKED), hit(WORDS))
    assert one.label == "unsure"
    assert one.score is None
    assert layer_of(one) is None
    assert any("recorded by the environment" in json.dumps(each["messages"][-1]) for each in requests[1:])


async def test_an_error_of_the_server_shows_the_error_and_no_success(model_at: ModelAt) -> None:
    refused = replace(CALLED, result=None, error="no room is free")
    one, _ = await judged(model_at, talk(refused), hit({"round": 1, "quote": "no room is free"}))
    assert one.label == "hit"
    one, _ = await judged(model_at, talk(refused), hit({"round": 1, "quote": "tool: book_room"}))
    assert one.label == "unsure"


async def test_the_judge_is_told_what_the_environment_recorded_only_where_it_recorded(model_at: ModelAt) -> None:
    for transcript, seen, offered in [
        (talk(), True, True),
        (replace(talk(CALLED), attributes={}), True, False),
        (replace(talk(CLAIMED), attributes={}), False, False),
        (replace(talk(CLAIMED), source="chat"), False, False),
    ]:
        _, requests = await judged(model_at, transcript, hit(WORDS), shown=None)
        asked = requests[0]["messages"][-1]["content"]
        assert ("took place as it is shown: Viva saw it" in asked) is seen
        assert ("every call of the tools that this exam offered (book_room)" in asked) is offered


async def test_a_hit_that_rests_on_words_names_the_recorded_step_with_the_same_words(model_at: ModelAt) -> None:
    one, _ = await judged(model_at, talk(CLAIMED, CALLED), hit(BOOKED), shown=None)
    assert [each.where for each in one.evidence] == ["r1", "s1", "environment:1"]


def test_a_case_file_can_require_it(tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    file.write_text(
        "task_description: t\nscoring_points:\n  - {score_point: It books., weight: 1, shown: environment}\n"
    )
    (point,) = load_case(tmp_path).scoring_points
    assert point.shown == "environment"

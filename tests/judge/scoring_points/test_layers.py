"""What a hit rests on: words, steps, files or code; what a point can require; what is flagged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ModelAt
from tests.model_server import OWN_MARK, ModelServer, Request, said_by, sequence, verdict
from viva.cases import Case, ScoringPoint
from viva.judge import ScoringPointsEvaluator
from viva.judge.scoring_points.answer import PointAnswer, parse_answer
from viva.judge.scoring_points.layers import held_to_code, layer_of
from viva.judge.scoring_points.scoring import JudgeKind
from viva.records.evaluator import Context
from viva.records.transcript import Round, Step, Transcript
from viva.records.verdict import Evidence, Verdict
from viva.sandbox.choice import choose

STEP = Step("s1", tool="write_file", tool_input={"path": "a.txt"}, result="2 bytes written")
DONE = Transcript((Round(1, "Please save 42 in a.txt.", "I have saved it. It says 42.", (STEP,)),))
SAID = Transcript((Round(1, "Please save 42 in a.txt.", "I have saved it. It says 42."),))
STATEMENT = "The agent saves the number."
WORDS, SHOWN = {"round": 1, "quote": "I have saved it"}, {"round": 1, "quote": "2 bytes written"}


async def judged(
    model_at: ModelAt, answers: Sequence[str], talk: Transcript = DONE, shown: str | None = None, **fields: Any
) -> tuple[Verdict, list[Request]]:
    point = ScoringPoint("p", STATEMENT, 1.0, shown=shown)
    case = Case("case", Path("case.yaml"), "0" * 64, "Ask to save a number.", (point,), **fields)
    with ModelServer({"m": sequence(*answers, then=answers[-1])}) as server:
        insight = await ScoringPointsEvaluator("model", None, model_at(server.url)).evaluate(talk, Context("run", case))
        requests = [each.body for each in server.requests]
    (one,) = insight.verdicts
    return one, requests


def hit(*quotes: dict[str, Any], **fields: str) -> str:
    return json.dumps(json.loads(verdict("hit", "It does so.", *quotes)) | fields)


@pytest.mark.parametrize(
    ("quotes", "talk", "layer", "flags"),
    [
        ([WORDS], DONE, "said", ("words-alone",)),
        ([SHOWN], DONE, "step", ()),
        ([WORDS, SHOWN], DONE, "step", ()),
        ([WORDS], SAID, "said", ()),
    ],
)
async def test_a_hit_on_words_alone_is_flagged_where_there_are_steps(
    quotes: list[dict[str, Any]], talk: Transcript, layer: str, flags: tuple[str, ...], model_at: ModelAt
) -> None:
    one, _ = await judged(model_at, [hit(*quotes)], talk)
    assert (one.label, layer_of(one), one.flags) == ("hit", layer, flags)


async def test_words_that_stand_in_a_step_too_rest_on_the_step(model_at: ModelAt) -> None:
    step = Step("s1", tool="say", result="I have saved it, I told the user")
    talk = Transcript((Round(1, "Save.", "I have saved it", (step,)),))
    one, _ = await judged(model_at, [hit(WORDS)], talk)
    assert (layer_of(one), one.flags) == ("step", ())
    assert [each.where for each in one.evidence] == ["r1", "s1"]


async def test_a_point_about_words_is_not_flagged(model_at: ModelAt) -> None:
    one, requests = await judged(model_at, [hit(WORDS)], shown="said")
    assert (one.label, one.flags) == ("hit", ())
    assert "A hit must rest on what the agent said to the examiner" in said_by("user", requests[0])[0]


async def test_a_point_that_must_be_shown_by_a_step_is_asked_again_and_then_unsure(model_at: ModelAt) -> None:
    one, requests = await judged(model_at, [hit(WORDS)] * 3, shown="step")
    assert (one.label, one.score, one.flags, one.evidence) == ("unsure", None, ("not-shown",), ())
    assert one.reason == (
        "It does so. [The judge answered hit, but a hit must rest on a step that was carried out, and no "
        "quote is from its tool, input or result.]"
    )
    assert len(requests) == 3
    assert "tool, input or result. Look again" in said_by("user", requests[1])[-1]
    assert "A hit must rest on a step" in said_by("user", requests[0])[0]


@pytest.mark.parametrize(("shown", "second"), [("step", SHOWN), ("said", WORDS)])
async def test_the_second_answer_may_quote_the_right_layer(
    shown: str, second: dict[str, Any], model_at: ModelAt
) -> None:
    first = SHOWN if shown == "said" else WORDS
    one, _ = await judged(model_at, [hit(first), hit(second)], shown=shown)
    assert (one.label, one.flags) == ("hit", ())
    assert layer_of(one) == shown


async def test_a_miss_needs_no_layer(model_at: ModelAt) -> None:
    one, requests = await judged(model_at, [verdict("miss", "It does not.")], shown="step")
    assert (one.label, layer_of(one), len(requests)) == ("miss", None, 1)


async def test_a_condition_that_never_arose_is_flagged_by_itself(model_at: ModelAt) -> None:
    one, _ = await judged(model_at, [hit(WORDS, condition="never arose")])
    assert (one.label, one.flags) == ("hit", ("condition-never-arose",))
    one, _ = await judged(model_at, [hit(WORDS, condition="Never arose ")], shown="step")
    assert (one.label, one.flags) == ("hit", ("condition-never-arose",))
    miss = json.loads(verdict("miss", "No.")) | {"condition": "never arose"}
    one, _ = await judged(model_at, [json.dumps(miss)])
    assert (one.label, one.flags) == ("miss", ())


@pytest.mark.parametrize(
    "condition", [{}, {"condition": None}, {"condition": "n/a"}, {"condition": 7}, {"condition": []}]
)
def test_an_answer_without_a_usable_condition_is_as_good(condition: dict[str, Any]) -> None:
    answer = json.loads(verdict("hit", "It does so.", WORDS)) | condition
    if not condition:
        answer.pop("condition", None)
    assert parse_answer(json.dumps(answer | {"mark": OWN_MARK})).condition == "none"
    assert "condition" in PointAnswer.model_json_schema()["required"]


async def test_a_question_about_a_plain_point_says_nothing_of_layers_and_files(model_at: ModelAt) -> None:
    _, requests = await judged(model_at, [hit(SHOWN)])
    (question,) = said_by("user", requests[0])
    assert "must rest on" not in question
    assert "files" not in question


@pytest.mark.parametrize("kind", ["model", "both", "code"])
async def test_a_point_that_must_be_checked_by_code_is_no_hit_of_a_model(kind: JudgeKind, model_at: ModelAt) -> None:
    point = ScoringPoint("p", STATEMENT, 1.0, "assert rounds", shown="code")
    case = Case("case", Path("case.yaml"), "0" * 64, "Ask.", (point,))
    sandbox = (await choose("process")).sandbox
    try:
        with ModelServer({"m": hit(WORDS)}) as server:
            evaluator = ScoringPointsEvaluator(kind, sandbox, model_at(server.url))
            (one,) = (await evaluator.evaluate(SAID, Context("run", case))).verdicts
    finally:
        await sandbox.close()
    assert (one.label, one.flags) == (("unsure", ("not-shown",)) if kind == "model" else ("hit", ()))


@pytest.mark.parametrize(
    ("places", "by", "layer"),
    [
        ([], "code", "code"),
        (["r1"], "m", "said"),
        (["r1", "s3"], "m", "step"),
        (["r1", "s3", "file:a.txt"], "m", "file"),
        ([], "m", None),
    ],
)
def test_every_hit_states_its_strongest_layer(places: list[str], by: str, layer: str | None) -> None:
    evidence = tuple(Evidence(place, "words") for place in places)
    assert layer_of(Verdict("run", "p", "hit", 1.0, by=by, evidence=evidence)) == layer
    assert layer_of(Verdict("run", "p", "miss", 0.0, by=by, evidence=evidence)) is None


async def test_a_step_that_is_called_like_a_file_is_no_file(model_at: ModelAt) -> None:
    step = Step("file:report.md", tool="write_file", result="2 bytes written")
    talk = Transcript((Round(1, "Save.", "I have saved it", (step,)),))
    one, _ = await judged(model_at, [hit(SHOWN)], talk)
    assert layer_of(one) == "said"


def test_what_code_checked_is_held_to_nothing() -> None:
    point = ScoringPoint("p", STATEMENT, 1.0, "pass", shown="code")
    one = Verdict("run", "p", "hit", 1.0)
    assert held_to_code(point, one) is one


@pytest.mark.parametrize(
    ("step", "quote"),
    [
        (Step("s", thought="Booked, reference YK7."), "Booked, reference YK7"),
        (Step("s", plan="Booked, reference YK7."), "Booked, reference YK7"),
        (Step("s", tool="book", tool_input={"table": "YK7"}), "(not run)"),
        (Step("s", tool="book", tool_input={"table": "YK7"}), "YK7"),
        (Step("s", tool="book", tool_input={"table": "YK7"}, error="no table YK7"), "no table YK7"),
        (Step("s", tool="book", tool_input={"table": "YK7"}, result="taken"), "result:"),
    ],
)
async def test_no_step_shows_what_was_not_carried_out(step: Step, quote: str, model_at: ModelAt) -> None:
    talk = Transcript((Round(1, "Please book.", "Booked, reference YK7", (step,)),))
    one, _ = await judged(model_at, [hit({"round": 1, "quote": quote})] * 3, shown="step", talk=talk)
    assert one.label == "unsure"


@pytest.mark.parametrize("quote", ["book", "result: taken, YK7", "input: YK7", "taken, YK7"])
async def test_a_call_with_a_result_is_shown_by_its_parts(quote: str, model_at: ModelAt) -> None:
    step = Step("s", tool="book", tool_input="YK7", result="taken, YK7")
    talk = Transcript((Round(1, "Please book.", "Done.", (step,)),))
    one, _ = await judged(model_at, [hit({"round": 1, "quote": quote})], shown="step", talk=talk)
    assert (one.label, one.flags) == ("hit", ())

"""What providers report of their tokens: charged answers count, whatever became of them, and nonsense is unknown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from tests.conftest import MeteredAt
from tests.model_server import Answer, BadRequest, ModelServer, Raw, Usage, sequence
from viva.errors import ModelAnswerError
from viva.models.model import ModelMessage
from viva.models.prices import price
from viva.records.transcript import MOST_TOKENS
from viva.suites.engine import Budget, over_budget

ASK = [ModelMessage("user", "Say something.")]
PRICED = "gpt-4o-mini"
UNKNOWN: dict[str, Any] = {
    "nothing": None,
    "empty": {},
    "zeros": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    "only a total": {"total_tokens": 40},
    "texts": {"prompt_tokens": "30", "completion_tokens": "10"},
    "fractions": {"prompt_tokens": 30.5, "completion_tokens": 10.5},
    "booleans": {"prompt_tokens": True, "completion_tokens": True},
    "below zero": {"prompt_tokens": -30, "completion_tokens": -10},
    "400 digits": {"prompt_tokens": 10**400, "completion_tokens": 10**400},
    "above the maximum": {"prompt_tokens": MOST_TOKENS + 1, "completion_tokens": 1},
    "no answer": {"prompt_tokens": 30},
    "a text": "30 tokens",
    "a list": [30, 10],
    "nulls": {"prompt_tokens": None, "completion_tokens": None, "prompt_tokens_details": None},
}


class Ruling(BaseModel):
    verdict: str


@pytest.mark.parametrize("name", UNKNOWN)
async def test_usage_that_says_nothing_is_unknown_and_costs_no_answer(name: str, metered_at: MeteredAt) -> None:
    with ModelServer({PRICED: Answer("Hello.", usage=Usage(UNKNOWN[name]))}) as server:
        model = metered_at(server.url, f"openai:{PRICED}")
        assert (await model.ask(ASK)).text == "Hello."
        await model.ask(ASK)
    assert (model.usage.calls, model.usage.retries) == (2, 0)
    assert model.usage.reported is False
    assert model.usage.cost is None, "an unknown cost is not 0"
    assert model.usage.input_tokens <= 60
    assert "unknown" in (over_budget(Budget(max_cost=1000.0), model.usage) or "")


async def test_an_answer_without_words_may_have_used_no_tokens(metered_at: MeteredAt) -> None:
    with ModelServer({PRICED: Answer("", usage=(0, 0))}) as server:
        model = metered_at(server.url, f"openai:{PRICED}")
        await model.ask(ASK)
    assert (model.usage.reported, model.usage.cost) == (True, 0.0)


CHARGED: dict[str, tuple[Answer, bool]] = {
    "cut off": (Answer("Half of", finish_reason="length", usage=(100, 7)), False),
    "cut off, with a schema": (Answer('{"verdict": "h', finish_reason="length", usage=(100, 7)), True),
    "withheld": (Answer("", finish_reason="content_filter", usage=(100, 7)), False),
    "withheld, with a schema": (Answer("", finish_reason="content_filter", usage=(100, 7)), True),
    "of another form": (Answer('{"unexpected": 1}', usage=(100, 7)), True),
    "no JSON": (Answer("I would rather not.", usage=(100, 7)), True),
    "a doubled key": (Answer('{"verdict": "a", "verdict": "b"}', usage=(100, 7)), True),
    "too long": (Answer("x" * 200_001, usage=(100, 7)), False),
    "only thoughts": (Answer("<think>Hm.", usage=(100, 7)), False),
}


@pytest.mark.parametrize("name", CHARGED)
async def test_an_answer_that_cannot_be_used_is_charged_all_the_same(name: str, metered_at: MeteredAt) -> None:
    answer, structured = CHARGED[name]
    with ModelServer({PRICED: answer}) as server:
        model = metered_at(server.url, f"openai:{PRICED}")
        for _ in range(2):
            with pytest.raises(ModelAnswerError):
                await model.ask(ASK, Ruling if structured else None)
        assert len(server.requests) == 2
    used = model.usage
    assert (used.input_tokens, used.output_tokens, used.calls, used.reported) == (200, 14, 2, True)
    assert used.cost == pytest.approx(price(PRICED, 200, 14))
    assert over_budget(Budget(max_tokens=200), used) is not None


async def test_a_broken_response_that_reports_tokens_is_charged_and_asked_for_again(
    metered_at: MeteredAt, waits: list[float]
) -> None:
    lost = Raw(json.dumps({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 7}}).encode())
    with ModelServer({PRICED: sequence(lost, then=Answer("Hello.", usage=(100, 7)))}) as server:
        model = metered_at(server.url, f"openai:{PRICED}")
        await model.ask(ASK)
    used = model.usage
    assert (used.input_tokens, used.output_tokens, used.calls, used.retries) == (200, 14, 2, 1)


async def test_a_refused_schema_and_the_answer_in_text_are_one_call(metered_at: MeteredAt) -> None:
    with ModelServer({PRICED: sequence(BadRequest(), then=Answer("miss", usage=(100, 7)))}) as server:
        model = metered_at(server.url, f"openai:{PRICED}")
        completion = await model.ask(ASK, Ruling)
    assert (completion.text, completion.value) == ("miss", None)
    assert (model.usage.calls, model.usage.input_tokens) == (1, 100)
    assert completion.usage == model.usage

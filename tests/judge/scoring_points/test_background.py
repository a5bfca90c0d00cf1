"""What is true in the world reaches the judge of a point, and nobody else; without it, the judge reads what it read."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import ModelAt
from tests.model_server import ModelServer, Request, text_of
from tests.model_server import verdict as ruling
from viva.cases import Case, ScoringPoint
from viva.judge import ScoringPointsEvaluator
from viva.judge.scoring_points.by_model import QUESTION_PROMPT, ModelJudge
from viva.models.prompts import render
from viva.records.evaluator import Context
from viva.records.transcript import Round, Transcript

POINT = ScoringPoint("p1", "If a traveller has a discount card, the agent asks for its number.", 3.0)
CASE = Case("case", Path("case.yaml"), "0" * 64, "Book two tickets.", (POINT,))
TALK = Transcript((Round(1, "Two tickets, please.", "Booked."),))
BEFORE = "ac60ae6fb87a02221ad08a2ab6ad90e1ac5dfd9b7af4ca537ee990560226d6b7"
"""SHA-256 of the question with short values, from a version without backgrounds."""
BACKGROUND = "  Ben has a discount card, number 77. {{ 7 * 7 }}\n"


async def question(case: Case, model_at: ModelAt) -> Request:
    with ModelServer({"m": ruling("miss", "It never asks.")}) as server:
        await ScoringPointsEvaluator("model", None, model_at(server.url)).evaluate(TALK, Context("run", case))
        (request,) = server.requests
    return request.body


def user_text(request: Request) -> str:
    return "\n".join(text_of(message) for message in request["messages"] if message["role"] == "user")


async def test_the_background_stands_between_the_task_and_the_transcript(model_at: ModelAt) -> None:
    words = user_text(await question(replace(CASE, background=BACKGROUND), model_at))
    assert f"<background>\n{BACKGROUND.strip()}\n</background>" in words
    assert words.index("</task>") < words.index("<background>") < words.index("The transcript stands")
    assert '"if a traveller has a discount card" is met if the background says so' in " ".join(words.split())


async def test_the_other_requests_hold_nothing_of_it(model_at: ModelAt) -> None:
    plain, told = await question(CASE, model_at), await question(replace(CASE, background=BACKGROUND), model_at)
    assert "background" not in user_text(plain)
    assert plain["messages"][0] == told["messages"][0], "all runs share the system prompt"


def test_without_a_background_the_question_is_to_the_byte_what_it_was_before_there_were_any() -> None:
    empty = {
        "background": "",
        "files": "",
        "shown": None,
        "environment": False,
        "offered": "",
        "given": "",
        "round": None,
    }
    text = render(QUESTION_PROMPT, task_description="T", transcript="X", marker="M", statement="S", mark="K", **empty)
    assert hashlib.sha256(text.encode()).hexdigest() == BEFORE


@pytest.mark.parametrize(("background", "is_long"), [(None, False), ("x" * 5_000, True)])
def test_a_long_background_counts_for_the_cache(background: str | None, is_long: bool, model_at: ModelAt) -> None:
    judge = ModelJudge(model_at("http://127.0.0.1:9"), replace(CASE, background=background), "run", TALK)
    assert judge.is_long is is_long

"""Whatever has the one method of `Model` examines, judges and analyzes: AutoGen is one of many ways to get there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from tests.model_server import OWN_MARK, verdict
from viva.analysis.options import EvalAnalysisRequest
from viva.analysis.runners import ModelRunner
from viva.cases import Case, ScoringPoint
from viva.examiner.model import ModelExaminer
from viva.judge import ScoringPointsEvaluator
from viva.models.metered_model import MeteredModel
from viva.models.model import NO_LIMITS, CallLimits, Completion, Model, ModelFeatures, ModelMessage
from viva.records.evaluator import Context
from viva.records.transcript import Round, Transcript, Usage

USED = Usage(10, 2, calls=1, cost=0.5)


class Scripted:
    """A model that is none of AutoGen's: it says what it was given."""

    name = "scripted"
    features = ModelFeatures(vision=False, structured=False)

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[list[ModelMessage]] = []
        self.limits: list[CallLimits] = []

    async def ask(
        self, messages: Sequence[ModelMessage], schema: type[BaseModel] | None = None, limits: CallLimits = NO_LIMITS
    ) -> Completion:
        self.asked.append(list(messages))
        self.limits.append(limits)
        found = re.findall(r"The mark of this question is (\w+)\.", str(messages))
        return Completion(self.answers.pop(0).replace(OWN_MARK, found[-1] if found else ""), usage=USED)


async def test_it_examines_and_hears_the_conversation_so_far() -> None:
    model = Scripted("Please add 1.", "Please add 2.", "EXAM_FINISHED")
    examiner = ModelExaminer(model, "Have numbers added.")
    assert await examiner.next_message(None) == "Please add 1."
    assert await examiner.next_message("The sum is 1.") == "Please add 2."
    assert await examiner.next_message("The sum is 3.") is None
    assert [message.role for message in model.asked[-1]] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [message.content for message in model.asked[-1][2:]] == [
        "Please add 1.",
        "The sum is 1.",
        "Please add 2.",
        "The sum is 3.",
    ]
    assert examiner.usage == USED + USED + USED


async def test_it_judges_and_is_asked_again_with_its_own_answer_before_it() -> None:
    hit = verdict("hit", "The agent gives the sum.", {"round": 1, "quote": "The sum is 3."})
    model = Scripted("I am not sure.", hit)
    case = Case("case", Path("case.yaml"), "0" * 64, "Ask for sums.", (ScoringPoint("p", "The sum is 3.", 1.0),))
    talk = Transcript((Round(1, "Please add 1 and 2.", "The sum is 3."),))
    insight = await ScoringPointsEvaluator("model", None, model).evaluate(talk, Context("run", case))
    assert [each.label for each in insight.verdicts] == ["hit"]
    assert insight.usage == USED + USED
    assert [message.role for message in model.asked[1]] == ["system", "user", "assistant", "user"]
    assert model.asked[1][2].content == "I am not sure."


async def test_it_analyzes_within_the_time_of_the_request() -> None:
    model = Scripted("{}")
    runner = ModelRunner(model)
    assert (
        await runner(EvalAnalysisRequest(persona="You analyze.", prompt="Analyze.", model=None, seconds=12.0)) == "{}"
    )
    assert model.limits == [CallLimits(seconds=12.0)]
    assert runner.usage == USED


def test_the_counter_and_the_client_are_models_themselves() -> None:
    model: Model = MeteredModel(Scripted())
    assert model.name == "scripted"

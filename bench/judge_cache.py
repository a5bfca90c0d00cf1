"""Which share of a model judge's input a provider's prompt cache can serve, by a model that imitates such a cache.

The imitated cache works as OpenAI describes its own (https://platform.openai.com/docs/guides/prompt-caching): the
beginning that a prompt shares with an earlier one is served, from 1,024 tokens on and in parts of 128, once the earlier
one has been answered. A token is counted as four bytes. The schema of the answer, which is sent too, is not counted.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from autogen_core.models import CreateResult, RequestUsage

from bench.stub_model import InstantModel
from bench.stubs import TEXT
from bench.table import Figure
from viva.cases import Case, ScoringPoint
from viva.judge import ScoringPointsEvaluator
from viva.judge.scoring_points.by_model import BYTES_PER_TOKEN
from viva.models.autogen.client import AutoGenModel
from viva.models.client import ModelClient
from viva.records.evaluator import Context
from viva.records.transcript import Round, Transcript
from viva.records.verdict import Insight

FROM, PART = 1_024, 128
"""The shortest prefix that is cached, and its granularity, in tokens."""
ROUNDS = 50
ANSWER = (
    '{"reason": "Nothing of the kind was said.", "evidence": [], '
    '"statement_is": "false", "verdict": "miss", "mark": "%s"}'
)
TASK = "Ask the agent to change a booking, step by step, and to confirm each change before the next one. " * 4
STATEMENT = "In round {} the agent confirms the new date of the booking before it charges anything."


class CachingModel(InstantModel):
    """Answers as a judge, and counts what a provider's cache would have served."""

    def __init__(self) -> None:
        super().__init__()
        self.answered: list[bytes] = []
        self.tokens = self.served = 0

    @property
    def share(self) -> float:
        """Return the share of all input so far that was served, in percent."""
        return 100 * self.served / self.tokens

    async def create(self, messages: Sequence[Any], **_: Any) -> CreateResult:
        """Give a miss, after the other questions have had the time to be asked."""
        prompt = "\0".join(str(message.content) for message in messages).encode()
        shared = max((_shared(prompt, each) for each in self.answered), default=0)
        cached = shared // BYTES_PER_TOKEN // PART * PART
        tokens = len(prompt) // BYTES_PER_TOKEN
        self.tokens += tokens
        self.served += cached if cached >= FROM else 0
        await asyncio.sleep(0.002)
        self.answered.append(prompt)
        mark = re.findall(rb"The mark of this question is (\w+)\.", prompt)[-1].decode()
        usage = RequestUsage(prompt_tokens=tokens, completion_tokens=30)
        return CreateResult(finish_reason="stop", content=ANSWER % mark, usage=usage, cached=False)

    @property
    def model_info(self) -> Any:
        """As `InstantModel` has it, without structured output: the answer is text."""
        return {**super().model_info, "structured_output": False}


def _shared(one: bytes, other: bytes) -> int:
    """Return how many bytes two prompts begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


async def judge(model: CachingModel, points: int, rounds: int) -> Insight:
    """Judge so many scoring points on one transcript of so many rounds of 240 characters."""
    listed = tuple(ScoringPoint(f"p{index}", STATEMENT.format(index + 1), 1.0) for index in range(points))
    talk = Transcript(tuple(Round(number, TEXT, TEXT) for number in range(1, rounds + 1)))
    evaluator = ScoringPointsEvaluator("model", None, ModelClient(AutoGenModel(model, "cached")))
    insight = await evaluator.evaluate(talk, Context("run", Case("bench", Path("case.yaml"), "0" * 64, TASK, listed)))
    assert [verdict.label for verdict in insight.verdicts] == ["miss"] * points, insight.verdicts
    return insight


async def share(points: int, rounds: int = ROUNDS, warm: bool = False) -> float:
    """Return the share that the cache serves, in percent, if it is empty or has served another run (`warm`)."""
    model = CachingModel()
    if warm:
        await judge(model, points, rounds - 1)
        model.tokens = model.served = 0
    await judge(model, points, rounds)
    return model.share


def figures() -> list[Figure]:
    """Count, for few and for many points, and for a transcript that is too short to wait for the cache."""
    found = [
        Figure(
            f"{points} points on one transcript of {ROUNDS} rounds", asyncio.run(share(points)), "%", budget, True, note
        )
        for points, budget, note in ((5, 75.0, "80 at most"), (20, 90.0, "95 at most"))
    ]
    note = "the prompt that all runs share; asked at once"
    found.append(
        Figure("5 points on one transcript of 3 rounds, second run", asyncio.run(share(5, 3, True)), "%", note=note)
    )
    return found

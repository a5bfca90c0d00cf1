"""What an evaluator gives that is no judgement costs its own insight: it ends no run, and replaces no other's word."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from viva.errors import SharedSetupError
from viva.exam.evaluation import evaluate_all
from viva.judge.loaded_evaluator import LoadedEvaluator, load_evaluator
from viva.records.evaluator import Context
from viva.records.transcript import Round, Transcript
from viva.records.verdict import Insight, Label, Verdict

TALK = Transcript(rounds=(Round(number=1, examiner="Well?", agent="Well."),))
Answer = Callable[[], Any]


class Named:
    """An evaluator that answers with what it was made with."""

    def __init__(self, name: str, answer: Answer) -> None:
        self.name, self._answer = name, answer

    async def evaluate(self, transcript: Transcript, context: Context) -> Any:
        return self._answer()


def judged(*evaluators: object) -> tuple[Insight, ...]:
    return asyncio.run(evaluate_all(loaded(*evaluators), TALK, Context("run"), 1))


def loaded(*evaluators: object) -> list[LoadedEvaluator]:
    return [load_evaluator("given", evaluator, {}, {}) for evaluator in evaluators]


def says(name: str, score: Any = 0.5, subject: str = "run", **more: Any) -> Insight:
    return Insight(name, subject, "fine", score, **more)


def cancels_itself() -> None:
    raise asyncio.CancelledError


class Hangs:
    """Never answers; one that is deaf does not even heed its cancellation."""

    name = "hangs"

    def __init__(self, deaf: bool) -> None:
        self._deaf = deaf

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if not self._deaf:
                    raise
        return says("hangs")


def blocks(transcript: Transcript, context: Context) -> bool:
    time.sleep(3600)
    return True


def test_a_plain_evaluator_that_hangs_costs_its_own_insight_alone() -> None:
    # Nor does the process wait for its thread in the end.
    hangs, steady = asyncio.run(
        evaluate_all(loaded(blocks, Named("steady", lambda: says("steady"))), TALK, Context("run"), 3, 0.2)
    )
    assert (hangs.evaluator, hangs.label, hangs.verdicts[0].fault) == ("blocks", Label.ERROR, "judge")
    assert "the evaluator blocks did not end within 0.2 s" in hangs.summary
    assert steady.score == 0.5


def test_plain_evaluators_leave_the_event_loop_free_and_judge_at_the_same_time() -> None:
    both = threading.Barrier(3)

    def first(transcript: Transcript, context: Context) -> float:
        both.wait(60)
        return 0.25

    def second(transcript: Transcript, context: Context) -> float:
        both.wait(60)
        return 0.75

    async def third(transcript: Transcript, context: Context) -> bool:
        await asyncio.to_thread(both.wait, 60)
        return True

    found = judged(first, second, third)
    assert [(each.evaluator, each.score) for each in found] == [("first", 0.25), ("second", 0.75), ("third", 1.0)]


def test_a_plain_evaluator_sees_what_is_current_in_its_run() -> None:
    current: ContextVar[str] = ContextVar("current", default="nothing")

    def sees(transcript: Transcript, context: Context) -> str:
        return current.get()

    async def judge() -> tuple[Insight, ...]:
        current.set("this run")
        return await evaluate_all(loaded(sees), TALK, Context("run"), 1)

    assert [each.label for each in asyncio.run(judge())] == ["this run"]


def test_an_exception_is_described_with_the_line_of_the_evaluator() -> None:
    def fails(transcript: Transcript, context: Context) -> float:
        return json.loads("nothing")["score"]  # type: ignore[no-any-return]

    async def fails_later(transcript: Transcript, context: Context) -> float:
        await asyncio.sleep(0)
        return fails(transcript, context)

    def fails_while_read(transcript: Transcript, context: Context) -> Iterator[Verdict]:
        yield Verdict("r1", "x", "good", fails(transcript, context))

    def exits(transcript: Transcript, context: Context) -> None:
        sys.exit(3)

    line = fails.__code__.co_firstlineno + 1
    here = Path(__file__).name
    for insight in judged(fails, fails_later, fails_while_read):
        assert f"{here}:{line}: JSONDecodeError: Expecting value" in insight.summary
    (insight,) = judged(exits)
    assert f"{here}:{exits.__code__.co_firstlineno + 1}: " in insight.summary
    assert "SystemExit: 3" in insight.summary


@pytest.mark.parametrize("deaf", [False, True])
def test_an_evaluator_that_hangs_costs_its_own_insight_alone(deaf: bool) -> None:
    evaluators = [Hangs(deaf), Named("steady", lambda: says("steady"))]
    # Nor does the loop wait for it in the end.
    hangs, steady = asyncio.run(evaluate_all(loaded(*evaluators), TALK, Context("run"), 3, 0.2))
    assert (hangs.label, hangs.verdicts[0].fault) == (Label.ERROR, "judge")
    assert "the evaluator hangs did not end within 0.2 s" in (hangs.summary or "")
    assert steady.score == 0.5


def interrupts() -> None:
    raise KeyboardInterrupt


UNUSABLE: Sequence[tuple[Answer, str]] = [
    (lambda: says("odd", 1.7), "a score of 1.7"),
    (lambda: says("odd", -1), "a score of -1"),
    (lambda: says("odd", float("nan")), "a score of nan"),
    (lambda: says("odd", "0.5"), "a score of '0.5'"),
    (lambda: says("odd", scores={"tone": 12}), "a score of 12"),
    (lambda: says("odd", low=-3), "a score of -3"),
    (lambda: says("odd", verdicts=(Verdict("run", "odd", "good", 8.0),)), "a score of 8.0"),
    (lambda: says("steady"), "with the name of the evaluator 'steady'"),
    (lambda: [says("odd"), says("odd", 0.1)], "two insights about 'run'"),
    (lambda: None, "it returned None, which is not a judgement"),
    (list, "no insight"),
    (lambda: sys.exit(3), "SystemExit: 3"),
    (cancels_itself, "CancelledError"),
    (interrupts, "KeyboardInterrupt"),
]


@pytest.mark.parametrize(("answer", "words"), UNUSABLE, ids=[words for _, words in UNUSABLE])
@pytest.mark.parametrize("alone", [True, False])
def test_an_answer_that_is_no_judgement_is_an_error_of_its_own_evaluator(
    answer: Answer, words: str, alone: bool
) -> None:
    steady = Named("steady", lambda: says("steady", 1.0))
    *others, broken = judged(*(() if alone else (steady,)), Named("odd", answer))
    assert (broken.evaluator, broken.label, broken.score) == ("odd", Label.ERROR, None)
    assert words in broken.summary
    assert [each.score for each in others] == ([] if alone else [1.0])


def test_insights_about_several_subjects_are_all_kept() -> None:
    found = judged(Named("rounds", lambda: [says("rounds"), says("rounds", 1, "r1"), says("rounds", 0, "r2")]))
    assert [(each.subject, each.score) for each in found] == [("run", 0.5), ("r1", 1), ("r2", 0)]


def test_a_run_that_is_stopped_stops_its_evaluators() -> None:
    class Waits:
        name = "waits"

        async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
            await asyncio.sleep(60)
            raise AssertionError

    async def stopped() -> None:
        task = asyncio.create_task(evaluate_all(loaded(Waits()), TALK, Context("run"), 1))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(stopped())


def test_a_mistake_that_every_run_would_meet_stops_the_other_evaluators_too() -> None:
    stopped: list[str] = []

    class Slow:
        name = "slow"

        async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
            try:
                await asyncio.sleep(60)
            finally:
                stopped.append(self.name)
            raise AssertionError

    class Refused:
        name = "refused"

        async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
            await asyncio.sleep(0)
            raise SharedSetupError("the key was refused")

    async def judge() -> None:
        with pytest.raises(SharedSetupError, match="the key was refused"):
            await evaluate_all(loaded(Slow(), Refused()), TALK, Context("run"), 1)
        assert stopped == ["slow"]

    asyncio.run(judge())

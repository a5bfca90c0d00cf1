"""The operational evaluator: what it compares with, and what it says where there is little or nothing to say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from viva.errors import SetupError
from viva.judge.operational.evaluator import OperationalEvaluator
from viva.judge.registry import find_evaluators
from viva.records.eval_run_record import EvalRunRecord
from viva.records.evaluator import Context
from viva.records.run_record import Outcome, RunRecord, Timing
from viva.records.transcript import Metrics, Round, Step, StepKind, Transcript, Usage
from viva.records.verdict import Insight, Label


class History:
    def __init__(self, *runs: EvalRunRecord) -> None:
        self._runs = runs

    async def runs(self, task: str | None = None, *, limit: int | None = None) -> Sequence[EvalRunRecord]:
        return [run for run in self._runs if run.task == task][-(limit or 10_000) :]


def used(tokens: int) -> Metrics:
    return Metrics(usage_by_model={"m": Usage(tokens, calls=1)})


def earlier(name: str, tokens: int, started: float = 1.0, task: str = "task", agent: str = "copilot") -> EvalRunRecord:
    timing = Timing(started, 1.0)
    return EvalRunRecord(RunRecord(name, task, agent, Outcome.SCORED, 1.0, timing=timing, metrics=used(tokens)))


async def judged(metrics: Metrics | None, *runs: EvalRunRecord, success: bool | None = None) -> Insight:
    context = Context("now", task="task", agent="copilot", started=10.0, history=History(*runs))
    return await OperationalEvaluator().evaluate(Transcript(metrics=metrics, success=success), context)


async def test_a_first_run_is_inconclusive_and_scored_without_efficiency() -> None:
    insight = await judged(Metrics(usage_by_model={"m": Usage(9, calls=1)}, tool_calls={"bash": 4}))
    assert (insight.label, insight.score) == ("Inconclusive", 1.0)
    assert insight.scores == {"tool_economy": 1.0, "reliability": 1.0}
    assert "no earlier run" in insight.summary
    (verdict,) = insight.verdicts
    assert (verdict.subject, verdict.criterion, verdict.by) == ("now", "operational", "code")


OTHERS = (
    earlier("other task", 1, task="other"),
    earlier("other agent", 1, agent="somebody"),
    earlier("began later", 1, started=11.0),
    earlier("now", 1),
)
"""Runs that a run is never compared with."""


async def test_a_run_is_compared_with_the_prior_one_of_the_same_task_and_agent() -> None:
    insight = await judged(
        used(200), *(earlier(f"run-{number}", 1000) for number in range(5)), earlier("p", 100), *OTHERS
    )
    assert insight.label == "Degraded"
    assert insight.scores["efficiency"] == 0.5
    assert "compared with the prior run: tokens 200, before 100 (+100%): worse" in insight.summary


async def test_a_run_is_compared_with_the_median_of_as_many_as_the_user_wants() -> None:
    runs = (
        earlier("old", 10_000),
        *(earlier(f"run-{number}", 100) for number in range(4)),
        earlier("p", 1000),
        *OTHERS,
    )
    context = Context("now", task="task", agent="copilot", started=10.0, history=History(*runs))
    insight = await OperationalEvaluator(earlier=5).evaluate(Transcript(metrics=used(200)), context)
    assert insight.label == "Degraded"
    assert insight.scores["efficiency"] == 0.5
    assert "compared with the median of 5 earlier runs: tokens 200, before 100" in insight.summary
    named = find_evaluators(("operational(earlier=5)",))[0].make({})
    again = await named.evaluate(Transcript(metrics=used(200)), context)
    assert again.summary == insight.summary


async def test_among_many_runs_of_other_agents_enough_are_found() -> None:
    mine = [earlier(f"mine-{number}", 100, started=1.0) for number in range(40)]
    others = [earlier(f"other-{number}", 1, started=2.0, agent="somebody") for number in range(200)]
    context = Context("now", task="task", agent="copilot", started=10.0, history=History(*mine, *others))
    insight = await OperationalEvaluator(earlier=40).evaluate(Transcript(metrics=used(100)), context)
    assert "the median of 40 earlier runs" in insight.summary


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "5", 10**9])
def test_a_number_of_earlier_runs_that_cannot_be_is_a_mistake(number: Any) -> None:
    with pytest.raises(SetupError, match="earlier must be a whole number from 1 to 1,000"):
        OperationalEvaluator(earlier=number)


async def test_the_same_run_gets_the_same_insight_every_time() -> None:
    runs = (earlier("a", 100), earlier("b", 120))
    assert await judged(used(90), *runs) == await judged(used(90), *runs)


async def test_a_history_that_fails_is_said_and_costs_nothing_else() -> None:
    class Broken:
        async def runs(self, task: str | None = None, *, limit: int | None = None) -> Sequence[EvalRunRecord]:
            raise OSError("gone")

    insight = await OperationalEvaluator(Broken()).evaluate(Transcript(metrics=used(1)), Context("now", task="task"))
    assert (insight.label, insight.score) == ("Inconclusive", 1.0)
    assert re.fullmatch(r"the history cannot be read: \S+/test_evaluator\.py:\d+: OSError: gone", insight.notes[-1])


async def test_a_run_of_which_nothing_was_observed_is_an_error_not_a_pass() -> None:
    insight = await judged(Metrics())
    assert (insight.label, insight.score) == (Label.ERROR, None)
    assert insight.verdicts[0].label == Label.ERROR


async def test_a_recording_without_metrics_is_judged_by_its_steps() -> None:
    steps = (Step("1", StepKind.TOOL, tool="bash"), Step("2", StepKind.TOOL, tool="bash", error="lost"))
    transcript = Transcript((Round(1, "q", "a", steps),), source="chat")
    insight = await OperationalEvaluator().evaluate(transcript, Context("now"))
    assert insight.scores["tool_economy"] == pytest.approx(0.5)


async def test_success_is_a_part_of_reliability_and_of_the_trend() -> None:
    insight = await judged(used(100), earlier("a", 100), success=False)
    assert insight.scores["reliability"] == 0.5
    assert insight.label == "Flat"


async def test_a_run_of_the_same_id_that_another_journal_holds_is_an_earlier_run() -> None:
    context = Context("now", task="task", agent="copilot", started=10.0)
    before, itself = earlier("now", 100), earlier("now", 1, started=10.0)
    insight = await OperationalEvaluator(History(before, itself)).evaluate(Transcript(metrics=used(200)), context)
    assert insight.scores["efficiency"] == 0.5
    assert "compared with the prior run:" in insight.summary


async def test_what_viva_did_not_understand_is_said() -> None:
    insight = await judged(Metrics(tool_calls={"bash": 1}, unknown={"event odd.one": 2, "line": 1}))
    assert "unknown to Viva: event odd.one 2, line 1" in insight.notes


@pytest.mark.parametrize("history", [3, "runs", object()])
def test_a_history_that_is_none_is_refused_before_the_first_run(history: object) -> None:
    with pytest.raises(SetupError, match=r"history must be an EvalHistorySource.* not (int|str|object)"):
        OperationalEvaluator(history)  # type: ignore[arg-type]

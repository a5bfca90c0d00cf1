"""A dataset of prompts: a session each, bounded concurrency, a time limit, predicates, and the aggregates."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.copilot_sessions import Event, Runtime, event
from viva.errors import SetupError
from viva.journal.reader import read_runs
from viva.observe.eval_suite import EvalCase, EvalSuite
from viva.observe.options import EvalOptions
from viva.records.run_record import Outcome
from viva.records.transcript import Transcript


def answer(prompt: str) -> Sequence[Event]:
    if prompt == "hang":
        return [event("user.message", 1, content=prompt), event("test.hang", 2)]
    events = [
        event("user.message", 1, content=prompt),
        event("tool.execution_start", 2, toolCallId="t", toolName="bash"),
        event("tool.execution_complete", 3, toolCallId="t", success=prompt != "fail"),
        event("assistant.usage", 4, model="gpt-5", inputTokens=90, outputTokens=10, cost=0.5),
    ]
    if prompt == "told":
        events.append(event("session.task_complete", 5, success=False))
    return [*events, event("assistant.message", 6, content=f"did {prompt}", messageId="m")]


def options(folder: Path, **more: Any) -> EvalOptions:
    return EvalOptions(working_directory=folder, sinks=[f"jsonl:{folder / 'h.jsonl'}"], **more)


async def test_each_case_runs_in_a_session_of_its_own_and_the_aggregates_are_those_of_the_proposal(
    tmp_path: Path,
) -> None:
    def said_so(transcript: Transcript) -> bool:
        return transcript.rounds[0].agent == "did one"

    async def no_failure(transcript: Transcript) -> bool:
        assert transcript.metrics is not None
        return not transcript.metrics.tool_failures

    runtime = Runtime(answer)
    runtime.meeting = asyncio.Barrier(2)
    cases = [
        EvalCase("one", "one", {"model": "gpt-5"}, said_so),
        EvalCase("two", "fail", {"model": "gpt-4"}, no_failure),
        EvalCase("three", "three"),
        EvalCase("four", "told"),
    ]
    result = await EvalSuite(cases, runtime, options(tmp_path, capture_content=True), max_concurrency=2).run()
    assert sorted(config.get("model", "") for config in runtime.configs) == ["", "", "gpt-4", "gpt-5"]
    assert (len(runtime.configs), runtime.detached, runtime.most_open) == (4, 4, 2)
    assert [case.case.name for case in result.cases] == ["one", "two", "three", "four"]
    assert [case.passed for case in result.cases] == [True, False, True, False]
    assert (result.pass_count, result.fail_count) == (2, 2)
    assert result.total_tokens == 400
    assert result.total_cost is None
    assert result.total_billing == {"copilot.cost": 2.0, "copilot.cost.user_initiated": 2.0}
    # reliability 1, 0.5, 1, 0.5 (two were no success); tool economy 1, 0, 1, 1
    assert result.mean_scores() == {"tool_economy": 0.75, "reliability": 0.75}
    assert result.mean_overall_score == pytest.approx((1 + 0.25 + 1 + 0.75) / 4)
    first = result.cases[0]
    assert first.run is not None
    assert first.insight is not None
    assert (first.run.success, first.run.model, first.insight.evaluator) == (True, "gpt-5", "operational")
    assert [insight.evaluator for insight in first.run.insights] == ["operational", "success"]
    assert len((tmp_path / "h.jsonl").read_text().splitlines()) == 4
    assert {stored.setting.case for stored in read_runs(result.folder)} == {"one", "two", "three", "four"}


async def test_what_was_said_is_not_kept_unless_it_is_asked_for(tmp_path: Path) -> None:
    result = await EvalSuite([EvalCase("one", "one")], Runtime(answer), options(tmp_path)).run()
    (stored,) = read_runs(result.folder)
    assert stored.transcript.rounds[0].agent == ""
    assert "did one" not in (result.folder / "journal.jsonl").read_text()
    assert stored.transcript.metrics is not None
    assert stored.transcript.metrics.tool_calls == {"bash": 1}


async def test_a_session_that_takes_too_long_fails_and_stops_no_other(tmp_path: Path) -> None:
    cases = [EvalCase("slow", "hang"), EvalCase("quick", "quick")]
    runtime = Runtime(answer)
    await Runtime(answer).create_session()  # loads the SDK, which alone takes longer than that on a busy machine
    result = await EvalSuite(cases, runtime, options(tmp_path), timeout=3.0).run()
    slow, quick = result.cases
    assert slow.run is not None
    assert (slow.run.record.outcome, slow.passed, quick.passed) == (Outcome.TARGET_ERROR, False, True)
    assert (result.pass_count, result.fail_count, runtime.detached) == (1, 1, 2)


async def test_a_client_that_opens_no_session_is_the_agents_failure_not_a_pass(tmp_path: Path) -> None:
    async def refuse(case: EvalCase) -> Any:
        raise ConnectionError(f"no session for {case.name}")

    result = await EvalSuite([EvalCase("one", "one")], refuse, options(tmp_path)).run()
    assert result.cases[0].run is not None
    assert result.cases[0].run.record.outcome is Outcome.TARGET_ERROR
    assert "no session for one" in (result.cases[0].run.record.error or "")
    assert (result.pass_count, result.fail_count) == (0, 1)


async def test_a_predicate_that_breaks_is_no_pass(tmp_path: Path) -> None:
    case = EvalCase("one", "one", success=lambda transcript: 1 / 0)  # type: ignore[arg-type, return-value]
    result = await EvalSuite([case], Runtime(answer), options(tmp_path)).run()
    assert (result.pass_count, result.cases[0].passed) == (0, None)


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ([], "no case"),
        ([EvalCase("a", "x"), EvalCase("a", "y")], "two cases are called 'a'"),
        ([EvalCase("", "x")], "a name and a prompt"),
        ([EvalCase("a", " ")], "a name and a prompt"),
    ],
)
def test_a_dataset_that_is_none_is_refused(cases: list[EvalCase], words: str) -> None:
    with pytest.raises(SetupError, match=words):
        EvalSuite(cases, Runtime(answer))


def test_what_opens_no_session_and_limits_that_are_none_are_refused() -> None:
    with pytest.raises(SetupError, match="cannot open a session"):
        EvalSuite([EvalCase("a", "x")], object())  # type: ignore[arg-type]
    with pytest.raises(SetupError, match="max_concurrency"):
        EvalSuite([EvalCase("a", "x")], Runtime(answer), max_concurrency=0)


@pytest.mark.parametrize(("evaluator", "before"), [("operational", 50), ("operational(earlier=5)", 75)])
async def test_a_suite_is_compared_with_the_suites_before_it(tmp_path: Path, evaluator: str, before: int) -> None:
    tokens = [100, 50, 200]

    def spend(prompt: str) -> Sequence[Event]:
        return [
            event("user.message", 1, content=prompt),
            event("assistant.usage", 2, model="gpt-5", inputTokens=tokens.pop(0), outputTokens=0),
            event("assistant.message", 3, content="done", messageId="m"),
        ]

    said = []
    for _ in range(3):
        result = await EvalSuite(
            [EvalCase("one", "one")],
            Runtime(spend),
            EvalOptions(working_directory=tmp_path, evaluators=(evaluator,)),
        ).run()
        (case,) = result.cases
        assert case.insight is not None
        said.append((case.insight.label, case.insight.scores.get("efficiency")))
    assert said == [("Inconclusive", None), ("Improved", 1.0), ("Degraded", before / 200)]

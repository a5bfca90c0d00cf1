"""The harness on a session of the SDK's: records, insights, sinks that fail, and nothing at all while it is off."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from autogen_core.logging import ToolCallEvent

from tests.copilot_sessions import Runtime, event
from viva.errors import SetupError
from viva.journal.reader import read_runs
from viva.judge.registry import Need
from viva.observe.eval_harness import EvalHarness
from viva.observe.options import EvalOptions
from viva.recordings.events.autogen import LOGGER, observing_autogen, take_autogen_record
from viva.records.codec import decode
from viva.records.evaluator import Context
from viva.records.run_record import Outcome, RunRecord
from viva.records.transcript import Transcript
from viva.records.verdict import Insight


def work(tokens: int = 100, *, failing: bool = False) -> list[dict[str, Any]]:
    return [
        event("user.message", 1, content="secret prompt"),
        event("tool.execution_start", 2, toolCallId="t", toolName="bash"),
        event("tool.execution_complete", 3, toolCallId="t", success=not failing),
        event("assistant.usage", 4, model="gpt-5", inputTokens=tokens, outputTokens=0, cost=1.0),
        event("assistant.message", 5, content="secret answer", messageId="m"),
    ]


class Remembering:
    def __init__(self) -> None:
        self.found: list[tuple[RunRecord, Transcript]] = []
        self.closed = 0

    async def write(self, record: RunRecord, transcript: Transcript) -> None:
        self.found.append((record, transcript))

    async def close(self) -> None:
        self.closed += 1


def options(folder: Path, *sinks: Any, **more: Any) -> EvalOptions:
    return EvalOptions(enabled=True, working_directory=folder, sinks=list(sinks), **more)


async def test_a_run_is_recorded_judged_and_sent_to_every_sink(tmp_path: Path) -> None:
    session = await Runtime(lambda prompt: work()).create_session()
    one, other = Remembering(), Remembering()
    async with EvalHarness.attach(session, options(tmp_path, one, other, agent_version="7")) as harness:
        harness.begin_task("tidy up")
        await session.send_and_wait("go")
        record, insight = await harness.complete_run(success=True)
    assert record is not None
    assert insight is not None
    assert (record.task, record.agent, record.agent_version, record.model) == ("tidy up", "copilot", "7", "gpt-5")
    assert (record.success, record.score, insight.label) == (True, 1.0, "Inconclusive")
    assert record.record.outcome is Outcome.SCORED
    assert record.metrics.tool_calls == {"bash": 1}
    assert record.ended >= record.started > 0
    assert record.transcript is None
    for sink in (one, other):
        ((written, _),) = sink.found
        assert (written, sink.closed) == (record.record, 1)
    (stored,) = read_runs(tmp_path / "runs" / "observed")
    assert stored.record == record.record
    assert stored.setting.source == "copilot:session-1"
    assert "secret" not in (tmp_path / "runs" / "observed" / "journal.jsonl").read_text()


async def test_the_next_run_of_a_task_is_compared_with_those_before_in_another_process_too(tmp_path: Path) -> None:
    tokens = iter([100, 100, 50, 300])
    session = await Runtime(lambda prompt: work(next(tokens))).create_session()
    labels = []
    for _ in range(2):
        async with EvalHarness.attach(session, options(tmp_path, Remembering())) as harness:
            for _ in range(2):
                harness.begin_task("tidy up")
                await session.send_and_wait("go")
                _, insight = await harness.complete_run()
                assert insight is not None
                labels.append(insight.label)
    assert labels == ["Inconclusive", "Flat", "Improved", "Degraded"]


async def test_captured_content_reaches_evaluators_and_without_it_they_say_what_is_missing(tmp_path: Path) -> None:
    class Reads:
        name = "reads"
        needs = (Need.TEXT,)

        async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
            return Insight(self.name, context.subject, "read", float(transcript.rounds[0].agent == "secret answer"))

    session = await Runtime(lambda prompt: work()).create_session()
    found = []
    for capture in (True, False):
        chosen = options(tmp_path, Remembering(), capture_content=capture, evaluators=("operational", Reads()))
        async with EvalHarness.attach(session, chosen) as harness:
            harness.begin_task("tidy up")
            await session.send_and_wait("go")
            record, _ = await harness.complete_run()
            assert record is not None
            found.append(record)
    with_text, without = found
    assert with_text.transcript is not None
    assert with_text.transcript.rounds[0].examiner == "secret prompt"
    assert with_text.insights[1].score == 1.0
    assert (without.insights[1].label, without.insights[1].score) == ("error", None)
    assert "requires the text of the conversation" in without.insights[1].summary
    # Scoring works without it.
    assert without.score == with_text.score == 1.0


async def test_sinks_that_raise_hang_or_have_no_disk_cost_neither_the_run_nor_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    freed = threading.Event()

    class Raises(Remembering):
        async def write(self, record: RunRecord, transcript: Transcript) -> None:
            raise RuntimeError("broken sink")

    class Blocks(Remembering):
        def write(self, record: RunRecord, transcript: Transcript) -> None:  # type: ignore[override]
            freed.wait(60)

    sound, session = Remembering(), await Runtime(lambda prompt: work()).create_session()
    chosen = options(tmp_path, Raises(), Blocks(), "jsonl:/dev/full", sound, sink_seconds=0.2)
    harness = EvalHarness.attach(session, chosen)
    try:
        with caplog.at_level(logging.WARNING, "viva"):
            harness.begin_task("tidy up")
            record, _ = await harness.complete_run(success=True)
            assert record is not None
            assert [written.id for written, _ in sound.found] == [record.id]
            assert [stored.id for stored in read_runs(tmp_path / "runs" / "observed")] == [record.id]
            freed.set()
            await harness.close()
    finally:
        freed.set()
        await harness.close()
    assert re.search(r"the sink Raises failed: \S+\.py:\d+: RuntimeError: broken sink", caplog.text)
    assert "the sink jsonl:/dev/full failed: No space left" in caplog.text
    assert "did not write 1 of the completed runs" in caplog.text


async def test_the_local_sink_is_the_default_and_holds_the_record(tmp_path: Path) -> None:
    session = await Runtime(lambda prompt: work()).create_session()
    async with EvalHarness.attach(session, options(tmp_path)) as harness:
        harness.begin_task("tidy up")
        record, _ = await harness.complete_run(success=True)
    (line,) = (tmp_path / "runs" / "history.jsonl").read_text().splitlines()
    assert record is not None
    assert decode(RunRecord, json.loads(line)).metrics == record.record.metrics


async def test_while_it_is_off_nothing_is_subscribed_to_opened_or_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ENABLE_EVALS", raising=False)

    class Untouchable:
        def on(self, handler: Any) -> Any:
            raise AssertionError("subscribed")

    async with EvalHarness.attach(Untouchable(), EvalOptions(working_directory=tmp_path)) as harness:
        assert not harness.enabled
        assert harness.collector is None
        harness.begin_task("tidy up")
        record, insight = await harness.complete_run()
    assert (record, insight) == (None, None)
    assert list(tmp_path.iterdir()) == []


async def test_a_run_that_was_not_begun_cannot_be_completed(tmp_path: Path) -> None:
    session = await Runtime(lambda prompt: []).create_session()
    async with EvalHarness.attach(session, options(tmp_path, Remembering())) as harness:
        with pytest.raises(RuntimeError, match="begin_task"):
            await harness.complete_run()


async def test_a_run_is_kept_though_its_evaluator_lacks_something(tmp_path: Path) -> None:
    class Asks:
        name = "asks"
        needs = (Need.MODEL,)

        async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
            raise AssertionError

    session = await Runtime(lambda prompt: work()).create_session()
    async with EvalHarness.attach(session, options(tmp_path, Remembering(), evaluators=(Asks(),))) as harness:
        harness.begin_task("tidy up")
        await session.send_and_wait("go")
        with pytest.raises(SetupError, match="model"):
            await harness.complete_run()
    (stored,) = read_runs(tmp_path / "runs" / "observed")
    assert stored.record is None
    assert stored.transcript.metrics is not None


def one_parameter(transcript: Transcript) -> bool:
    return True


@pytest.mark.parametrize(
    ("evaluator", "words"),
    [
        ("nobodys", "no evaluator"),
        ("scoring_points", "requires a case"),
        ("loops(window=3)", "has no parameter 'window'"),
        (one_parameter, r"test_eval_harness\.py:\d+: def one_parameter\(transcript\) must take transcript and context"),
    ],
)
async def test_an_evaluator_that_cannot_judge_is_told_when_observing_begins(
    tmp_path: Path, evaluator: Any, words: str
) -> None:
    session = await Runtime(lambda prompt: work()).create_session()
    with pytest.raises(SetupError, match=words):
        EvalHarness.attach(session, options(tmp_path, evaluators=("operational", evaluator)))
    assert not (tmp_path / "runs").exists()


async def test_a_harness_that_is_closed_says_so(tmp_path: Path) -> None:
    session = await Runtime(lambda prompt: work()).create_session()
    harness = EvalHarness.attach(session, options(tmp_path, Remembering()))
    await harness.close()
    with pytest.raises(RuntimeError, match="closed"):
        harness.begin_task("tidy up")


async def test_a_session_that_cannot_be_left_costs_no_sink_its_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Clinging:
        def on(self, handler: Any) -> Any:
            def leave() -> None:
                raise RuntimeError("the connection is gone")

            return leave

    sink = Remembering()
    async with EvalHarness.attach(Clinging(), options(tmp_path, sink)) as harness:
        harness.begin_task("tidy up")
        await harness.complete_run(success=True)
    assert (len(sink.found), sink.closed) == (1, 1)
    assert "could not be unsubscribed from: RuntimeError: the connection is gone" in caplog.text


def test_what_is_no_session_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"is not a session: it has no on\(handler\)"):
        EvalHarness.attach(object(), options(tmp_path))  # type: ignore[arg-type]
    assert not (tmp_path / "runs").exists()


async def test_a_label_that_is_no_text_is_refused_and_the_open_run_goes_on(tmp_path: Path) -> None:
    session = await Runtime(lambda prompt: work()).create_session()
    async with EvalHarness.attach(session, options(tmp_path, Remembering())) as harness:
        harness.begin_task("tidy up")
        with pytest.raises(TypeError, match="must be text, not NoneType"):
            harness.begin_task(None)  # type: ignore[arg-type]
        await session.send_and_wait("go")
        record, _ = await harness.complete_run()
    assert record is not None
    assert record.task == "tidy up"


async def test_a_run_that_cannot_be_judged_leaves_no_span_open(tmp_path: Path) -> None:
    class Asks:
        name = "asks"
        needs = (Need.MODEL,)

        async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
            raise AssertionError

    ended: list[tuple[object, object]] = []

    class Traces(Remembering):
        def start_run(self, name: str, *, run: str, agent: str) -> Any:
            class Open:
                trace_id = "1" * 32

                def end(self, record: RunRecord | None, transcript: Transcript | None) -> None:
                    ended.append((record, transcript))

            return Open()

    session = await Runtime(lambda prompt: work()).create_session()
    async with EvalHarness.attach(session, options(tmp_path, Traces(), evaluators=(Asks(),))) as harness:
        harness.begin_task("tidy up")
        with pytest.raises(SetupError, match="model"):
            await harness.complete_run()
        assert ended == [(None, None)]


async def test_the_span_of_a_run_is_current_while_the_session_works_and_found_by_the_record(tmp_path: Path) -> None:
    from opentelemetry import trace

    class Traces(Remembering):
        def __init__(self) -> None:
            super().__init__()
            self.ended: list[RunRecord | None] = []

        def start_run(self, name: str, *, run: str, agent: str) -> Any:
            from opentelemetry import context

            sink, number = self, len(self.ended) + 1
            span = trace.NonRecordingSpan(trace.SpanContext(number, number, False, trace.TraceFlags(1)))
            token = context.attach(trace.set_span_in_context(span))

            class Open:
                trace_id = f"{number:032x}"

                def end(self, record: RunRecord | None, transcript: Transcript | None) -> None:
                    sink.ended.append(record)
                    context.detach(token)

            return Open()

    sink, runtime = Traces(), Runtime(lambda prompt: work())
    session = await runtime.create_session()
    async with EvalHarness.attach(session, options(tmp_path, sink)) as harness:
        harness.begin_task("given up")
        harness.begin_task("tidy up")
        await session.send_and_wait("go")
        record, _ = await harness.complete_run()
    assert record is not None
    # The SDK hands the current trace to the runtime with the prompt.
    assert runtime.prompts[0]["traceparent"].split("-")[1] == record.trace_id == f"{2:032x}"
    assert sink.ended == [None, record.record]


async def test_sessions_side_by_side_share_one_journal(tmp_path: Path) -> None:
    async def one(number: int) -> str:
        session = await Runtime(lambda prompt: work(number + 1)).create_session()
        async with EvalHarness.attach(session, options(tmp_path, Remembering())) as harness:
            harness.begin_task(f"task {number}")
            await session.send_and_wait("go")
            record, _ = await harness.complete_run()
            assert record is not None
            assert record.metrics.usage.input_tokens == number + 1
            return record.id

    names = await asyncio.gather(*(one(number) for number in range(8)))
    assert {stored.id for stored in read_runs(tmp_path / "runs" / "observed")} == set(names)


async def test_two_runs_of_one_task_are_two_trials_and_two_runs(tmp_path: Path) -> None:
    session = await Runtime(lambda prompt: work()).create_session()
    async with EvalHarness.attach(session, options(tmp_path, Remembering())) as harness:
        found = []
        for _ in range(2):
            harness.begin_task("tidy up")
            record, _ = await harness.complete_run(success=True)
            assert record is not None
            found.append(record)
    assert found[0].id != found[1].id
    assert [record.record.trial for record in found] == [1, 2]


async def test_a_stream_without_a_session_feeds_a_harness_of_its_own(tmp_path: Path) -> None:
    logger = logging.getLogger(LOGGER)
    harness = EvalHarness(options(tmp_path, Remembering()), take=take_autogen_record, source="autogen")
    async with harness:
        assert harness.collector is not None
        with observing_autogen(harness.collector):
            harness.begin_task("tidy up")
            logger.info(ToolCallEvent(tool_name="search", arguments={}, result="x"))
            record, _ = await harness.complete_run()
    assert record is not None
    assert (record.agent, record.metrics.tool_calls) == ("autogen", {"search": 1})


async def test_the_open_telemetry_sink_has_the_span_that_the_record_names(tmp_path: Path) -> None:
    from opentelemetry import trace

    runtime = Runtime(lambda prompt: work())
    session = await runtime.create_session()
    chosen = options(tmp_path).add_open_telemetry_sink()
    async with EvalHarness.attach(session, chosen) as harness:
        harness.begin_task("tidy up")
        await session.send_and_wait("go")
        record, _ = await harness.complete_run()
    assert record is not None
    assert record.trace_id is not None
    assert runtime.prompts[0]["traceparent"].split("-")[1] == record.trace_id
    assert not trace.get_current_span().get_span_context().is_valid

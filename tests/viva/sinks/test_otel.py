"""The OpenTelemetry sink against a real OTLP receiver: what arrives, under which names, in which trace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.propagate import inject

from tests.model_server import ModelServer
from tests.otlp_receiver import Received, attributes, grpc_receiver, http_receiver
from tests.viva.conftest import Desk
from viva.adapters.trace_context import current_trace_id
from viva.errors import SetupError
from viva.exam.subscribers import RunHeader
from viva.journal.reader import read_records, read_runs
from viva.observe.eval_harness import EvalHarness
from viva.observe.options import EvalOptions
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import Metrics, Round, Step, StepKind, Transcript, Usage
from viva.records.verdict import Insight, Verdict
from viva.sinks import make_sink
from viva.sinks.otel import sink as sink_module
from viva.sinks.otel.providers import Providers
from viva.sinks.otel.sink import OpenTelemetrySink
from viva.suites.sink_feed import SinkFeed

AGENT = """
def get_reply_from_agent(self, message):
    from opentelemetry import trace
    from viva.records.transcript import Reply, Step, StepKind, Usage
    context = trace.get_current_span().get_span_context()
    began = time.time()
    time.sleep(0.01)
    steps = (
        Step("s1", StepKind.MODEL, model="m-1", usage=Usage(7, 3, calls=1), started=began, seconds=0.004),
        Step("s2", tool="calc", tool_input={"a": 1}, result="2", started=began + 0.004, seconds=0.002),
        Step("s3", tool="calc", error="no such number", started=began + 0.006, seconds=0.001),
    )
    return Reply(f"{context.trace_id:032x} {context.span_id:016x}", steps=steps, usage=Usage(7, 3, calls=1, cost=0.25))
"""


@pytest.fixture(params=[http_receiver, grpc_receiver], ids=["http", "grpc"])
def received(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Received]:
    """A receiver that the variables name."""
    with request.param() as found:
        for name, value in found.environment.items():
            monkeypatch.setenv(name, value)
        yield found


def test_the_spans_metrics_and_events_of_a_real_run_arrive(desk: Desk, received: Received) -> None:
    desk.case(script=["Add.", "Again."])
    record = desk.run("exam", "--agent", desk.agent(AGENT), "--sink", "otel")
    (stored,) = read_runs(desk.folder / "journal")
    # The agent, on its own thread, saw the run's span as the current one, and the record names its trace.
    trace_id, span_id = (stored.transcript.rounds[0].agent or "").split()
    assert record["trace_id"] == trace_id != "0" * 32
    spans = received.in_trace(trace_id)
    assert sorted(spans) == ["chat m-1", "execute_tool calc", f"invoke_agent {record['agent']}", "invoke_workflow exam"]
    run = spans["invoke_workflow exam"]
    assert run.span_id.hex() == span_id
    assert run.parent_span_id == b""
    told = attributes(run)
    assert told["gen_ai.operation.name"] == "invoke_workflow"
    assert told["gen_ai.conversation.id"] == told["viva.run.id"] == record["id"]
    assert (told["viva.run.outcome"], told["viva.run.score"], told["viva.run.rounds"]) == ("scored", 1.0, 2)
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (14, 6)
    assert run.end_time_unix_nano > run.start_time_unix_nano
    assert received.services == {"viva"}

    rounds = [span for span in received.spans if span.name.startswith("invoke_agent")]
    assert [attributes(span)["viva.round.number"] for span in rounds] == [1, 2]
    assert {span.parent_span_id for span in rounds} == {run.span_id}
    for span in rounds:
        assert run.start_time_unix_nano <= span.start_time_unix_nano < span.end_time_unix_nano <= run.end_time_unix_nano

    tools = [span for span in received.spans if span.name == "execute_tool calc"]
    assert [span.status.code for span in tools] == [0, 2, 0, 2]
    assert attributes(tools[0])["gen_ai.tool.name"] == "calc"
    assert attributes(tools[1])["error.type"] == "_OTHER"
    assert {span.parent_span_id for span in tools} == {span.span_id for span in rounds}
    lasted = [span.end_time_unix_nano - span.start_time_unix_nano for span in tools]
    assert lasted == pytest.approx([2e6, 1e6, 2e6, 1e6], rel=0.01)
    assert "gen_ai.tool.call.arguments" not in attributes(tools[0]), "content is not exported unless it is asked for"

    tokens = {attributes(point)["gen_ai.token.type"]: point.as_int for point in received.points("viva.evals.tokens")}
    assert tokens == {"input": 14, "output": 6}
    calls = {attributes(each)["viva.tool.failed"]: each.as_int for each in received.points("viva.evals.tool_calls")}
    assert calls == {False: 2, True: 2}
    (cost,) = received.points("viva.evals.cost")
    assert (cost.as_double, attributes(cost)["viva.role"]) == (0.5, "target")
    (score,) = received.points("viva.evals.score")
    assert (score.sum, score.count) == (1.0, 1)
    assert attributes(score)["viva.dimension"] == "overall"
    assert attributes(score)["viva.evaluator"] == "scoring_points"
    (duration,) = received.points("viva.evals.duration")
    assert duration.count == 1
    units = {
        name: received.unit(f"viva.evals.{name}") for name in ("tokens", "tool_calls", "cost", "score", "duration")
    }
    assert units == {"tokens": "{token}", "tool_calls": "{call}", "cost": "USD", "score": "1", "duration": "s"}

    overall, verdict = received.logs
    assert overall.event_name == verdict.event_name == "gen_ai.evaluation.result"
    assert (overall.trace_id, overall.span_id) == (run.trace_id, run.span_id)
    assert attributes(overall)["gen_ai.evaluation.name"] == "scoring_points"
    assert attributes(overall)["gen_ai.evaluation.score.value"] == 1.0
    assert overall.body.string_value.endswith("1.00")
    assert attributes(verdict)["microsoft.custom_event.name"] == "gen_ai.evaluation.result"
    assert attributes(verdict)["gen_ai.evaluation.score.label"] == "hit"
    assert attributes(verdict)["gen_ai.evaluation.explanation"].startswith("It speaks.")


@pytest.fixture
def received_by_http(monkeypatch: pytest.MonkeyPatch) -> Iterator[Received]:
    with http_receiver() as found:
        for name, value in found.environment.items():
            monkeypatch.setenv(name, value)
        yield found


RECORD = RunRecord(
    "r-1", "shop", "clerk", Outcome.SCORED, 0.5, agent_version="2", trace_id="0af7651916cd43dd8448eb211c80319c",
    insights=(
        Insight("trajectory", "r-1", "partial", 0.5, scores={"safety": 1.0}, summary="Half of it.",
                verdicts=(Verdict("s2", "order", "wrong", 0.0, reason="too early"),)),
    ),
    usage={"target": Usage(10, 5)}, timing=Timing(1_700_000_000.0, 2.0), setting=Setting(case="shop"),
    metrics=Metrics(
        usage_by_model={"big": Usage(8, 4, cost=0.5), "small": Usage(2, 1)},
        tool_calls={"buy": 3}, tool_failures={"buy": 1}, billing_units={"premium requests": 1.5},
    ),
)  # fmt: skip
TRANSCRIPT = Transcript(
    (
        Round(1, "Buy it.", "Done.", (
            Step("a1", StepKind.AGENT, agent="buyer", started=1_600_000_000.5, seconds=1.0),
            Step("s2", parent_id="a1", tool="buy", tool_input="{}", result="ok", started=1_600_000_000.6, seconds=0.5),
            Step("s3", StepKind.THINK, thought="Hm."),
        ), started=1_600_000_000.0, agent_seconds=2.0),
        Round(2, "Thanks.", "Bye."),
    ),
    source="chat", trace_id=RECORD.trace_id,
)  # fmt: skip


async def send(record: RunRecord, transcript: Transcript, options: str = "") -> None:
    sink = OpenTelemetrySink(options)
    await sink.write(record, transcript)
    await sink.close()


async def test_a_recorded_run_gets_its_own_times_in_its_own_trace(received_by_http: Received) -> None:
    await send(RECORD, TRANSCRIPT)
    spans = received_by_http.in_trace(RECORD.trace_id)
    run, buyer, buy = (spans[name] for name in ("invoke_workflow shop", "invoke_agent buyer", "execute_tool buy"))
    assert run.start_time_unix_nano == 1_600_000_000 * 10**9
    assert (buy.parent_span_id, buy.start_time_unix_nano) == (buyer.span_id, 1_600_000_000_600_000_000)
    first, second = (span for span in received_by_http.spans if span.name == "invoke_agent clerk")
    assert first.end_time_unix_nano - first.start_time_unix_nano == 2 * 10**9
    assert attributes(second)["viva.time.known"] is False
    assert second.start_time_unix_nano == second.end_time_unix_nano
    named = {attributes(log)["gen_ai.evaluation.name"]: log for log in received_by_http.logs}
    assert sorted(named) == ["trajectory", "trajectory.order", "trajectory.safety"]
    assert named["trajectory.order"].span_id == buy.span_id, "a verdict about a step stands beside its span"


async def test_the_figures_that_a_collector_counted_are_the_ones_that_are_sent(received_by_http: Received) -> None:
    await send(RECORD, TRANSCRIPT)
    points = received_by_http.points("viva.evals.tokens")
    tokens = {
        (attributes(each)["gen_ai.request.model"], attributes(each)["gen_ai.token.type"]): each for each in points
    }
    assert {key: point.as_int for key, point in tokens.items()} == {
        ("big", "input"): 8, ("big", "output"): 4, ("small", "input"): 2, ("small", "output"): 1,
    }  # fmt: skip
    calls = {
        attributes(each)["viva.tool.failed"]: each.as_int for each in received_by_http.points("viva.evals.tool_calls")
    }
    assert calls == {False: 2, True: 1}
    (units,) = received_by_http.points("viva.evals.billing_units")
    assert (units.as_double, attributes(units)["viva.billing.unit"]) == (1.5, "premium requests")
    scores = {attributes(each)["viva.dimension"]: each.sum for each in received_by_http.points("viva.evals.score")}
    assert scores == {"overall": 0.5, "safety": 1.0}
    (cost,) = received_by_http.points("viva.evals.cost")
    assert cost.as_double == 0.5, "what is unknown is left out, not counted as 0"


async def test_the_prefix_names_the_instruments(received_by_http: Received) -> None:
    await send(RECORD, TRANSCRIPT, "prefix=copilot.evals")
    assert {metric.name for metric in received_by_http.metrics} == {
        f"copilot.evals.{name}" for name in ("tokens", "tool_calls", "cost", "billing_units", "score", "duration")
    }


async def test_content_is_exported_where_the_variable_says_so(
    received_by_http: Received, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    await send(RECORD, TRANSCRIPT)
    spans = received_by_http.in_trace(RECORD.trace_id)
    assert attributes(spans["execute_tool buy"])["gen_ai.tool.call.result"] == "ok"
    (message,) = json.loads(attributes(spans["invoke_agent clerk"])["gen_ai.output.messages"])
    assert message["parts"] == [{"type": "text", "content": "Bye."}]


async def test_hostile_text_and_numbers_neither_lose_a_batch_nor_run_away(received_by_http: Received) -> None:
    bad = "\ud800\x1b[2J" + "x" * 100_000
    step = Step("s", tool=bad, error=bad, started=1e300, seconds=-5.0, usage=Usage(10**14))
    record = RunRecord(bad, bad, bad, Outcome.TARGET_ERROR, None, error=bad, usage={"target": Usage(10**14, 10**14)})
    await send(record, Transcript((Round(10**30, bad, bad, (step,), started=float("nan")),), trace_id=bad))
    assert len(received_by_http.spans) == 3
    assert all(len(span.name) < 300 for span in received_by_http.spans)


async def test_a_tool_call_has_the_id_that_its_source_gave_it(received_by_http: Received) -> None:
    steps = (Step("s1", tool="bash", attributes={"call_id": "toolu_7"}), Step("s2", tool="bash"))
    await send(RECORD, Transcript((Round(1, "a", "b", steps),)))
    calls = [attributes(span) for span in received_by_http.spans if span.name == "execute_tool bash"]
    assert [each["gen_ai.tool.call.id"] for each in calls] == ["toolu_7", "s2"]


async def test_a_run_of_many_calls_arrives_whole(received_by_http: Received) -> None:
    steps = tuple(Step(f"s{number}", tool="t", started=1.7e9, seconds=0.1) for number in range(5000))
    await send(RECORD, Transcript((Round(1, "a", "b", steps),)))
    assert sum(span.name == "execute_tool t" for span in received_by_http.spans) == 5000


def test_an_agent_in_a_process_of_its_own_finds_the_span_in_its_environment(
    desk: Desk, received_by_http: Received
) -> None:
    desk.case(script=["Go."])
    agent = desk.agent("def get_reply_from_agent(self, message):\n    return os.environ.get('TRACEPARENT', 'none')")
    record = desk.run("exam", "--agent", agent, "--isolate", "--sink", "otel")
    (stored,) = read_runs(desk.folder / "journal")
    said = stored.transcript.rounds[0].agent or ""
    run = received_by_http.in_trace(record["trace_id"])["invoke_workflow exam"]
    assert said.startswith(f"00-{record['trace_id']}-{run.span_id.hex()}-")
    desk.run("exam", "--agent", agent, "--isolate", out="untraced")
    (stored,) = read_runs(desk.folder / "untraced")
    assert stored.transcript.rounds[0].agent == "none"
    assert stored.transcript.trace_id is None


def test_an_agent_behind_an_address_is_sent_the_span(desk: Desk, received_by_http: Received) -> None:
    desk.case(script=["Go."])
    with ModelServer({"m": "Fine."}) as server:
        record = desk.run("exam", "--agent", f"{server.url}#m", "--sink", "otel")
        (request,) = server.requests
    run = received_by_http.in_trace(record["trace_id"])["invoke_workflow exam"]
    assert request.headers["traceparent"].startswith(f"00-{record['trace_id']}-{run.span_id.hex()}-")


def test_runs_side_by_side_have_a_trace_each(desk: Desk, received_by_http: Received) -> None:
    desk.case(script=["Go."])
    agent = desk.agent(AGENT)
    desk.viva("suite", "exam", "--agent", agent, "--trials", 8, "--concurrency", 4, "--sandbox", "process",
              "--sink", "otel", "--out", "journal", expect=0)  # fmt: skip
    records = list(read_records(desk.folder / "journal"))
    said = {run.id: (run.transcript.rounds[0].agent or "").split()[0] for run in read_runs(desk.folder / "journal")}
    assert {record.id: record.trace_id for record in records} == said
    assert len(set(said.values())) == 8
    for record in records:
        told = attributes(received_by_http.in_trace(record.trace_id)["invoke_workflow exam"])
        assert told["viva.run.id"] == record.id


def test_an_exporter_that_reaches_nobody_is_reported_and_the_run_is_complete(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    desk.case()
    done = desk.viva("run", "exam", "--sandbox", "process", "--sink", "otel:flush=5", "--out", "journal", expect=0)
    assert "the sink otel:flush=5 failed to close" in done.stderr
    assert "telemetry was not exported" in done.stderr
    (record,) = read_records(desk.folder / "journal")
    assert record.outcome is Outcome.SCORED


async def test_an_exporter_that_reaches_nobody_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_module, "FLUSH_EVERY", 1)
    waited: list[float] = []

    def flush(self: Providers, seconds: float) -> None:
        waited.append(seconds)
        raise TimeoutError

    monkeypatch.setattr(Providers, "flush", flush)
    for name in ("TRACES", "METRICS", "LOGS"):
        monkeypatch.setenv(f"OTEL_{name}_EXPORTER", "none")
    sink = OpenTelemetrySink()
    for _ in range(3):
        await sink.write(RECORD, TRANSCRIPT)
    await sink.close()
    assert len(waited) == 1


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("otel:colour=red", "takes prefix=NAME and flush=SECONDS"),
        ("otel:prefix=9 lives", "a prefix begins with a letter"),
        ("otel:flush=soon", "a number of seconds"),
    ],
)
def test_a_mistake_in_the_options_is_refused(spec: str, words: str) -> None:
    with pytest.raises(SetupError, match=words):
        make_sink(spec)


async def test_an_exporter_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "carrier-pigeon")
    with pytest.raises(SetupError, match="carrier-pigeon"):
        await OpenTelemetrySink().write(RECORD, TRANSCRIPT)


def test_without_the_packages_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.sdk", None)
    with pytest.raises(SetupError, match=r"vivavoce\[otel\]"):
        make_sink("otel")


async def test_a_host_with_providers_of_its_own_gets_the_telemetry(
    tmp_path: Path, received_by_http: Received, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    sink = OpenTelemetrySink()
    with provider.get_tracer("host").start_as_current_span("request") as outer:
        span = sink.start_run("shop", run="r-1", agent="clerk")
        with provider.get_tracer("sdk").start_as_current_span("inner"):
            pass
        span.end(RECORD, TRANSCRIPT)
        assert trace.get_current_span() is outer
    await sink.write(RECORD, TRANSCRIPT)
    await sink.close()
    spans = {each.name: each for each in exporter.get_finished_spans()}
    assert spans["inner"].parent == spans["invoke_workflow shop"].context
    assert spans["invoke_workflow shop"].parent == outer.get_span_context()
    assert not received_by_http.spans, "the host chose where telemetry goes"
    provider.shutdown()


async def test_a_run_that_was_given_up_ends_as_an_error(received_by_http: Received) -> None:
    sink = OpenTelemetrySink()
    sink.start_run("shop", run="r-1", agent="clerk").end(None, None)
    sink.start_run("shop", run="r-2", agent="clerk")
    await sink.close()
    assert [span.status.code for span in received_by_http.spans] == [2, 2]


class Session:
    """A session whose work emits a span of its own, as an instrumented SDK does."""

    def __init__(self) -> None:
        self.handlers: list[Callable[[Any], None]] = []

    def on(self, handler: Callable[[Any], None]) -> Callable[[], None]:
        self.handlers.append(handler)
        return lambda: self.handlers.remove(handler)

    async def work(self) -> dict[str, str]:
        """Gives the headers with which the SDK would carry its trace context on."""
        carrier: dict[str, str] = {}
        inject(carrier)
        await asyncio.sleep(0.005)
        for kind, data in (
            ("tool.execution_start", {"toolCallId": "1", "toolName": "bash"}),
            ("tool.execution_complete", {"toolCallId": "1", "success": True}),
            ("assistant.usage", {"model": "gpt-5", "inputTokens": 9, "outputTokens": 3, "cost": 1.0}),
        ):
            for handler in self.handlers:
                handler({"type": kind, "timestamp": "2026-11-20T10:00:00+00:00", "data": data})
        return carrier


async def test_an_observed_session_works_within_the_span_that_its_record_names(
    received: Received, tmp_path: Path
) -> None:
    session = Session()
    options = EvalOptions(enabled=True, working_directory=tmp_path).add_open_telemetry_sink(prefix="copilot.evals")
    async with EvalHarness.attach(session, options) as harness:
        harness.begin_task("fix the tests")
        carrier = await session.work()
        completed = await harness.complete_run(success=True)
    assert completed.record is not None
    _, trace_id, span_id, _ = carrier["traceparent"].split("-")
    assert completed.record.trace_id == trace_id
    span = received.in_trace(trace_id)["invoke_workflow fix the tests"]
    assert span.span_id.hex() == span_id
    assert attributes(span)["viva.run.success"] is True
    scores = {attributes(each)["viva.dimension"] for each in received.points("copilot.evals.score")}
    assert {"tool_economy", "reliability"} <= scores
    (calls,) = received.points("copilot.evals.tool_calls")
    assert (calls.as_int, attributes(calls)["gen_ai.tool.name"]) == (1, "bash")
    assert {"operational", "operational.tool_economy"} <= {
        attributes(each)["gen_ai.evaluation.name"] for each in received.logs
    }


async def test_runs_that_are_completed_in_another_task_do_not_become_parts_of_each_other(
    received_by_http: Received, tmp_path: Path
) -> None:
    session = Session()
    options = EvalOptions(enabled=True, working_directory=tmp_path).add_open_telemetry_sink()
    traces = []
    async with EvalHarness.attach(session, options) as harness:
        for label in ("one", "two", "three"):
            harness.begin_task(label)
            await session.work()
            # What `asyncio.gather`, and in Python 3.11 `wait_for`, do, too.
            completed = await asyncio.create_task(harness.complete_run())
            assert completed.record is not None
            traces.append(completed.record.trace_id)
    assert len(set(traces)) == 3
    runs = [span for span in received_by_http.spans if span.name.startswith("invoke_workflow")]
    assert [span.parent_span_id for span in runs] == [b""] * 3


async def test_each_attempt_at_a_run_has_a_span_and_the_record_names_the_last(received_by_http: Received) -> None:
    def told(words: str) -> None:
        raise AssertionError(words)

    feed = SinkFeed(OpenTelemetrySink(), "otel", told)
    header = RunHeader(id="r-1", subject="shop", agent="clerk", max_rounds=1)
    traces = []
    for attempt in (1, 2):
        await feed.on_start(replace(header, attempt=attempt))
        traces.append(current_trace_id())
    record = replace(RECORD, trace_id=traces[-1])
    await feed.on_end(replace(header, attempt=2), record, TRANSCRIPT)
    assert current_trace_id() is None
    await feed.on_closed()
    assert len(set(traces)) == 2
    first, second = (received_by_http.in_trace(trace)["invoke_workflow shop"] for trace in traces)
    assert (first.status.code, second.status.code) == (2, 0)
    assert first.parent_span_id == second.parent_span_id == b""
    assert "invoke_agent clerk" in received_by_http.in_trace(traces[-1])

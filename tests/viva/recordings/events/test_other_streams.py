"""AutoGen's log, gen_ai spans and conversations feed the same collector."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from autogen_core import EVENT_LOGGER_NAME
from autogen_core.logging import LLMCallEvent, LLMStreamEndEvent, MessageHandlerExceptionEvent, ToolCallEvent

import viva.models.autogen.client  # noqa: F401 -- it silences AutoGen's loggers, which observing must overcome
from tests.conftest import require
from viva.recordings.events.autogen import LOGGER, autogen_collector, observing_autogen
from viva.recordings.events.collector import EvalCollector
from viva.recordings.events.conversation import conversation_metrics
from viva.recordings.events.gen_ai import GenAiSpans
from viva.records.transcript import Round, Step, StepKind, StopReason, Transcript, Usage


@pytest.fixture
def events() -> Iterator[logging.Logger]:
    logger = logging.getLogger(EVENT_LOGGER_NAME)
    before = logger.level
    yield logger
    logger.setLevel(before)


def test_autogens_events_are_collected_though_viva_silences_its_logger(events: logging.Logger) -> None:
    assert events.name == LOGGER
    assert not events.isEnabledFor(logging.INFO)
    collector = autogen_collector(capture_content=True)
    with observing_autogen(collector):
        usage = {"prompt_tokens_details": {"cached_tokens": 5}, "completion_tokens_details": {"reasoning_tokens": 2}}
        response = {"model": "gpt-4o", "usage": usage}
        events.info(LLMCallEvent(messages=[], response=response, prompt_tokens=10, completion_tokens=4))
        events.info(LLMStreamEndEvent(response={}, prompt_tokens=1, completion_tokens=1))
        events.info(ToolCallEvent(tool_name="search", arguments={"q": "x"}, result="found"))
        fault = ValueError("boom")
        events.info(MessageHandlerExceptionEvent(payload="", handling_agent="a/1", exception=fault))  # type: ignore[arg-type]
        events.info("a line of text")
    events.info(ToolCallEvent(tool_name="later", arguments={}, result=""))
    snapshot = collector.snapshot()
    assert snapshot.usage_by_model == {
        "gpt-4o": Usage(10, 4, 5, 2, 1, cost=None),
        "unknown": Usage(1, 1, calls=1, cost=None),
    }
    assert snapshot.tool_calls == {"search": 1}
    assert snapshot.aborts == {"MessageHandlerException": 1}
    assert not events.isEnabledFor(logging.INFO)
    tool = next(step for step in collector.transcript().rounds[0].steps if step.kind is StepKind.TOOL)
    assert (tool.tool_input, tool.result) == ({"q": "x"}, "found")


def test_what_autogen_logs_reaches_no_handler_that_did_not_see_it_before(events: logging.Logger) -> None:
    seen: list[logging.LogRecord] = []

    class Above(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(record)

    above = Above()
    logging.getLogger("autogen_core").addHandler(above)
    try:
        with observing_autogen(autogen_collector()):
            events.info(ToolCallEvent(tool_name="search", arguments={}, result=""))
    finally:
        logging.getLogger("autogen_core").removeHandler(above)
    assert not seen


def tracer() -> tuple[Any, GenAiSpans]:
    try:
        from opentelemetry.sdk.trace import TracerProvider
    except ImportError:
        require("otel", False, "opentelemetry-sdk is not installed")
    provider, spans = TracerProvider(), GenAiSpans(capture_content=True)
    provider.add_span_processor(spans)  # type: ignore[arg-type]
    return provider.get_tracer("test"), spans


def test_gen_ai_spans_are_collected() -> None:
    from opentelemetry.trace import StatusCode

    trace, spans = tracer()
    with trace.start_as_current_span("invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
        told = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "gpt-5",
            "gen_ai.response.model": "gpt-5-2026",
            "gen_ai.usage.input_tokens": 20,
            "gen_ai.usage.output_tokens": 6,
            "gen_ai.usage.cache_read.input_tokens": 8,
        }
        trace.start_span("chat gpt-5", attributes=told).end()
        failed = {"gen_ai.operation.name": "chat", "error.type": "429"}
        trace.start_span("chat", attributes=failed).end()
        tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.id": "c1"}
        trace.start_span("execute_tool", attributes=tool).end()
        broken = trace.start_span("execute_tool", attributes={**tool, "gen_ai.tool.call.id": "c2"})
        broken.set_status(StatusCode.ERROR)
        broken.end()
        trace.start_span("GET /", attributes={"http.request.method": "GET"}).end()
        trace.start_span("dance", attributes={"gen_ai.operation.name": "dance"}).end()
    snapshot = spans.collector.snapshot()
    assert snapshot.usage_by_model == {"gpt-5-2026": Usage(20, 6, 8, calls=1, cost=None)}
    assert (snapshot.tool_calls, snapshot.tool_failures) == ({"search": 2}, {"search": 1})
    assert snapshot.model_failures == {"429": 1}
    assert snapshot.unknown == {"event dance": 1}
    assert spans.force_flush()
    spans.shutdown()


def test_the_spans_that_vivas_own_sink_makes_of_a_run_are_not_counted_once_more() -> None:
    from viva.sinks.otel.spans import VIVA

    trace, spans = tracer()
    for operation in ("chat", "execute_tool"):
        told = {"gen_ai.operation.name": operation, "gen_ai.provider.name": VIVA, "gen_ai.usage.input_tokens": 20}
        trace.start_span(operation, attributes=told).end()
    assert spans.collector.snapshot() == EvalCollector().snapshot()


def agent_span(name: str) -> dict[str, str]:
    return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}


def chat_span(**more: Any) -> dict[str, Any]:
    return {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **more}


USED = {"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 6}


def test_an_agent_within_an_agent_is_a_sub_agent_and_siblings_are_not() -> None:
    trace, spans = tracer()
    with trace.start_as_current_span("invoke_agent boss", attributes=agent_span("boss")):
        trace.start_span("chat", attributes=chat_span(**USED)).end()
        tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ask", "gen_ai.tool.call.id": "1"}
        with (
            trace.start_as_current_span("execute_tool ask", attributes=tool),
            trace.start_as_current_span("invoke_agent expert", attributes=agent_span("expert")),
        ):
            trace.start_span("chat", attributes=chat_span(**USED)).end()
            search = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
            trace.start_span("execute_tool", attributes=search).end()
    with trace.start_as_current_span("invoke_agent boss", attributes=agent_span("boss")):
        trace.start_span("chat", attributes=chat_span(**USED)).end()
    snapshot = spans.collector.snapshot()
    assert snapshot.usage.calls == 3
    assert list(snapshot.subagents) == ["expert"]
    expert = snapshot.subagents["expert"]
    assert (expert.started, expert.usage.calls, expert.tool_calls, expert.failed) == (1, 1, 1, 0)


def test_a_sub_agent_whose_attributes_come_late_is_known_by_its_spans_name() -> None:
    trace, spans = tracer()
    with (
        trace.start_as_current_span("invoke_agent boss") as boss,
        trace.start_as_current_span("invoke_agent expert") as expert,
    ):
        trace.start_span("chat", attributes=chat_span(**USED)).end()
        boss.set_attributes(agent_span("boss"))
        expert.set_attributes(agent_span("expert"))
    assert list(spans.collector.snapshot().subagents) == ["expert"]


def test_an_agent_that_crashed_before_any_call_leaves_a_run() -> None:
    trace, spans = tracer()
    spans.collector.begin_task("crash")
    with (
        pytest.raises(RuntimeError),
        trace.start_as_current_span("invoke_agent boss", attributes=agent_span("boss")),
    ):
        raise RuntimeError("no key")
    transcript = spans.collector.transcript()
    assert spans.collector.snapshot().aborts == {"error": 1}
    assert "no key" in (transcript.rounds[0].error or "")
    with (
        trace.start_as_current_span("invoke_agent boss", attributes=agent_span("boss")),
        contextlib.suppress(RuntimeError),
        trace.start_as_current_span("invoke_agent expert", attributes=agent_span("expert")),
    ):
        raise RuntimeError("no key")
    assert spans.collector.snapshot().subagents["expert"].failed == 1
    assert spans.collector.snapshot().aborts == {"error": 1}


def test_two_model_spans_of_one_call_count_once_whichever_has_the_tokens() -> None:
    trace, spans = tracer()
    with trace.start_as_current_span("chat outer", attributes=chat_span(**USED)):
        trace.start_span("chat inner", attributes=chat_span(**USED)).end()
    with trace.start_as_current_span("chat outer", attributes=chat_span(**USED)):
        trace.start_span("chat inner", attributes=chat_span()).end()
    with trace.start_as_current_span("chat outer", attributes=chat_span()):
        trace.start_span("chat inner", attributes=chat_span(**USED)).end()
    assert spans.collector.snapshot().usage == Usage(60, 18, calls=3, cost=None)


def test_the_token_counts_of_older_conventions_are_read() -> None:
    trace, spans = tracer()
    older = {"gen_ai.usage.prompt_tokens": 20, "gen_ai.usage.completion_tokens": 6}
    trace.start_span("chat", attributes=chat_span(**older)).end()
    assert spans.collector.snapshot().usage == Usage(20, 6, calls=1, cost=None)


def test_the_span_of_an_observed_run_makes_no_agent_a_sub_agent() -> None:
    from viva.sinks.otel.spans import VIVA

    trace, spans = tracer()
    own = {**agent_span("viva"), "gen_ai.provider.name": VIVA}
    with (
        trace.start_as_current_span("run", attributes=own),
        trace.start_as_current_span("invoke_agent boss", attributes=agent_span("boss")),
    ):
        trace.start_span("chat", attributes=chat_span(**USED)).end()
    assert spans.collector.snapshot().subagents == {}


def test_a_span_that_cannot_be_read_stops_nothing() -> None:
    spans = GenAiSpans()
    spans.on_start(SimpleNamespace())
    spans.on_end(SimpleNamespace())
    assert spans.collector.snapshot().unknown == {"event (unreadable)": 2}


def told(rounds: tuple[Round, ...], **more: Any) -> Any:
    return conversation_metrics(Transcript(rounds, **more))


def test_a_conversation_tells_its_tools_failures_and_models() -> None:
    steps = (
        Step("1", StepKind.TOOL, tool="search", result="x"),
        Step("2", StepKind.TOOL, tool="search", error="lost"),
        Step("3", StepKind.MODEL, model="gpt-5", usage=Usage(8, 2, calls=1, cost=0.1)),
        Step("4", StepKind.MODEL, model="gpt-5", error="429"),
    )
    metrics = told((Round(1, "q", "a", steps, usage=Usage(10, 3, calls=2, cost=0.15)), Round(2, "q", "b")))
    assert (metrics.tool_calls, metrics.tool_failures) == ({"search": 2}, {"search": 1})
    assert metrics.usage_by_model["gpt-5"] == Usage(8, 2, calls=1, cost=0.1)
    # What the round used beyond its steps is nobody's by name.
    rest = metrics.usage_by_model["unknown"]
    assert (rest.input_tokens, rest.output_tokens, rest.calls, rest.cost) == (2, 1, 1, pytest.approx(0.05))
    assert metrics.model_failures == {"error": 1}
    assert metrics.usage.input_tokens == 10


def test_steps_that_repeat_the_sums_of_those_below_them_count_once() -> None:
    steps = (
        Step("1", StepKind.AGENT, model="gpt-5", usage=Usage(10, 2, calls=1)),
        Step("2", StepKind.MODEL, parent_id="1", model="gpt-5", usage=Usage(10, 2, calls=1)),
    )
    assert told((Round(1, "q", "a", steps),)).usage_by_model == {"gpt-5": Usage(10, 2, calls=1)}


def test_a_conversation_that_its_agent_broke_off_is_an_abort_and_the_examiners_fault_is_none() -> None:
    assert told((), stop=StopReason.TIMEOUT, fault="target").aborts == {"timeout": 1}
    assert told((), stop=StopReason.TIMEOUT, fault="infra").aborts == {}
    assert told((), stop=StopReason.FINISHED).aborts == {}


def test_what_nobody_reported_is_unknown() -> None:
    metrics = told((Round(1, "q", "a"),))
    assert metrics.usage_by_model == {}
    assert not metrics.usage.reported

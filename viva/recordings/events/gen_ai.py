"""Reads OpenTelemetry spans that follow the conventions for generative AI, for a collector.

The attributes are those of https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from viva.recordings.events.collector import EvalCollector
from viva.recordings.events.gen_ai_nesting import OpenSpan, SpanNesting

SOURCE = "gen_ai"
VIVA = "viva"
"""The provider that Viva's own spans name. They repeat what was observed, and must not be counted again."""
EMBEDDINGS = "embeddings"
MODEL_OPERATIONS = ("chat", "text_completion", "generate_content", EMBEDDINGS)
TOOL = "execute_tool"
AGENT = "invoke_agent"
_NESTINGS: WeakKeyDictionary[EvalCollector, SpanNesting] = WeakKeyDictionary()
"""The open spans of each collector that a span processor feeds."""


class GenAiSpans:
    """A span processor that feeds a collector: `provider.add_span_processor(GenAiSpans(collector))`.

    It imports nothing from the SDK, so it works with any version of it.
    """

    def __init__(self, collector: EvalCollector | None = None, *, capture_content: bool = False) -> None:
        """Args:
        collector: A collector whose events are spans; None creates one.
        capture_content: Whether a collector that is created here keeps content.
        """
        self.collector = collector or EvalCollector(
            capture_content=capture_content, source=SOURCE, take=take_gen_ai_span
        )
        self._nesting = _NESTINGS.setdefault(self.collector, SpanNesting())

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """Note where a span lies; it is counted when it is complete."""
        try:
            self._begin(span)
        except Exception:
            self.collector.not_known("event (unreadable)")

    def _begin(self, span: Any) -> None:
        given: Mapping[str, Any] = span.attributes or {}
        operation, own = given.get("gen_ai.operation.name"), given.get("gen_ai.provider.name") == VIVA
        agent = None
        # Some instrumentations set attributes later; the convention names such a span `invoke_agent NAME`.
        if not own and (operation == AGENT or (operation is None and span.name.startswith(f"{AGENT} "))):
            agent = given.get("gen_ai.agent.name") or span.name.removeprefix(AGENT).strip() or AGENT
        found = self._nesting.begin(
            span.context.span_id,
            None if span.parent is None else span.parent.span_id,
            calls_model=operation in MODEL_OPERATIONS and not own,
            agent=agent,
        )
        if agent is not None and found.agent is not None:
            self.collector.subagent_started(agent)

    def _on_ending(self, span: Any) -> None:
        """Do nothing."""

    def on_end(self, span: Any) -> None:
        """Process a span that has ended."""
        self.collector.take(span)
        context = getattr(span, "context", None)
        if context is not None:
            self._nesting.end(context.span_id)

    def shutdown(self) -> None:
        """Do nothing."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Do nothing: no span is queued."""
        return True


def take_gen_ai_span(collector: EvalCollector, span: Any) -> None:
    """Process one ended span (`opentelemetry.sdk.trace.ReadableSpan`); spans of other conventions are ignored.

    Agents are told apart, and model calls within one another count once, where `GenAiSpans` feeds the collector.
    """
    given: Mapping[str, Any] = span.attributes or {}
    operation = given.get("gen_ai.operation.name")
    if operation is None or given.get("gen_ai.provider.name") == VIVA:
        return
    nesting = _NESTINGS.get(collector)
    place = None if nesting is None else nesting.find(span.context.span_id)
    agent = None if place is None else place.agent
    began, ended = _seconds(span.start_time), _seconds(span.end_time)
    failure = given.get("error.type") or ("error" if _failed(span) else None)
    if operation in MODEL_OPERATIONS:
        if not _is_told_elsewhere(place, given, failure):
            _model_call(collector, given, failure, agent, began, ended)
    elif operation == TOOL:
        call = given.get("gen_ai.tool.call.id") or f"{span.context.span_id:016x}"
        arguments, result = given.get("gen_ai.tool.call.arguments"), given.get("gen_ai.tool.call.result")
        collector.tool_started(call, given.get("gen_ai.tool.name"), arguments=arguments, agent=agent, at=began)
        success = failure is None
        collector.tool_completed(call, success=success, result=result, code=failure, agent=agent, at=ended)
    elif operation == AGENT:
        if failure is not None:
            _agent_failed(collector, span, failure, agent)
    elif operation not in ("create_agent", "invoke_workflow"):
        collector.not_known(f"event {operation}")


def _is_told_elsewhere(place: OpenSpan | None, given: Mapping[str, Any], failure: object) -> bool:
    """Return whether another span around or within a model call tells of it; note that this one does, if it does."""
    if place is None:
        return False
    silent = failure is None and _tokens(given, "input") is None and _tokens(given, "output") is None
    if place.told or (silent and place.within_a_model_call):
        return True
    place.tell()
    return False


def _model_call(
    collector: EvalCollector,
    given: Mapping[str, Any],
    failure: object,
    agent: str | None,
    began: float | None,
    ended: float | None,
) -> None:
    if failure is not None:
        collector.model_failed(failure, agent=agent)
        return
    output = _tokens(given, "output")
    if output is None and given.get("gen_ai.operation.name") == EMBEDDINGS:
        output = 0  # an embedding puts nothing out, and its span states no figure for that
    collector.model_called(
        given.get("gen_ai.response.model") or given.get("gen_ai.request.model"),
        input_tokens=_tokens(given, "input"),
        output_tokens=output,
        cached_tokens=given.get("gen_ai.usage.cache_read.input_tokens"),
        cache_write_tokens=given.get("gen_ai.usage.cache_creation.input_tokens"),
        reasoning_tokens=given.get("gen_ai.usage.reasoning.output_tokens"),
        agent=agent,
        at=ended,
        seconds=None if began is None or ended is None else ended - began,
    )


def _tokens(given: Mapping[str, Any], side: str) -> Any:
    """Return the input or output tokens; versions of the conventions before 1.27 call them prompt and completion."""
    older = {"input": "prompt", "output": "completion"}[side]
    value = given.get(f"gen_ai.usage.{side}_tokens")
    return given.get(f"gen_ai.usage.{older}_tokens") if value is None else value


def _agent_failed(collector: EvalCollector, span: Any, failure: object, agent: str | None) -> None:
    """Note that an agent crashed: a sub-agent's failure, or the end of the run, which may hold nothing else."""
    if agent is not None:
        collector.subagent_failed(agent)
        return
    words = getattr(getattr(span, "status", None), "description", None)
    collector.failed_with(failure, words or failure)
    collector.aborted(failure)


def _failed(span: Any) -> bool:
    return getattr(getattr(getattr(span, "status", None), "status_code", None), "name", None) == "ERROR"


def _seconds(nanoseconds: Any) -> float | None:
    return nanoseconds / 1e9 if isinstance(nanoseconds, int) else None

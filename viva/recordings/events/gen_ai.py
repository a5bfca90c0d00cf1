"""Reads OpenTelemetry spans that follow the conventions for generative AI, for a collector.

The attributes are those of https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viva.recordings.events.collector import EvalCollector

SOURCE = "gen_ai"
VIVA = "viva"
"""The provider that Viva's own spans name. They repeat what was observed, and must not be counted again."""
EMBEDDINGS = "embeddings"
MODEL_OPERATIONS = ("chat", "text_completion", "generate_content", EMBEDDINGS)
TOOL = "execute_tool"
AGENT = "invoke_agent"


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

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """Do nothing: a span is complete when it ends."""

    def _on_ending(self, span: Any) -> None:
        """Do nothing."""

    def on_end(self, span: Any) -> None:
        """Process a span that has ended."""
        self.collector.take(span)

    def shutdown(self) -> None:
        """Do nothing."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Do nothing: no span is queued."""
        return True


def take_gen_ai_span(collector: EvalCollector, span: Any) -> None:
    """Process one ended span (`opentelemetry.sdk.trace.ReadableSpan`); spans of other conventions are ignored."""
    given: Mapping[str, Any] = span.attributes or {}
    operation = given.get("gen_ai.operation.name")
    if operation is None or given.get("gen_ai.provider.name") == VIVA:
        return
    began, ended = _seconds(span.start_time), _seconds(span.end_time)
    failure = given.get("error.type") or ("error" if _failed(span) else None)
    if operation in MODEL_OPERATIONS:
        if failure is not None:
            collector.model_failed(failure)
            return
        collector.model_called(
            given.get("gen_ai.response.model") or given.get("gen_ai.request.model"),
            input_tokens=given.get("gen_ai.usage.input_tokens"),
            # An embedding puts nothing out, and its span states no figure for that.
            output_tokens=given.get("gen_ai.usage.output_tokens", 0 if operation == EMBEDDINGS else None),
            cached_tokens=given.get("gen_ai.usage.cache_read.input_tokens"),
            cache_write_tokens=given.get("gen_ai.usage.cache_creation.input_tokens"),
            reasoning_tokens=given.get("gen_ai.usage.reasoning.output_tokens"),
            at=ended,
            seconds=None if began is None or ended is None else ended - began,
        )
    elif operation == TOOL:
        call = given.get("gen_ai.tool.call.id") or f"{span.context.span_id:016x}"
        arguments, result = given.get("gen_ai.tool.call.arguments"), given.get("gen_ai.tool.call.result")
        collector.tool_started(call, given.get("gen_ai.tool.name"), arguments=arguments, at=began)
        collector.tool_completed(call, success=failure is None, result=result, code=failure, at=ended)
    elif operation not in (AGENT, "create_agent", "invoke_workflow"):
        collector.not_known(f"event {operation}")


def _failed(span: Any) -> bool:
    return getattr(getattr(getattr(span, "status", None), "status_code", None), "name", None) == "ERROR"


def _seconds(nanoseconds: Any) -> float | None:
    return nanoseconds / 1e9 if isinstance(nanoseconds, int) else None

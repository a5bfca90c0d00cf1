"""The OpenTelemetry trace that is current: for the record of a run, and for agents outside of Viva's process."""

from __future__ import annotations

import sys
from typing import Any


def current_trace_id() -> str | None:
    """Return the id of the current trace, 32 hexadecimal digits; None if no span is open."""
    context = _context()
    return None if context is None else f"{context.trace_id:032x}"


def current_traceparent() -> str | None:
    """Return the current span as the header `traceparent` of W3C Trace Context; None if no span is open."""
    context = _context()
    if context is None:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


def join_trace(traceparent: str) -> None:
    """Make a span of another process the current one of this task, so that agents and records refer to its trace.

    Nothing happens if OpenTelemetry is not installed here, or if the text is not a header `traceparent`.
    """
    parts = traceparent.split("-")
    try:
        from opentelemetry import context, trace

        found = trace.SpanContext(int(parts[1], 16), int(parts[2], 16), True, trace.TraceFlags(int(parts[3], 16)))
    except (ImportError, IndexError, ValueError):
        return
    if found.is_valid:
        context.attach(trace.set_span_in_context(trace.NonRecordingSpan(found)))


def _context() -> Any:
    # The opener of a span has imported OpenTelemetry, so it is not imported for this.
    trace = sys.modules.get("opentelemetry.trace")
    context = None if trace is None else trace.get_current_span().get_span_context()
    return context if context is not None and context.is_valid else None

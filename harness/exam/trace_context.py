"""Tells which OpenTelemetry trace is current, so that the record of a run names the trace that holds its spans."""

from __future__ import annotations

import sys


def current_trace_id() -> str | None:
    """Return the id of the current trace, 32 hexadecimal digits; None where no span is open.

    Whoever opened one has imported OpenTelemetry, so it is not imported for this.
    """
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else None

"""Says why no decision of an agent was recognised in the spans of a run."""

from __future__ import annotations

from collections.abc import Sequence

from viva.recordings.spans.span import Span, SpanKind
from viva.records.text import one_line

MOST_NAMED = 4
"""Instrumentations that are named."""
WORDS = 100
"""Characters of the message of an error."""


def why_unread(spans: Sequence[Span]) -> str:
    """Return why a run is empty, and which instrumentations wrote its spans; equal causes have equal words."""
    failed = next((span for span in spans if span.failed), None)
    if failed is not None and any(span.kind is not SpanKind.OTHER for span in spans):
        why = f"it ended in an error before the agent decided anything: {one_line(failed.message, WORDS)}"
    elif any(span.kind is SpanKind.LLM for span in spans):
        why = "its spans of model calls hold no output that was recognised"
    elif any(span.kind is SpanKind.AGENT for span in spans):
        why = "it has a span of an agent, and none of a model call or a tool that was recognised"
    else:
        why = "none of its spans was recognised as one of a model call, a tool or an agent"
    return f"{why} ({_instrumentations(spans)})"


def _instrumentations(spans: Sequence[Span]) -> str:
    names = sorted({span.scope for span in spans if span.scope})
    if not names:
        return "the spans name no instrumentation"
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"instrumentation: {', '.join(one_line(name, 60) for name in names[:MOST_NAMED])}{more}"

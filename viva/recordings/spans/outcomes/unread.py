"""Says why no decision of an agent was recognised in the spans of a run."""

from __future__ import annotations

from collections.abc import Sequence

from viva.recordings.spans.conventions.sightings import sighting
from viva.recordings.spans.span import Span, SpanKind
from viva.records.text import one_line

WORDS = 100
"""Characters of the message of an error."""


def why_unread(spans: Sequence[Span]) -> str:
    """Return why a run is empty: the error that ended it, or what was seen of conventions and instrumentations."""
    failed = next((span for span in spans if span.failed), None)
    if failed is not None and any(span.kind is not SpanKind.OTHER for span in spans):
        return f"it ended in an error before the agent decided anything: {one_line(failed.message, WORDS)}"
    return one_line(str(sighting(spans)), 400)

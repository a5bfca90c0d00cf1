"""Translates the content of spans by the convention that they follow. A new convention is added to `CONVENTIONS`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from viva.recordings.spans.conventions import (
    agno,
    crewai,
    dspy,
    google_adk,
    mcp,
    openllmetry,
    smolagents,
    strands,
    vercel_ai,
    written_as_read,
)
from viva.recordings.spans.conventions.convention import Convention, SpanContent

if TYPE_CHECKING:
    from viva.recordings.spans.span import Span

CONVENTIONS: tuple[Convention, ...] = (
    written_as_read.GEN_AI,
    written_as_read.OPENINFERENCE,
    openllmetry.OPENLLMETRY,
    vercel_ai.VERCEL_AI,
    mcp.MCP,
    agno.AGNO,
    strands.STRANDS,
    google_adk.GOOGLE_ADK,
    smolagents.SMOLAGENTS,
    crewai.CREWAI,
    dspy.DSPY,
)
"""All that are known. Each that translates is given what those before it have made of a span."""


def names() -> tuple[str, ...]:
    """Return the names of the known conventions, for messages."""
    return tuple(convention.name for convention in CONVENTIONS)


def translated(content: SpanContent) -> SpanContent:
    """Return the content of a span in the attributes that the readers know."""
    found = _of_scope(content.scope)
    if _KEYS.isdisjoint(content.attributes) and not found:
        return content
    for convention in _TRANSLATED:
        if convention in found or not convention.keys.isdisjoint(content.attributes):
            assert convention.translate is not None
            content = convention.translate(content)
    return content


def placed(spans: Sequence[Span]) -> Sequence[Span]:
    """Return the spans of a trace, each below the span that it belongs to."""
    for convention in _PLACED:
        if any(not convention.keys.isdisjoint(span.attributes) for span in spans):
            assert convention.place is not None
            spans = convention.place(spans)
    return spans


_PLACED = tuple(convention for convention in CONVENTIONS if convention.place is not None)
_TRANSLATED = tuple(convention for convention in CONVENTIONS if convention.translate is not None)
_KEYS = frozenset(key for convention in _TRANSLATED for key in convention.keys)


@lru_cache(maxsize=1000)
def _of_scope(scope: str) -> tuple[Convention, ...]:
    return tuple(
        convention for convention in _TRANSLATED if any(scope.startswith(begin) for begin in convention.scopes)
    )

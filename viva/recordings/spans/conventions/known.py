"""Translates the content of spans by the convention that they follow. A new convention is added to `CONVENTIONS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
"""All that are known. A span may follow several: each is given what those before it have made of the span."""


def names() -> tuple[str, ...]:
    """Return the names of the known conventions, for messages: without those that only refine OpenInference."""
    return tuple(convention.name for convention in CONVENTIONS if not convention.name.endswith("(OpenInference)"))


def translated(content: SpanContent) -> SpanContent:
    """Return the content of a span in the attributes that the readers know."""
    for translate in _translations(content.scope, _KEYS.intersection(content.attributes)):
        content = translate(content)
    return content


def placed(spans: Sequence[Span]) -> Sequence[Span]:
    """Return the spans of a trace, each below the span that it belongs to."""
    for convention in _PLACED:
        if any(not convention.keys.isdisjoint(span.attributes) for span in spans):
            assert convention.place is not None
            spans = convention.place(spans)
    return spans


_PLACED = tuple(convention for convention in CONVENTIONS if convention.place is not None)
_KEYS = frozenset(key for convention in CONVENTIONS if convention.translate is not None for key in convention.keys)


@lru_cache(maxsize=1000)
def _translations(scope: str, keys: frozenset[str]) -> tuple[Callable[[SpanContent], SpanContent], ...]:
    """Return the translations of the conventions that a span with this scope and these keys follows."""
    return tuple(
        convention.translate
        for convention in CONVENTIONS
        if convention.translate is not None
        and (not convention.keys.isdisjoint(keys) or any(scope.startswith(begin) for begin in convention.scopes))
    )

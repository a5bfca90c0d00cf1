"""Reads the names that spans give to agents, and other texts that one of several attributes holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from viva.recordings.spans.span import Span

AGENT_NAMES = ("gen_ai.agent.name", "agent.name", "agent_name", "graph.node.id")
"""Attributes that hold the name of an agent."""


def agent_name(span: Span | None) -> str | None:
    """Return the name of an agent by its span."""
    if span is None:
        return None
    name = first_text([span], AGENT_NAMES)
    plain = span.name.removeprefix("invoke_agent ").strip()
    return name or plain.partition(".")[0] or None


def first_text(spans: Iterable[Span], keys: Sequence[str]) -> str | None:
    """Return the first value that spans have under one of some keys, as text."""
    for span in spans:
        for key in keys:
            if (value := span.attributes.get(key)) is not None and (text := plain(value)):
                return text
    return None


def plain(value: Any) -> str | None:
    """Return a text or number as text; None for anything else, and for empty text."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) and str(value) else None

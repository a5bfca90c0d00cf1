"""`Convention`: how one instrumentation writes spans, and how these become what the readers of trajectories know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viva.recordings.spans.span import Span


@dataclass(slots=True)  # every span is one of these for a moment; frozen, it would take three times as long to make
class SpanContent:
    """What a span says, before it is known of what it is. A translation returns another one."""

    name: str
    scope: str
    """Name of the instrumentation, if the source names it."""
    attributes: dict[str, Any]
    """Flat, as in `Span`."""
    events: tuple[Mapping[str, Any], ...] = ()
    """Each with `name` and flat `attributes`."""
    failed: bool = False
    message: str = ""


@dataclass(frozen=True, slots=True)
class Convention:
    """One way to write spans of agents.

    A span follows it if one of its attributes is among the `keys`, or if the name of its scope begins with one of the
    `scopes`. `translate` returns the content in the attributes of `gen_ai.*` or OpenInference, for example
    `gen_ai.operation.name` (`chat`, `execute_tool`, `invoke_agent`), which says of what a span is; it adds to the
    attributes, and overwrites only what would be misread. None where the readers know the attributes as they are.
    """

    name: str
    """As users know it, for messages and the page on recordings."""
    prefixes: tuple[str, ...]
    """What its attributes begin with, for messages and to tell whether a trace follows it."""
    keys: frozenset[str] = frozenset()
    scopes: tuple[str, ...] = ()
    translate: Callable[[SpanContent], SpanContent] | None = None
    place: Callable[[Sequence[Span]], Sequence[Span]] | None = None
    """Returns the spans of a trace with other parents, where spans are beside what they belong to; None for most."""

"""Tells what a trace holds of which nothing could be read: conventions, instrumentations, and kinds of attributes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from viva.recordings.spans.conventions.known import CONVENTIONS, names
from viva.recordings.spans.span import Span

_MOST = 4
"""Scopes and prefixes that a message names; the others are counted."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """What was seen in spans."""

    conventions: tuple[str, ...]
    """The known conventions that any span follows."""
    scopes: tuple[str, ...]
    """The instrumentations that the spans name, the most frequent first."""
    prefixes: tuple[str, ...]
    """What attributes begin with (`http.*`), the most frequent first."""

    def __str__(self) -> str:
        """Return one sentence for a message to users."""
        if self.conventions:
            return f"its spans follow {_listed(self.conventions)}, but none is of a model's answer or a tool's run"
        wrote = f" of {_listed(self.scopes)}" if self.scopes else ""
        found = f" with the attributes {_listed(self.prefixes)}" if self.prefixes else " without attributes"
        return f"its spans{wrote}{found} follow none of the known conventions ({', '.join(names())})"


def sighting(spans: Iterable[Span]) -> Sighting:
    """Return what was seen in the spans of a trace."""
    scopes: Counter[str] = Counter()
    prefixes: Counter[str] = Counter()
    followed: dict[str, None] = {}
    for span in spans:
        if span.scope:
            scopes[span.scope] += 1
        prefixes.update({f"{key.partition('.')[0]}.*" if "." in key else key for key in span.attributes})
        for convention in CONVENTIONS:
            if convention.name not in followed and (
                any(key.startswith(convention.prefixes) for key in span.attributes)
                or any(span.scope.startswith(begin) for begin in convention.scopes)
            ):
                followed[convention.name] = None
    return Sighting(tuple(followed), _frequent(scopes), _frequent(prefixes))


def _frequent(counted: Counter[str]) -> tuple[str, ...]:
    return tuple(sorted(counted, key=lambda each: (-counted[each], each)))


def _listed(words: tuple[str, ...]) -> str:
    more = f" and {len(words) - _MOST} more" if len(words) > _MOST else ""
    return ", ".join(words[:_MOST]) + more

"""Attempts at a run in which the examiner was at fault, as the insight of the evaluator `exam` keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

EARLIER = "earlier"
"""The key of the insight's details that holds them."""
BROKE_OFF = "broke_off"
"""Stands for a kind of fault where the examiner gave no usable message, so that there was no exam to judge."""
MOST_EARLIER = 100
MOST_KINDS = 20


@dataclass(frozen=True, slots=True)
class UnfairAttempt:
    """One attempt."""

    attempt: int
    kinds: tuple[str, ...]
    """The kinds of faults that made it unfair."""
    score: float | None = None
    """What the agent would have scored; None if nothing was judged."""

    def plain(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {"attempt": self.attempt, "kinds": list(self.kinds), "score": self.score}


def earlier_attempts(details: Mapping[str, Any]) -> tuple[UnfairAttempt, ...]:
    """Return the attempts in the details of an insight, which may be anybody's; what has another form is left out."""
    return sound_attempts(details.get(EARLIER))


def sound_attempts(given: object) -> tuple[UnfairAttempt, ...]:
    """Return the attempts in JSON data, which may be anybody's; what has another form is left out."""
    found = []
    for each in (given if isinstance(given, list | tuple) else ())[:MOST_EARLIER]:
        if not isinstance(each, Mapping):
            continue
        number, kinds, score = each.get("attempt"), each.get("kinds"), each.get("score")
        sound = isinstance(score, int | float) and not isinstance(score, bool) and 0 <= score <= 1
        if isinstance(number, int) and isinstance(kinds, list | tuple):
            texts = tuple(kind[:60] for kind in kinds[:MOST_KINDS] if isinstance(kind, str))
            found.append(UnfairAttempt(number, texts, float(score) if sound and score is not None else None))
    return tuple(found)

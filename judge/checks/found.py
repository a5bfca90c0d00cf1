"""What a check found in a conversation."""

from __future__ import annotations

from dataclasses import dataclass

from viva.records.verdict import Evidence, Label

MOST_EVIDENCE = 5


@dataclass(frozen=True, slots=True)
class CheckFound:
    """What became of a check, and what there was instead of what was wanted."""

    label: Label
    got: str
    evidence: tuple[Evidence, ...] = ()
    assumed: bool = False
    """Of a miss: whether it rests on nothing having been recorded, so that its opposite is no hit."""
    number: int | None = None
    """How many calls or steps count, of a check that counts them."""


def unknown(why: str) -> CheckFound:
    """Return that a check cannot be decided."""
    return CheckFound(Label.UNSURE, why)


def within(least: int, most: float, allowed_least: float | None, allowed_most: float | None) -> Label:
    """Return whether a count, of which only the bounds are known, is in a range."""
    low = 0 if allowed_least is None else allowed_least
    high = float("inf") if allowed_most is None else allowed_most
    if low <= least and most <= high:
        return Label.HIT
    return Label.MISS if most < low or least > high else Label.UNSURE

"""Keeps the conversation of one run on a page within a size, without losing the number of any round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from viva.reports.page.page_parts import plain_bytes

RUN_LIMIT = 600_000
"""Maximum size of one run in bytes, without its images; the excess is cut or left out, quoted rounds last."""
LEAST_ROOM = 2_000
"""With fewer bytes left, rounds that no verdict is about are left out unseen."""


class Shortened(NamedTuple):
    """A round that the page may show."""

    number: int
    quoted: bool
    """Whether a verdict quotes it or is about it."""
    shown: Callable[[], dict[str, Any]]
    """Shortens it to what the page shows."""


def within_limit(rounds: Iterable[Shortened]) -> Iterator[dict[str, Any]]:
    """Yield the rounds up to a run's limit; a large round loses the texts of its steps, and numbers are kept."""
    size = 0
    for number, quoted, shorten in rounds:
        # Quoted rounds may use twice the space: without them, the verdicts mean little.
        room = RUN_LIMIT * (2 if quoted else 1) - size
        if room < LEAST_ROOM and not quoted:
            yield {"n": number, "left": True, "notes": []}
            continue
        shown = shorten()
        length = _length(shown)
        if length > room:
            _cut_steps(shown, room - _length({**shown, "steps": []}))
            length = _length(shown)
        if length > room:
            yield {"n": number, "left": True, "notes": shown["notes"]}
        else:
            size += length
            yield shown


def joined_left(rounds: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rounds with one entry for those that are left out one after the other and that no verdict is about."""
    joined: list[dict[str, Any]] = []
    for round_ in rounds:
        last = joined[-1] if joined else {}
        if round_.get("left") and not round_["notes"] and last.get("left") and not last["notes"]:
            last["to"], last["count"] = round_["n"], last.get("count", 1) + 1
        else:
            joined.append(round_)
    return joined


def _cut_steps(shown: dict[str, Any], room: int) -> None:
    """Keep the texts of a round's steps as far as they fit; every step keeps its headline and images."""
    steps = shown["steps"]
    bare = [{**step, "texts": [], "extra": None, "cut": True} for step in steps]
    lengths = [_length(step) + 1 for step in bare]
    room -= sum(lengths)
    for position, step in enumerate(steps):
        room -= _length(step) + 1 - lengths[position]
        if room < 0:
            shown["steps"] = [*steps[:position], *bare[position:]]
            return


def _length(value: dict[str, Any]) -> int:
    return len(plain_bytes(value))

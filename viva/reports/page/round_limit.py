"""Keeps the conversation of one run on a page within a size, without losing the number of any round."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

RUN_LIMIT = 600_000
"""Maximum size of one run in bytes, without its images; the excess is cut or left out, quoted rounds last."""


def within_limit(rounds: Iterator[tuple[bool, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the rounds up to a run's limit; a large round loses the texts of its steps, and numbers are kept."""
    kept: list[dict[str, Any]] = []
    size = 0
    for quoted, shown in rounds:
        # Quoted rounds may use twice the space: without them, the verdicts mean little.
        room = RUN_LIMIT * (2 if quoted else 1) - size
        length = len(json.dumps(shown))
        if length > room:
            _cut_steps(shown, room - len(json.dumps({**shown, "steps": []})))
            length = len(json.dumps(shown))
        if length > room:
            kept.append({"n": shown["n"], "left": True, "notes": shown["notes"]})
        else:
            size += length
            kept.append(shown)
    return kept


def _cut_steps(shown: dict[str, Any], room: int) -> None:
    """Keep the texts of a round's steps as far as they fit; every step keeps its headline and images."""
    steps = shown["steps"]
    bare = [{**step, "texts": [], "extra": None, "cut": True} for step in steps]
    lengths = [len(json.dumps(step)) + 2 for step in bare]
    room -= sum(lengths)
    for position, step in enumerate(steps):
        room -= len(json.dumps(step)) - lengths[position]
        if room < 0:
            shown["steps"] = [*steps[:position], *bare[position:]]
            return

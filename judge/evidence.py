"""Looks up in the transcript what a judge says stands there."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from records.transcript import Round, Transcript
from records.verdict import Evidence

_QUOTES = str.maketrans({"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u00a0": " "})
_GAP = re.compile(r"\s*(?:\u2026|\.\.\.|\[\u2026\]|\[\.\.\.\])\s*")


def look_up(transcript: Transcript, quotes: Iterable[tuple[int | None, str]]) -> tuple[list[Evidence], list[str]]:
    """Find quotes.

    A quote counts as found where the same words stand, whatever the white space and the kind of quotation marks; an
    ellipsis stands for anything between. It is looked for in the named round first, then everywhere: a right quote with
    a wrong round number is corrected, not thrown away.

    Args:
        transcript: Where to look.
        quotes: Round number (None if not known) and the words.

    Returns:
        Evidence for the quotes that were found, with the words as given, and the quotes that were not.
    """
    texts = [(place, _fold(text)) for round_ in transcript.rounds for place, text in _places(round_)]
    found: list[Evidence] = []
    lost: list[str] = []
    for number, quote in quotes:
        place = _find(texts, f"r{number}" if number is not None else None, quote)
        if place is None:
            lost.append(quote)
        else:
            found.append(Evidence(place, quote.strip()))
    return found, lost


def _places(round_: Round) -> list[tuple[str, str]]:
    """Everything said in a round, each with the id it is found under; the agent's words come first."""
    places = [(round_.id, round_.agent or ""), (round_.id, round_.examiner or "")]
    for step in round_.steps:
        said = (step.observation, step.thought, step.plan, step.tool, step.result, step.error)
        given = step.tool_input if isinstance(step.tool_input, str) else str(step.tool_input or "")
        places.append((step.id, "\n".join([part for part in said if part] + [given])))
    return places


def _find(texts: Sequence[tuple[str, str]], wanted: str | None, quote: str) -> str | None:
    parts = [part for part in (_fold(piece) for piece in _GAP.split(quote.strip())) if part]
    if not parts or not any(character.isalnum() for part in parts for character in part):
        return None
    ordered = sorted(texts, key=lambda item: item[0] != wanted)
    for place, text in ordered:
        if _has(text, parts) or _has(text, [part.strip("\"'") for part in parts]):
            return place
    return None


def _has(text: str, parts: Sequence[str]) -> bool:
    position = 0
    for part in parts:
        position = text.find(part, position)
        if position < 0 or not part:
            return False
        position += len(part)
    return True


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text.translate(_QUOTES)).split())

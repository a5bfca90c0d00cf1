"""Looks up in the transcript what a judge says stands there."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from judge.view import step_text
from records.text import storable
from records.transcript import Round, Transcript
from records.verdict import Evidence

_QUOTES = str.maketrans({"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u00a0": " "})
_GAP = re.compile(r"\s*(?:\u2026|\.\.\.|\[\u2026\]|\[\.\.\.\])\s*")
_NUMBER_BEFORE = re.compile(r"(?:\d[.,]?|(?<!\w)[-\u2212])$")
_NUMBER_AFTER = re.compile(r"[.,]?\d")


@dataclass(frozen=True, slots=True)
class _Place:
    """Words that somebody said, folded."""

    where: str
    round: int
    text: str
    by_agent: bool


def look_up(
    transcript: Transcript, quotes: Iterable[tuple[int | None, str]], *, by_agent: bool = False
) -> tuple[list[Evidence], list[str]]:
    """Find quotes.

    A quote counts as found where the same words stand, whatever the white space and the kind of quotation marks; an
    ellipsis stands for anything between, and no word or number stands in a longer one. It is looked for in the named
    round first, then everywhere: a right quote with a wrong round number is corrected, not thrown away.

    Args:
        transcript: Where to look.
        quotes: Round number (None if not known) and the words.
        by_agent: Look in what the agent said and did only, not in the examiner's words.

    Returns:
        Evidence for the quotes that were found, with the words as given, and the quotes that were not.
    """
    places = [place for round_ in transcript.rounds for place in _places(round_) if place.by_agent or not by_agent]
    found: list[Evidence] = []
    lost: list[str] = []
    for number, quote in quotes:
        where = _find(places, number, quote)
        if where is None:
            lost.append(quote)
        else:
            found.append(Evidence(where, storable(quote.strip())))
    return found, lost


def _places(round_: Round) -> Iterator[_Place]:
    """Everything said in a round, each with the id it is found under; the agent's words come first."""
    yield _Place(round_.id, round_.number, _fold(round_.agent or ""), True)
    for step in round_.steps:
        yield _Place(step.id, round_.number, _fold(step_text(step)), True)
    yield _Place(round_.id, round_.number, _fold(round_.examiner or ""), False)


def _find(places: Sequence[_Place], wanted: int | None, quote: str) -> str | None:
    parts = [part for part in (_fold(piece) for piece in _GAP.split(quote.strip())) if part]
    if not any(character.isalnum() for part in parts for character in part):
        return None
    bare = [part.strip("\"' ") for part in parts]
    for place in sorted(places, key=lambda place: place.round != wanted):
        if _has(place.text, parts) or _has(place.text, bare):
            return place.where
    return None


def _has(text: str, parts: Sequence[str]) -> bool:
    position = 0
    for part in parts:
        if part:
            position = _end_of(part, text, position)
            if position < 0:
                return False
    return True


def _end_of(part: str, text: str, start: int) -> int:
    """Where `part` ends in `text`, or -1: "55" is not found in "1,550" or "-55", nor "hit" in "white"."""
    while (start := text.find(part, start)) >= 0:
        end = start + len(part)
        if not (_one(text[max(0, start - 2) : start], part[:1]) or _one(part[-1:], text[end : end + 2])):
            return end
        start += 1
    return -1


def _one(left: str, right: str) -> bool:
    """Whether a word or a number goes on from the end of `left` to the beginning of `right`."""
    if right[:1].isdigit() and _NUMBER_BEFORE.search(left):
        return True
    if left[-1:].isdigit() and _NUMBER_AFTER.match(right):
        return True
    return _lettered(left[-1:]) and _lettered(right[:1])


def _lettered(character: str) -> bool:
    # Latin, Greek and Cyrillic part their words by blanks; Chinese, say, does not.
    return character.isalpha() and character < "\u0590"


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text.translate(_QUOTES)).split())

"""Looks up in the transcript what a judge says stands there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from judge.quotes import Text
from judge.view import step_text
from records.text import storable
from records.transcript import Round, Transcript
from records.verdict import Evidence


@dataclass(frozen=True, slots=True)
class _Place:
    """Words that somebody said."""

    where: str
    round: int
    text: Text
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
    yield _Place(round_.id, round_.number, Text(round_.agent or ""), True)
    for step in round_.steps:
        yield _Place(step.id, round_.number, Text(step_text(step)), True)
    yield _Place(round_.id, round_.number, Text(round_.examiner or ""), False)


def _find(places: Sequence[_Place], wanted: int | None, quote: str) -> str | None:
    ordered = sorted(places, key=lambda place: place.round != wanted)
    return next((place.where for place in ordered if place.text.find(quote)), None)

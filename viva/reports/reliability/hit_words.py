"""Says in words what the hits of runs rest on, for every report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from viva.records.run_record import RunRecord
from viva.records.wording import counted
from viva.statistics.layers.figures import HitFigures, HitTallies


def hit_lines(figures: HitFigures | None) -> Iterator[str]:
    """Yield a line for each kind of hits that a reader should know of; none if there are no such hits."""
    if figures is None:
        return
    hits = counted(figures.hits, "hit")
    if figures.words_alone:
        yield f"{figures.words_alone:,} of {hits} {_verb(figures.words_alone, 'rest')} on words alone"
    if figures.never_arose:
        yield f"{figures.never_arose:,} of {hits} {_verb(figures.never_arose, 'rest')} on a condition that never arose"


def hit_lines_of(records: Iterable[RunRecord]) -> list[str]:
    """Return the lines about these runs."""
    tallies = HitTallies()
    for record in records:
        tallies.add(record)
    return list(hit_lines(tallies.overall()))


def _verb(number: int, verb: str) -> str:
    return f"{verb}s" if number == 1 else verb

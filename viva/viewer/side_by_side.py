"""Pairs the runs of two journals, and shows what changed from one to the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from viva.records.text import one_line
from viva.viewer.answers import row_view
from viva.viewer.views.flipped_points import flipped_points
from viva.viewer.watched import ListedRun, WatchedJournal

MOST_PAIRS = 500
"""Maximum number of pairs in one answer."""
MOST_EXPLAINED = 100
"""Maximum number of pairs whose points are compared in one answer."""


def versus_view(one: WatchedJournal, two: WatchedJournal, *, only_changed: bool, first: int = 0) -> dict[str, Any]:
    """Return the runs of two journals in pairs, those first whose standing changed.

    Runs are paired by case and trial, and by agent unless each journal has a single one (a new version may have another
    name).

    Args:
        one: The earlier journal.
        two: The later journal.
        only_changed: Whether to leave out pairs of the same standing and score.
        first: The position of the first pair that is wanted.
    """
    pairs = sorted(_pairs(one, two), key=_order)
    changed = [each for each in pairs if _rank(each) < _SAME]
    shown = changed if only_changed else pairs
    page = shown[first : first + MOST_PAIRS]
    return {
        "names": [one_line(each.name, 200) for each in (one, two)],
        "pairs": [[row_view(each) if each else None for each in pair] for pair in page],
        "points": [_points(one, two, pair) for pair in page[:MOST_EXPLAINED]],
        "total": len(shown),
        "better": sum(_rank(each) == _BETTER for each in pairs),
        "worse": sum(_rank(each) == _WORSE for each in pairs),
        "same": sum(_rank(each) == _SAME for each in pairs),
        "alone": sum(_rank(each) == _ALONE for each in pairs),
    }


_Pair = tuple[ListedRun | None, ListedRun | None]
_WORSE, _BETTER, _OTHER, _SAME, _ALONE = range(5)


def _pairs(one: WatchedJournal, two: WatchedJournal) -> Iterator[_Pair]:
    runs = [list(each.runs.values()) for each in (one, two)]
    single = all(len({each.agent for each in journal}) == 1 for journal in runs)

    def key(run: ListedRun) -> tuple[object, ...]:
        return (run.case, "" if single else run.agent, run.trial, *run.played)

    later = {key(each): each for each in runs[1]}
    for each in runs[0]:
        yield each, later.pop(key(each), None)
    for other in later.values():
        yield None, other


def _points(one: WatchedJournal, two: WatchedJournal, pair: _Pair) -> list[dict[str, Any]]:
    before, after = pair
    if before is None or after is None or not before.ended or not after.ended:
        return []
    return flipped_points(one, before, two, after)


def _order(pair: _Pair) -> tuple[int, float]:
    """Return a key that puts the largest losses first, then the largest gains."""
    before, after = (None if each is None else each.score for each in pair)
    change = 0.0 if before is None or after is None else after - before
    return _rank(pair), -abs(change)


def _rank(pair: _Pair) -> int:
    before, after = pair
    if before is None or after is None:
        return _ALONE
    if not (before.ended and after.ended):
        return _OTHER
    passed = [each.standing == "passed" for each in (before, after)]
    if passed[0] != passed[1]:
        return _BETTER if passed[1] else _WORSE
    scores = before.score, after.score
    if scores[0] is None or scores[1] is None or scores[0] == scores[1]:
        return _SAME if before.standing == after.standing else _OTHER
    return _BETTER if scores[1] > scores[0] else _WORSE

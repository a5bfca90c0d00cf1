"""Trends: how the scores of each task, agent, evaluator and dimension changed over time and agent versions."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import groupby, islice
from statistics import fmean
from typing import Any, TypeVar

from viva.records.run_record import RunRecord
from viva.statistics.cells import natural
from viva.statistics.intervals import Interval, mean_interval
from viva.statistics.over_time.trend import OVERALL, Direction, Point, Sample, TaskTrend, Trends
from viva.statistics.scores import evaluator_names, insight_of, score_of

T = TypeVar("T")
SMALLEST = 0.05
"""A mean that changed by less is called flat."""
NEWEST_SHARE = 4
"""Number of parts of the runs: without a new agent version, the newest part is compared with all before it."""
MOST_POINTS = 20
"""Maximum number of points of one trend; with more runs, several share a point."""
MOST_TRENDS = 5_000
"""A journal may be untrusted; what is beyond is counted in `Trends.left_out`."""
MOST_NAMES = 50
"""Evaluators of one run, and dimensions of one evaluator."""
Key = tuple[str, str, str, str]
"""Task, agent, evaluator, dimension."""
_Score = tuple[float, str | None, float]
"""When the run began, the agent's version, and the score."""


def find_trends(records: Iterable[RunRecord], conversations: Conversations | None = None) -> Trends:
    """Return the trends in a stream of records, in any order; a few numbers are kept of each run.

    Args:
        records: The runs.
        conversations: The numbers of their conversations, where others number the same ones.
    """
    tally = TrendTally(conversations)
    for record in records:
        tally.add(record)
    return tally.trends()


class Conversations:
    """Numbers conversations from 0, so that one that was judged again is known to be the same.

    Several tallies of the same runs can share the numbers: the digests of 100,000 conversations take 12 MB.
    """

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._last: tuple[RunRecord | None, int | None] = None, None

    def number(self, record: RunRecord) -> int | None:
        """Return the number of a run's conversation; None for one of which nothing tells whether it is the same."""
        last, number = self._last
        if last is not record:
            key = conversation_key(record)
            number = None if key is None else self._numbers.setdefault(key, len(self._numbers))
            self._last = record, number
        return number


class TrendTally:
    """Collects what trends are made of: some hundred bytes of each run, as columns."""

    def __init__(self, conversations: Conversations | None = None) -> None:
        self._conversations = conversations or Conversations()
        self._places = array("i")
        """The place of each conversation, by its number; -1 for none."""
        self._began = array("d")
        self._versions: list[str | None] = []
        self._trends: list[tuple[int, ...]] = []
        """The numbers of the trends that each run belongs to; one object for all runs with the same ones."""
        self._first = array("I")
        """The place of each run's first score; the others follow it in the order of its trends."""
        self._scores = array("d")
        self._keys: dict[Key, int] = {}
        self._same: dict[Any, Any] = {}
        self._left_out: set[Key] = set()

    def add(self, record: RunRecord) -> None:
        """Add one run."""
        scores: dict[int, float] = {}
        for key, score in _scores(record):
            number = self._keys.get(key)
            if number is None:
                if len(self._keys) >= MOST_TRENDS:
                    if len(self._left_out) < MOST_TRENDS:
                        self._left_out.add(key)
                    continue
                number = self._keys[key] = len(self._keys)
            scores[number] = min(1.0, max(0.0, score))
        place = self._place(self._conversations.number(record))
        if place == len(self._began):
            self._began.append(began_at(record))
            self._versions.append(None)
            self._trends.append(())
            self._first.append(0)
        self._versions[place] = self._one(record.agent_version)
        self._trends[place], self._first[place] = self._one(tuple(scores)), len(self._scores)
        self._scores.extend(scores.values())

    def _place(self, number: int | None) -> int:
        """Return the place of a conversation, which is a new one if it has none or no number."""
        new = len(self._began)
        if number is None:
            return new
        fill(self._places, number)
        if self._places[number] < 0:
            self._places[number] = new
        return self._places[number]

    def trends(self) -> Trends:
        """Return the trends of the runs that were added."""
        keys = list(self._keys)
        # Of each trend, the places of its runs and scores: tuples of all trends at once would take up 50 MB.
        found: dict[int, tuple[array[int], array[int]]] = {}
        for place in sorted(range(len(self._began)), key=self._began.__getitem__):
            for score, number in enumerate(self._trends[place], self._first[place]):
                if number not in found:
                    found[number] = array("I"), array("I")
                found[number][0].append(place)
                found[number][1].append(score)
        trends = sorted((_trend(keys[number], self._series(*each)) for number, each in found.items()), key=_rank)
        excluded = sum(not each for each in self._trends)
        return Trends(trends=tuple(trends), runs=len(self._began), excluded=excluded, left_out=len(self._left_out))

    def _series(self, places: array[int], scores: array[int]) -> list[_Score]:
        pairs = zip(places, scores, strict=True)
        return [(self._began[place], self._versions[place], self._scores[score]) for place, score in pairs]

    def _one(self, value: T) -> T:
        """Return one object for all equal values, because most values are the same in thousands of runs."""
        return self._same.setdefault(value, value)  # type: ignore[no-any-return]


def began_at(record: RunRecord) -> float:
    """Return when a run began, in seconds since the epoch; 0 if that is not known."""
    began = record.timing.started
    return began if 0 < began < math.inf else 0.0


def fill(numbers: array[int], place: int) -> None:
    """Make an array long enough to have a place; new places hold -1."""
    if place >= len(numbers):
        numbers.extend([-1] * (place + 1 - len(numbers)))


def conversation_key(record: RunRecord) -> bytes | None:
    """Return what is equal for a conversation that was judged again: it has the same id and time.

    Returns:
        A digest, in a quarter of the memory of id, agent and time; None for a recording of which no time is known, and
        nothing else that identifies it.
    """
    which = began_at(record) or record.setting.recording_digest
    return _digest(record.id, record.agent, which) if which else None


def _digest(*what: object) -> bytes:
    return blake2b(
        repr(what).encode("utf-8", "surrogatepass"), digest_size=15
    ).digest()  # 48 bytes as an object, one more would take 64


def _scores(record: RunRecord) -> Iterator[tuple[Key, float]]:
    for evaluator in islice(evaluator_names(record), MOST_NAMES):
        scored = score_of(record, evaluator)
        if scored is None or not math.isfinite(scored.score):
            continue
        yield (record.subject, record.agent, evaluator, OVERALL), scored.score
        insight = insight_of(record.insights, evaluator, record.id)
        for dimension, score in islice(insight.scores.items() if insight is not None else (), MOST_NAMES):
            if math.isfinite(score):
                yield (record.subject, record.agent, evaluator, dimension), score


def _trend(key: Key, scores: Sequence[_Score]) -> TaskTrend:
    task, agent, evaluator, dimension = key
    versions: dict[str | None, list[float]] = {}
    for _, version, score in scores:
        versions.setdefault(version, []).append(score)
    now, before = _newest(scores)
    sample = _sample(now)
    earlier = _sample(before) if before else None
    direction, interval = Direction.SINGLE, None
    if earlier is not None:
        interval = change_interval([score for *_, score in before], [score for *_, score in now])
        direction = _direction(sample.mean - earlier.mean, interval)
    return TaskTrend(
        task=task,
        agent=agent,
        evaluator=evaluator,
        dimension=dimension,
        runs=len(scores),
        points=tuple(_points(scores)),
        versions=tuple(Sample(mean=fmean(each), runs=len(each), version=name) for name, each in versions.items()),
        now=sample,
        before=earlier,
        direction=direction,
        change=None if earlier is None else sample.mean - earlier.mean,
        interval=interval,
    )


def _newest(scores: Sequence[_Score]) -> tuple[Sequence[_Score], Sequence[_Score]]:
    """Split off what is compared: the newest version and the one before it, or the newest runs and all before them.

    The newest version is that of the newest run, and the one before it the version of the newest run of another.
    """
    newest = scores[-1][1]
    other = next((version for _, version, _ in reversed(scores) if version != newest), newest)
    if newest is not None and other is not None and other != newest:
        return [run for run in scores if run[1] == newest], [run for run in scores if run[1] == other]
    size = max(1, len(scores) // NEWEST_SHARE)
    return scores[-size:], scores[:-size]


def _sample(scores: Sequence[_Score]) -> Sample:
    found = {version for _, version, _ in scores}
    version = found.pop() if len(found) == 1 else None
    return Sample(mean=fmean(score for *_, score in scores), runs=len(scores), version=version)


def change_interval(before: Sequence[float], now: Sequence[float]) -> Interval:
    """Return the 95 % interval of a difference of two means of independent scores in [0, 1].

    From the intervals of both means by the method of variance estimates recovery: Zou and Donner 2008, "Construction
    of confidence limits about effect measures", Statistics in Medicine 27. Unlike Welch's it also holds where all
    scores of a side are the same, as they often are.
    """
    one, two = fmean(before), fmean(now)
    first, second = mean_interval(before), mean_interval(now)
    change = two - one
    low = change - math.hypot(two - second.low, first.high - one)
    high = change + math.hypot(second.high - two, one - first.low)
    return Interval(max(-1.0, low), min(1.0, high))


def _direction(change: float, interval: Interval) -> Direction:
    if abs(change) < SMALLEST:
        return Direction.FLAT
    if change < 0:
        return Direction.REGRESSION if interval.high < 0 else Direction.DROP
    return Direction.IMPROVEMENT if interval.low > 0 else Direction.RISE


def _points(scores: Sequence[_Score]) -> Iterator[Point]:
    """Share the runs out to points, none of which spans two versions."""
    for version, group in groupby(scores, key=lambda run: run[1]):
        runs = list(group)
        number = min(len(runs), max(1, MOST_POINTS * len(runs) // len(scores)))
        for place in range(number):
            part = runs[place * len(runs) // number : (place + 1) * len(runs) // number]
            yield Point(
                mean=fmean(score for *_, score in part),
                runs=len(part),
                started=part[0][0],
                ended=part[-1][0],
                version=version,
            )


_ORDER = {
    direction: place
    for place, direction in enumerate(
        (
            Direction.REGRESSION,
            Direction.DROP,
            Direction.FLAT,
            Direction.SINGLE,
            Direction.RISE,
            Direction.IMPROVEMENT,
        )
    )
}


def _rank(trend: TaskTrend) -> tuple[object, ...]:
    overall = trend.dimension != OVERALL
    names = natural(trend.task), natural(trend.agent), natural(trend.evaluator), overall, natural(trend.dimension)
    return _ORDER[trend.direction], trend.change or 0.0, *names

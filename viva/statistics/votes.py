"""What the votes of judges are worth: how often they differ, how much alike they are, and what the further ones bought.

Votes stop early when the majority cannot change any more, so the last ones are cast where the first ones differ.
Rates would be too high if these counted: only the votes that were cast whatever they said are compared, which are one
more than half of those planned. Which model votes first differs from point to point.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from viva.records.run_record import RunRecord
from viva.records.transcript import NO_USAGE, Usage
from viva.records.verdict import Label, Verdict, Vote

CODE = "code"
"""The judge of a vote that a check cast; it is not compared with itself, and has no opinion."""
VALUES: Mapping[str, float] = {Label.HIT: 1.0, Label.UNSURE: 0.5, Label.MISS: 0.0}
FEWEST_PAIRS = 10
"""Minimum number of pairs of votes from which a correlation is reckoned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteFigures:
    """The figures of the votes on scoring points."""

    points: int
    """Number of verdicts that were voted on."""
    planned: int
    """Number of votes that were to be cast at most."""
    cast: int
    """Number of votes that were cast; the others could not have changed a majority."""
    failed: int
    """Number of those that are errors."""
    heads: float
    """Mean number of votes planned for one point."""
    models: tuple[str, ...] = ()
    flip_rate: float | None = None
    """Share of pairs of votes of one model on one point that differ; None if no model voted twice."""
    flip_pairs: int = 0
    agreement: float | None = None
    """Share of pairs of votes of different models on one point that agree; None if there was one model."""
    agreement_pairs: int = 0
    correlation: float | None = None
    """Mean correlation of two votes on one point; None if it is not known."""
    n_eff: float | None = None
    """The effective number of votes; None if it is not known, or if the correlation is 0 or less: then votes on one
    point agree no more than votes on different points, because judges contradict each other, or verdicts are alike."""
    changed: int = 0
    """Number of verdicts that are not what the first usable vote said."""
    split: int = 0
    """Number of verdicts whose usable votes differ."""
    calls: int = 0
    """Number of calls of models for these runs' scoring points."""
    cost: float | None = None
    """What they cost in US dollars; None if a price is unknown."""


def effective_votes(votes: float, correlation: float) -> float:
    """Return how many independent votes are worth as much as so many that are alike.

    It is n / (1 + (n - 1) rho), with the mean correlation rho of two votes: the variance of a mean of correlated values
    (Kish, Survey Sampling, 1965, 8.2: the design effect of clusters). Nine judges were found to be worth about two
    (arXiv 2605.29800). A negative correlation counts as none.

    Args:
        votes: Their number, n.
        correlation: rho, at most 1.
    """
    return votes / (1 + (votes - 1) * min(max(correlation, 0.0), 1.0))


def pair_correlation(pairs: Mapping[tuple[float, float], int]) -> float | None:
    """Return the correlation of the values of pairs without an order (Fisher's intraclass correlation).

    None if there are fewer than `FEWEST_PAIRS`, or if all values are the same.

    Args:
        pairs: How often there is each pair of values.
    """
    number = sum(pairs.values())
    if number < FEWEST_PAIRS:
        return None
    mean = sum((one + two) * times for (one, two), times in pairs.items()) / (2 * number)
    together = sum((one - mean) * (two - mean) * times for (one, two), times in pairs.items())
    alone = sum(((one - mean) ** 2 + (two - mean) ** 2) * times for (one, two), times in pairs.items()) / 2
    return together / alone if alone > 0 else None


def error_correlation(votes: Sequence[Sequence[str]], truths: Sequence[str]) -> float | None:
    """Return the mean correlation of the errors of two votes, if the right labels are known.

    Votes on points of which some are true are correlated however good the judges are, so that the correlation of votes
    alone understates what they are worth; with labels, use this one for `effective_votes`.

    Args:
        votes: The labels of the votes on each point.
        truths: The right label of each point.
    """
    return pair_correlation(
        Counter(
            (float(one != truth), float(two != truth))
            for labels, truth in zip(votes, truths, strict=True)
            for one, two in combinations(labels, 2)
        )
    )


@dataclass(slots=True)
class VoteTallies:
    """Counts the votes of a stream of records."""

    _points: int = 0
    _planned: int = 0
    _cast: int = 0
    _failed: int = 0
    _changed: int = 0
    _split: int = 0
    _models: dict[str, None] = field(default_factory=dict)
    _flips: list[int] = field(default_factory=lambda: [0, 0])
    """Number of pairs of one model, and of those that differ."""
    _agreements: list[int] = field(default_factory=lambda: [0, 0])
    """Number of pairs of different models, and of those that agree."""
    _values: Counter[tuple[float, float]] = field(default_factory=Counter)
    """Number of pairs by their values: a few kinds, however many runs there are."""
    _usage: Usage = NO_USAGE

    def add(self, record: RunRecord) -> None:
        """Count the votes of one run."""
        planned = max(1, len(record.setting.judge_models)) * record.setting.judge_votes
        if planned < 2:
            return
        for insight in record.insights:
            voted = [(verdict, votes) for verdict in insight.verdicts if (votes := votes_of(verdict))]
            if voted:
                self._usage = self._usage + insight.usage
                self._models.update(dict.fromkeys(record.setting.judge_models))
            for verdict, votes in voted:
                self._add(verdict, votes, planned)

    def figures(self) -> VoteFigures | None:
        """Return the figures; None if there were no votes."""
        if not self._points:
            return None
        heads = self._planned / self._points
        correlation = pair_correlation(self._values)
        return VoteFigures(
            points=self._points,
            planned=self._planned,
            cast=self._cast,
            failed=self._failed,
            heads=heads,
            models=tuple(self._models),
            flip_rate=_share(self._flips),
            flip_pairs=self._flips[0],
            agreement=_share(self._agreements),
            agreement_pairs=self._agreements[0],
            correlation=correlation,
            n_eff=effective_votes(heads, correlation) if correlation is not None and correlation > 0 else None,
            changed=self._changed,
            split=self._split,
            calls=self._usage.calls,
            cost=self._usage.cost,
        )

    def _add(self, verdict: Verdict, votes: Sequence[Vote], planned: int) -> None:
        usable = [vote for vote in votes if vote.label in VALUES]
        self._points += 1
        self._planned += planned
        self._cast += len(votes)
        self._failed += len(votes) - len(usable)
        self._models.update(dict.fromkeys(vote.judge for vote in votes))
        self._split += len({vote.label for vote in usable}) > 1
        # Where a check decided, the votes decided nothing.
        by_votes = verdict.by != CODE and verdict.label in VALUES
        self._changed += bool(by_votes and usable and usable[0].label != verdict.label)
        for one, two in compared(votes, planned):
            same = one.label == two.label
            pairs = self._flips if one.judge == two.judge else self._agreements
            pairs[0] += 1
            pairs[1] += (not same) if pairs is self._flips else same
            self._values[VALUES[one.label], VALUES[two.label]] += 1


def votes_of(verdict: Verdict) -> list[Vote]:
    """Return the votes of models in the order in which they were cast."""
    return [vote for vote in verdict.votes if vote.judge != CODE]


def compared(votes: Iterable[Vote], planned: int) -> Iterator[tuple[Vote, Vote]]:
    """Yield the pairs of usable votes on one point that were cast whatever they said.

    Args:
        votes: Those of models in order.
        planned: Number of votes that were to be cast at most.
    """
    always = list(votes)[: planned // 2 + 1]
    yield from combinations([vote for vote in always if vote.label in VALUES], 2)


def _share(pairs: Sequence[int]) -> float | None:
    return pairs[1] / pairs[0] if pairs[0] else None

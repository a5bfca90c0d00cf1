"""What the batches so far show: the estimate, an interval that is valid at every look, and whether it decides.

The estimand is the mean of the expected scores of these cases (or its difference between two agents): the cases are
fixed, and their trials are random. A case that was tried more often must not weigh more, and a case that is tried again
because of its results must not bias the mean (a case of which two passes were seen, and no more were tried, seems
better than it is). Therefore each batch tries every case at least once, the numbers of trials depend on earlier batches
alone, and the mean over cases of one batch is unbiased whatever came before. The batches are combined with weights
that are known before each of them, so that the sum is a martingale (Lehmacher and Wassmer 1999, "Adaptive sample size
calculations in group sequential trials", Biometrics 55).

The error of 5 % is spent over the looks in proportion to the information (Lan and DeMets 1983; Kim and DeMets 1987,
"Design and analysis of group sequential tests based on the type I error spending rate function", Biometrika 74). The
width of an interval alone, which does not depend on where the score is, spends nothing: the interval is computed once,
when it is narrow enough (Chow and Robbins 1965, "On the asymptotic theory of fixed-width sequential confidence
intervals for the mean", Annals of Mathematical Statistics 36).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from viva.statistics.adaptive.brownian import Increment, critical_value, interval_after
from viva.statistics.adaptive.spread import variances
from viva.statistics.adaptive.until import Aim, Until, Z
from viva.statistics.intervals import CONFIDENCE, Interval, wilson_at
from viva.statistics.student_t import student_t

EARLY = 0.96
"""Of the half width that was asked for: a stop is likelier when scores happen to vary little, so that the interval of
that moment is a little too narrow."""
LEAST_SHARE = 0.02
"""Of the information at which a decision is due: a look that adds less spends nothing."""

Batch = Sequence[Sequence[float]]
"""The scores of the trials of one batch, of each stratum; at least one each."""


@dataclass(frozen=True, slots=True)
class Strata:
    """The cases of a decision, each with each agent that takes part."""

    weights: tuple[float, ...]
    """Of each stratum in the estimate: 1 / cases, and -1 / cases for the first of two agents."""
    agents: tuple[int, ...]
    """The agent of each stratum, by its number."""

    @classmethod
    def of(cls, cases: int, *, compared: bool) -> Strata:
        """Return the strata of some cases: of one agent, or of the first and then the second of two."""
        one = (1 / cases,) * cases
        if not compared:
            return cls(one, (0,) * cases)
        return cls(tuple(-weight for weight in one) + one, (0,) * cases + (1,) * cases)

    @property
    def cases(self) -> int:
        """Return the number of cases."""
        return self.agents.count(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEvidence:
    """What is known after some batches."""

    estimate: float
    """The mean score, or the second agent's minus the first's."""
    interval: Interval
    """Of the estimate. Before the last look it is valid at all looks together, so that a decision may rest on it; after
    a decision, or when one was due, it is narrower: that of a stop at this look."""
    verdict: str = ""
    """`precise`; `above` or `below`; `first`, `second` or `equivalent`; empty if nothing is decided."""
    due: bool = False
    """Whether all information is in: nothing more is looked at."""
    information: float
    """1 / variance of the estimate."""
    spread: tuple[float, ...]
    """The variance of a trial's score in each stratum."""
    repeated: bool
    """Whether any stratum has two trials."""
    runs: int

    @property
    def half_width(self) -> float:
        """Return half the width of the interval."""
        return (self.interval.high - self.interval.low) / 2


@dataclass(slots=True)
class _Analyses:
    """The sum over the batches, and the looks at it so far."""

    until: Until
    strata: Strata
    plans: list[list[int]]
    means: list[list[float]]
    scores: list[list[float]]
    weights: list[float]
    bounds: list[float | None]
    """In standard deviations, at each look; None where nothing was spent."""
    corridors: list[tuple[float, float]]
    """Between which bounds of the sum another batch was begun."""
    spent: float = 0.0
    share: float = 0.0

    def add(self, batch: Batch) -> BatchEvidence:
        """Add a batch, and look at the sum."""
        numbers = [len(scores) for scores in batch]
        self.weights.append(self._weight(numbers))
        self.plans.append(numbers)
        self.means.append([fmean(scores) for scores in batch])
        for all_, new in zip(self.scores, batch, strict=True):
            all_.extend(new)
        spread, freedom = self._spread()
        # Student's t for the normal distribution: the variance is estimated from so many degrees of freedom.
        inflation = (student_t(1 - (1 - CONFIDENCE) / 2, max(2, freedom)) / Z) ** 2
        parts = [
            w * w * inflation * self._variance(spread, plan) for w, plan in zip(self.weights, self.plans, strict=True)
        ]
        total = sum(w * self._mean(means) for w, means in zip(self.weights, self.means, strict=True))
        weight = sum(self.weights)
        estimate, variance = total / weight, sum(parts) / weight**2
        seen = BatchEvidence(
            estimate=estimate,
            interval=Interval(-1.0 if self.compared else 0.0, 1.0),
            information=1 / variance,
            spread=tuple(spread),
            repeated=freedom > 0 and any(len(scores) > 1 for scores in self.scores),
            runs=sum(map(len, self.scores)),
        )
        if self.until.aim is Aim.CI:
            return self._precise(seen)
        return self._decided(seen, parts, total)

    @property
    def compared(self) -> bool:
        """Return whether the estimate is a difference."""
        return self.until.aim is Aim.COMPARE

    def _weight(self, numbers: Sequence[int]) -> float:
        """Return the weight of a batch, which is known before it: its precision relative to that of the first."""
        if not self.plans:
            return 1.0
        spread, _ = self._spread()
        return self._variance(spread, self.plans[0]) / self._variance(spread, numbers)

    def _spread(self) -> tuple[list[float], int]:
        """Return the variances of the strata, and their degrees of freedom.

        Where the width alone ends the suite, it ends when scores happen to vary little: there, caution is needed most.
        """
        return variances(self.scores, self.strata.agents, widest=self.until.aim is Aim.CI)

    def _variance(self, spread: Sequence[float], numbers: Sequence[int]) -> float:
        """Return the variance of the mean of a batch."""
        return sum(w * w * s / n for w, s, n in zip(self.strata.weights, spread, numbers, strict=True))

    def _mean(self, means: Sequence[float]) -> float:
        return sum(w * mean for w, mean in zip(self.strata.weights, means, strict=True))

    def _precise(self, seen: BatchEvidence) -> BatchEvidence:
        found = replace(seen, interval=wilson_at(seen.estimate, self._size(seen), Z))
        precise = found.half_width <= EARLY * self.until.value
        return replace(found, verdict="precise" if precise else "")

    def _size(self, seen: BatchEvidence) -> float:
        """Return the number of independent trials with the same variance, for Wilson's interval.

        The variance of a score near 0 or 1 depends on the score: an interval that ignores this is too narrow there.
        """
        shifted = (seen.estimate * seen.runs + 0.5) / (seen.runs + 1)
        return shifted * (1 - shifted) * seen.information

    def _decided(self, seen: BatchEvidence, parts: Sequence[float], total: float) -> BatchEvidence:
        share = min(1.0, seen.information / self.until.information)
        due = share >= 1
        error = (1 - CONFIDENCE) * share - self.spent
        if error <= 1e-6 or (share < self.share + LEAST_SHARE and not due):
            self.bounds.append(None)
            self.corridors.append((-math.inf, math.inf))
            return replace(seen, due=due)
        before, variance = [], 0.0
        for part, bound in zip(parts, self.bounds, strict=False):
            variance += part
            reach = math.inf if bound is None else bound * math.sqrt(variance)
            before.append(Increment(0.0, part, -reach, reach))
        bound = critical_value(before, Increment(0.0, parts[-1]), error)
        self.bounds.append(bound)
        self.spent, self.share = self.spent + error, share
        found = self._gated(seen, bound) if self.until.aim is Aim.GATE else self._compared(seen, bound)
        if found.verdict or due:
            found = replace(found, interval=self._final(found, parts, total))
        return replace(found, due=due)

    def _gated(self, seen: BatchEvidence, bound: float) -> BatchEvidence:
        gate, size = self.until.value, self._size(seen)
        interval = wilson_at(seen.estimate, size, bound)
        verdict = "above" if interval.low > gate else "below" if interval.high < gate else ""
        reach, weight = bound * math.sqrt(gate * (1 - gate) / size), sum(self.weights)
        self.corridors.append(((gate - reach) * weight, (gate + reach) * weight))
        return replace(seen, interval=interval, verdict=verdict)

    def _compared(self, seen: BatchEvidence, bound: float) -> BatchEvidence:
        reach, margin = bound / math.sqrt(seen.information), self.until.margin
        low, high = seen.estimate - reach, seen.estimate + reach
        verdict = "second" if low > 0 else "first" if high < 0 else ""
        if not verdict and -margin < low and high < margin:
            verdict = "equivalent"
        weight, inner = sum(self.weights), margin - reach
        corridor = (-reach, reach)
        if inner > 0:
            corridor = (inner, reach) if seen.estimate > 0 else (-reach, -inner)
        self.corridors.append((corridor[0] * weight, corridor[1] * weight))
        return replace(seen, interval=Interval(max(-1.0, low), min(1.0, high)), verdict=verdict)

    def _final(self, seen: BatchEvidence, parts: Sequence[float], total: float) -> Interval:
        """Return the interval after the stop: that of the look is wider, because it had to hold at all looks."""
        looks = [
            Increment(weight, part, *corridor)
            for weight, part, corridor in zip(self.weights, parts, self.corridors, strict=True)
        ]
        least = -1.0 if self.compared else 0.0
        shifted = (seen.estimate * seen.runs + 0.5) / (seen.runs + 1)

        def scale(drift: float) -> float:
            inside = min(max(drift, 0.002), 0.998)
            return 1.0 if self.compared else inside * (1 - inside) / (shifted * (1 - shifted))

        low, high = interval_after(looks, total, CONFIDENCE, scale)
        found = Interval(max(least, low), min(1.0, high))
        if seen.verdict == "equivalent":
            # What was decided must not seem open: the two orderings of results can differ in the last digit.
            return Interval(max(found.low, -self.until.margin), min(found.high, self.until.margin))
        if not seen.verdict:  # for the same reason, what is undecided must not seem decided
            tie = 0.0 if self.compared else self.until.value
            return Interval(min(found.low, tie), max(found.high, tie))
        return found


def evidence(until: Until, strata: Strata, batches: Sequence[Batch]) -> BatchEvidence:
    """Return what complete batches show, looked at after each of them; a pure function of the scores.

    Raises:
        ValueError: there is no batch.
    """
    if not batches:
        raise ValueError("there is no batch")
    looks = _Analyses(until, strata, [], [], [[] for _ in strata.weights], [], [], [])
    for batch in batches[:-1]:
        looks.add(batch)
    return looks.add(batches[-1])

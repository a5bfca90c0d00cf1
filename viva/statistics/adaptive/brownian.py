"""Probabilities of a sum that is looked at several times: critical values, and intervals that stay valid after a stop.

The sum B after look k has independent normal increments with mean `drift` * `weight` and variance `variance`. Its
distribution between the bounds of earlier looks is found by repeated numerical integration (Armitage, McPherson and
Rowe 1969, "Repeated significance tests on accumulating data", JRSS A 132).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

_POINTS = 41
"""Of each integral, by Simpson's rule: critical values are then exact to 1e-3."""
_REACH = 8.0
"""Standard deviations beyond which nothing is integrated."""
_NORMAL = NormalDist()
_SCALE = 1 / math.sqrt(2 * math.pi)


@dataclass(frozen=True, slots=True)
class Increment:
    """Holds what one batch adds to the sum, and between which bounds of the sum the next batch was begun."""

    weight: float
    """Times the drift: the mean of the increment."""
    variance: float
    low: float = -math.inf
    """The sum after this batch was above this, or nothing more would have been tried."""
    high: float = math.inf


class _Path:
    """The density of the sum on the paths that stayed between all bounds so far."""

    def __init__(self) -> None:
        self.at: list[float] = [0.0]
        self.mass: list[float] = [1.0]
        """Density times Simpson weight, at each point."""

    def beyond(self, mean: float, deviation: float, bound: float) -> float:
        """Return the probability that the next sum is above a bound."""
        cdf = _NORMAL.cdf
        return sum(m * cdf((x + mean - bound) / deviation) for x, m in zip(self.at, self.mass, strict=True))

    def advance(self, mean: float, deviation: float, low: float, high: float) -> None:
        """Go to the next sum, and keep the paths between the bounds."""
        low = max(low, self.at[0] + mean - _REACH * deviation)
        high = min(high, self.at[-1] + mean + _REACH * deviation)
        if high <= low:
            self.at, self.mass = [low], [0.0]
            return
        step = (high - low) / (_POINTS - 1)
        factor = step / 3 * _SCALE / deviation
        old = list(zip(self.at, self.mass, strict=True))
        at, mass, exp, half = [], [], math.exp, -0.5 / deviation**2
        for i in range(_POINTS):
            y = low + i * step
            simpson = 1 if i in (0, _POINTS - 1) else 4 if i % 2 else 2
            at.append(y)
            mass.append(simpson * factor * sum(m * exp(half * (y - x - mean) ** 2) for x, m in old))
        self.at, self.mass = at, mass


def critical_value(before: Sequence[Increment], now: Increment, alpha: float) -> float:
    """Return the number c of standard deviations beyond which the sum lies with probability `alpha` at this look.

    That is, P(earlier sums between their bounds, and |sum now| >= c * its standard deviation) without drift. The bounds
    of earlier looks are those within which the sum, without drift, would not have been called extreme. Lan and DeMets
    1983, "Discrete sequential boundaries for clinical trials", Biometrika 70.

    Args:
        before: The earlier looks.
        now: The batch of this look; its bounds are not used.
        alpha: The error that this look may spend, > 0.
    """
    path = _Path()
    for each in before:
        path.advance(0.0, math.sqrt(each.variance), each.low, each.high)
    deviation = math.sqrt(now.variance)
    total = math.sqrt(sum(each.variance for each in before) + now.variance)
    low, high = 0.5, 9.0
    for _ in range(40):
        middle = (low + high) / 2
        if 2 * path.beyond(0.0, deviation, middle * total) > alpha:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def interval_after(
    looks: Sequence[Increment], total: float, confidence: float, scale: Callable[[float], float] = lambda _: 1.0
) -> tuple[float, float]:
    """Return the interval of the drift after a stop at the last look, with exactly this coverage.

    It holds the drifts under which neither a higher nor a lower result was improbable. Results are ordered by the
    first look at which they left the bounds of the one that was seen: above them is higher. This is the stagewise
    ordering (Tsiatis, Rosner and Mehta 1984, "Exact confidence intervals following a group sequential test",
    Biometrics 40), for bounds that may have a part in the middle, where a difference is shown to be small.

    Args:
        looks: All looks; the bounds of the last are not used.
        total: The sum at the last look.
        confidence: Two-sided.
        scale: The factor of all variances under a drift.
    """
    tail = (1 - confidence) / 2
    weights, variance = sum(each.weight for each in looks), sum(each.variance for each in looks)
    estimate, error = total / weights, math.sqrt(variance) / weights

    def low_side(drift: float) -> float:
        return _higher(looks, total, drift, scale(drift)) - tail

    def high_side(drift: float) -> float:
        return tail - (1 - _higher(looks, total, drift, scale(drift)))

    return _root(low_side, estimate, -error), _root(high_side, estimate, error)


def _higher(looks: Sequence[Increment], total: float, drift: float, scale: float) -> float:
    """Return the probability of a higher result."""
    path, found = _Path(), 0.0
    for each in looks[:-1]:
        mean, deviation = drift * each.weight, math.sqrt(scale * each.variance)
        if each.high < math.inf:
            found += path.beyond(mean, deviation, each.high)
        path.advance(mean, deviation, each.low, each.high)
    last = looks[-1]
    return found + path.beyond(drift * last.weight, math.sqrt(scale * last.variance), total)


def _root(function: Callable[[float], float], start: float, step: float) -> float:
    """Return where an increasing function is 0, from a start on one side and steps to the other."""
    inside = start
    outside = start + 2 * step
    for _ in range(12):
        if (function(outside) < 0) == (step < 0):
            break
        inside, outside = outside, outside + 2 * step
    for _ in range(16):
        middle = (inside + outside) / 2
        if (function(middle) < 0) == (step < 0):
            outside = middle
        else:
            inside = middle
    return (inside + outside) / 2

"""Quantiles of Student's t distribution and its degrees of freedom, so that intervals need no numerical library."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist


@cache
def student_t(p: float, freedom: int) -> float:
    """Return the quantile of Student's t distribution for whole degrees of freedom >= 1 and 0.5 <= p < 1.

    Bisection on the distribution function, which is a finite sum (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4);
    above 200 degrees the expansion 26.7.5, there exact to 1e-8.
    """
    z = NormalDist().inv_cdf(p)
    if freedom > 200:
        first = (z**3 + z) / 4
        second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
        return z + first / freedom + second / freedom**2 + third / freedom**3
    low, high = 0.0, 1.0
    while _t_cdf(high, freedom) < p:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_cdf(middle, freedom) < p else (low, middle)
    return (low + high) / 2


def _t_cdf(t: float, freedom: int) -> float:
    angle = math.atan(t / math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2 == 1
    term = total = 0.0 if odd and freedom == 1 else (math.cos(angle) if odd else 1.0)
    for i in range(3 if odd else 2, freedom - 1, 2):
        term *= square * (i - 1) / i
        total += term
    inside = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return 0.5 + inside / 2


def satterthwaite(*variances: tuple[float, int]) -> int:
    """Return the degrees of freedom of a sum of independent variances, each with its own; at least 1.

    Satterthwaite 1946, "An Approximate Distribution of Estimates of Variance Components", Biometrics 2. Where nothing
    varies, they are those of the first.
    """
    whole = math.fsum(variance for variance, _ in variances)
    parts = math.fsum(variance**2 / freedom for variance, freedom in variances if freedom > 0)
    return max(1, int(whole**2 / parts)) if parts > 0 else max(1, variances[0][1])

"""Draws resamples of values of which many are equal, as the scores of a suite's cases are.

Only the number of times that each distinct value is drawn matters. Values are chosen by tables of bytes (Marsaglia,
Tsang and Wang 2004, "Fast Generation of Discrete Random Variables", J. Statistical Software 11(3)), so that a
resample of 500 values takes three operations on bytes instead of 500 draws.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

MOST_DISTINCT = 64
FEWEST, FEWEST_OF_EACH = 64, 8
"""Minimum number of values, and of values for each distinct one; with fewer, drawing the values takes as long."""
_UNDECIDED = 255
_TABLES = 8


class Resampler:
    """Draws as many values as there are, with replacement, and adds them up."""

    def __init__(self, values: Sequence[complex]) -> None:
        """Prepare the tables.

        Args:
            values: The values to draw from; at most `MOST_DISTINCT` distinct ones.
        """
        counts = Counter(values)
        self._count = len(values)
        self._values = [*counts]
        self._tables: list[bytes] = []
        # Each table holds a value's share of 256 bytes, rounded down. What rounding leaves over is the next one's.
        weights = [*counts.values()]
        for _ in range(_TABLES):
            total = sum(weights)
            shares = [256 * weight // total for weight in weights]
            decided = b"".join(bytes([number]) * share for number, share in enumerate(shares))
            self._tables.append(decided.ljust(256, bytes([_UNDECIDED])))
            weights = [256 * weight - share * total for weight, share in zip(weights, shares, strict=True)]
            if not any(weights):
                break
        self._left_over = weights

    @staticmethod
    def serves(values: Sequence[complex]) -> bool:
        """Return whether these values are drawn faster in this way."""
        count = len(values)
        return count >= FEWEST and len(set(values)) <= min(MOST_DISTINCT, count // FEWEST_OF_EACH)

    def total(self, rng: random.Random) -> complex:
        """Return the sum of one resample."""
        drawn, left = [], self._count
        for table in self._tables:
            drawn.append(rng.randbytes(left).translate(table))
            left = drawn[-1].count(_UNDECIDED)
            if not left:
                break
        if left:
            drawn.append(bytes(rng.choices(range(len(self._values)), self._left_over, k=left)))
        numbers = b"".join(drawn)
        return sum([value * numbers.count(number) for number, value in enumerate(self._values)], 0j)

"""Reads numbers from recordings, which Python's JSON may give as NaN, as infinite, or as integers beyond any float."""

from __future__ import annotations

import math

MOST_AMOUNT = 1e300
"""The amount from which on none is credible, because a sum of several might be infinite."""


def finite(value: object) -> float | None:
    """Return a finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def amount(value: object) -> float | None:
    """Return a finite number from 0 on, such as money or seconds; None for anything else."""
    number = finite(value)
    return number if number is not None and 0 <= number < MOST_AMOUNT else None

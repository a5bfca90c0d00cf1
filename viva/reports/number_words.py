"""Scores, rates and their intervals as words, the same in every report."""

from __future__ import annotations

from viva.statistics.intervals import Interval


def number(value: float | None) -> str:
    """Return a score as text for a table."""
    return "-" if value is None else f"{value:.2f}"


def interval(value: Interval | None) -> str:
    """Return an interval of scores as text for a table."""
    return "" if value is None else f"({value.low:.2f}-{value.high:.2f})"


def percent(value: float | None) -> str:
    """Return a rate as text for a table."""
    return "-" if value is None else f"{value:.0%}"


def percents(value: Interval | None) -> str:
    """Return an interval of rates as text for a table."""
    return "" if value is None else f"({value.low * 100:.0f}-{value.high * 100:.0f})"

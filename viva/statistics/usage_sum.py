"""Adds up the usage of many runs, with the result of adding `Usage` to `Usage`, but without an object for each sum."""

from __future__ import annotations

from viva.records.transcript import MOST_DOLLARS, MOST_TOKENS, Usage


class UsageSum:
    """A sum of usage that grows."""

    __slots__ = ("_cached", "_calls", "_cost", "_input", "_output", "_reasoning", "_reported", "_retries", "_written")

    def __init__(self) -> None:
        self._input = self._output = self._cached = self._reasoning = self._calls = self._retries = self._written = 0
        self._cost: float | None = 0.0
        self._reported = True

    def add(self, used: Usage) -> None:
        """Add the usage of one run; an unknown cost makes the sum unknown."""
        self._input += used.input_tokens
        self._output += used.output_tokens
        self._cached += used.cached_tokens
        self._reasoning += used.reasoning_tokens
        self._calls += used.calls
        self._retries += used.retries
        self._written += used.cache_write_tokens
        self._cost = None if self._cost is None or used.cost is None else self._cost + used.cost
        self._reported = self._reported and used.reported

    def join(self, other: UsageSum) -> None:
        """Add another sum."""
        self._input += other._input
        self._output += other._output
        self._cached += other._cached
        self._reasoning += other._reasoning
        self._calls += other._calls
        self._retries += other._retries
        self._written += other._written
        self._cost = None if self._cost is None or other._cost is None else self._cost + other._cost
        self._reported = self._reported and other._reported

    def total(self) -> Usage:
        """Return the sum; one beyond the maximum of `Usage` is the maximum."""
        return Usage(
            min(self._input, MOST_TOKENS),
            min(self._output, MOST_TOKENS),
            min(self._cached, MOST_TOKENS),
            min(self._reasoning, MOST_TOKENS),
            min(self._calls, MOST_TOKENS),
            min(self._retries, MOST_TOKENS),
            None if self._cost is None else min(self._cost, MOST_DOLLARS),
            cache_write_tokens=min(self._written, MOST_TOKENS),
            reported=self._reported,
        )

"""Adds up the usage of many runs, with the result of adding `Usage` to `Usage`, but without an object for each sum."""

from __future__ import annotations

from viva.records.transcript import Usage


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

    def total(self) -> Usage:
        """Return the sum."""
        return Usage(
            self._input,
            self._output,
            self._cached,
            self._reasoning,
            self._calls,
            self._retries,
            self._cost,
            cache_write_tokens=self._written,
            reported=self._reported,
        )

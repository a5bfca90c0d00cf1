"""Tells which part of the sums that a session's closing events state was not counted call by call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from viva.recordings.events.tally import UsageTally
from viva.records.transcript import Usage

MOST_MODELS = 10_000
"""Models whose sums are remembered: a stream may be untrusted."""
_NOTHING = Usage()
"""The excess of a sum over an equal one."""


class ModelSums:
    """The part of each model's sums that was counted already."""

    def __init__(self) -> None:
        self._counted: dict[str, UsageTally] = {}

    def count(self, model: str, usage: Usage, billing: Mapping[str, float]) -> None:
        """Note that a part of a model's sum was counted."""
        if model in self._counted or len(self._counted) < MOST_MODELS:
            # What a call of its own did not report is in the sum, whose excess is then fully reported.
            self._counted.setdefault(model, UsageTally()).add(replace(usage, reported=True), billing)

    def excess(
        self, model: str, whole: Usage, billing: Mapping[str, float]
    ) -> tuple[Usage, Mapping[str, float]] | None:
        """Return by how much a sum exceeds what was counted, and count that; None if it is no more."""
        before = self._counted.get(model, UsageTally())
        usage = whole - before.usage
        units = {key: max(0.0, amount - before.billing.get(key, 0.0)) for key, amount in billing.items()}
        if usage == _NOTHING and not any(units.values()):
            return None
        self.count(model, usage, units)
        return usage, units

"""Reads the usage that an agent reports: tokens with the answer to a prompt, money and context with updates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viva.records.transcript import NO_USAGE, Usage


class SessionUsage:
    """The usage of one session. An agent reports the tokens of each turn, but the money of the whole session so far."""

    def __init__(self) -> None:
        self._cost: float | None = None
        self._told = 0.0
        """The money that earlier replies account for."""
        self._context: dict[str, Any] = {}
        self._calls = NO_USAGE
        """The usage of the calls of models since the last reply, if the agent reports each of them."""

    def note_call(self, update: Mapping[str, Any]) -> None:
        """Read the usage of one call of a model, which some agents put into the `_meta` of an update."""
        meta = update.get("_meta")
        reported = meta.get("usage") if isinstance(meta, Mapping) else None
        if isinstance(reported, Mapping) and "inputTokens" in reported:
            self._calls += replace(_tokens(reported, None), calls=1)

    def note_update(self, update: Mapping[str, Any]) -> None:
        """Read an update of the kind `usage_update`."""
        self._context = {key: update[key] for key in ("used", "size") if key in update}
        cost = update.get("cost")
        if isinstance(cost, Mapping):
            amount = cost.get("amount")
            if cost.get("currency") == "USD" and isinstance(amount, int | float):
                self._cost = float(amount)
            else:
                self._context["cost"] = dict(cost)

    def of_turn(self, reported: object) -> tuple[Usage, dict[str, Any]]:
        """Return the usage of a turn, and how much of the model's context is used, as attributes of a step.

        Args:
            reported: `usage` of the answer to the prompt.
        """
        cost = None
        if self._cost is not None:
            cost, self._told = max(0.0, self._cost - self._told), self._cost
        context = {f"context_{key}": value for key, value in self._context.items()}
        self._context = {}
        calls, self._calls = self._calls, NO_USAGE
        if isinstance(reported, Mapping):
            return _tokens(reported, cost), context
        if calls is not NO_USAGE:
            return replace(calls, cost=cost), context
        return (NO_USAGE if cost is None else Usage(cost=cost, reported=False)), context


def _tokens(reported: Mapping[str, Any], cost: float | None) -> Usage:
    tokens = {key: reported.get(key) or 0 for key in _TOKENS}
    if not all(type(value) is int for value in tokens.values()):
        return Usage(cost=cost, reported=False)
    entered, made = tokens["inputTokens"], tokens["outputTokens"]
    read, written, thought = tokens["cachedReadTokens"], tokens["cachedWriteTokens"], tokens["thoughtTokens"]
    # The total says whether cached and thought tokens are part of the others, or counted beside them.
    if tokens["totalTokens"] >= entered + made + read + written:
        entered += read + written
    if tokens["totalTokens"] >= entered + made + thought:
        made += thought
    return Usage(entered, made, read, thought, cost=cost, cache_write_tokens=written)


_TOKENS = ("totalTokens", "inputTokens", "outputTokens", "thoughtTokens", "cachedReadTokens", "cachedWriteTokens")

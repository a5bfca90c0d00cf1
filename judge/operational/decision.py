"""Decides by defined signals whether a run is better or worse than earlier ones. Pure functions of figures."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from viva.judge.operational.figures import OperationalFigures

TOKEN_CHANGE = 0.10
"""Relative change of the tokens from which it is a signal."""
TOOL_CHANGE = 0.05
"""Change of the tools' success rate from which it is a signal."""
_ROUNDING = 1e-9


class Trend(StrEnum):
    """The labels of the operational evaluator."""

    IMPROVED = "Improved"
    FLAT = "Flat"
    DEGRADED = "Degraded"
    INCONCLUSIVE = "Inconclusive"


@dataclass(frozen=True, slots=True)
class Signal:
    """One figure that can be compared."""

    name: str
    """`tokens`, `tools`, `failures` or `success`."""
    direction: int
    """1 is better than before, -1 is worse, 0 is the same."""
    words: str


def signals_of(now: OperationalFigures, before: OperationalFigures) -> tuple[Signal, ...]:
    """Compare the figures that both sides have."""
    found = []
    if now.tokens is not None and before.tokens:
        change = now.tokens / before.tokens - 1
        words = f"tokens {now.tokens:,.0f}, before {before.tokens:,.0f} ({change:+.0%})"
        found.append(Signal("tokens", _direction(-change, TOKEN_CHANGE), words))
    if now.tool_rate is not None and before.tool_rate is not None:
        change = now.tool_rate - before.tool_rate
        words = f"tool calls without failure {now.tool_rate:.0%}, before {before.tool_rate:.0%}"
        found.append(Signal("tools", _direction(change, TOOL_CHANGE), words))
    if now.failures is not None and before.failures is not None:
        words = f"aborts and failed model calls {now.failures:g}, before {before.failures:g}"
        found.append(Signal("failures", _direction(before.failures - now.failures, 0.0), words))
    if now.success is not None and before.success is not None:
        words = f"{'a success' if now.success else 'no success'}, before {'a success' if before.success else 'none'}"
        found.append(Signal("success", int(now.success) - int(before.success), words))
    return tuple(found)


def decide(signals: tuple[Signal, ...], *, earlier: int, success: bool | None) -> Trend:
    """Decide by the first rule that applies.

    Args:
        signals: What can be compared.
        earlier: How many runs there were before.
        success: Whether this run succeeded.
    """
    if not earlier or not signals:
        return Trend.INCONCLUSIVE
    success_change = next((each.direction for each in signals if each.name == "success"), 0)
    if success_change:
        return Trend.IMPROVED if success_change > 0 else Trend.DEGRADED
    better = any(each.direction > 0 for each in signals)
    worse = any(each.direction < 0 for each in signals)
    if better and worse:
        return Trend.INCONCLUSIVE
    if worse:
        return Trend.DEGRADED
    if better:
        # Spending less on failing again is no improvement.
        return Trend.INCONCLUSIVE if success is False else Trend.IMPROVED
    return Trend.FLAT


def _direction(gain: float, threshold: float) -> int:
    if abs(gain) <= _ROUNDING or abs(gain) < threshold - _ROUNDING:
        return 0
    return 1 if gain > 0 else -1

"""The figures by which runs are compared, and the scores made of them. Pure functions of metrics.

The thresholds, scores and signals are documented in `viva docs observe`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from viva.records.eval_run_record import EvalRunRecord
from viva.records.transcript import MOST_TOKENS, Metrics

EFFICIENCY, TOOL_ECONOMY, RELIABILITY = "efficiency", "tool_economy", "reliability"
FAILED_SHARE = 0.5
"""The factor of the reliability of a run that was not a success."""


@dataclass(frozen=True, slots=True)
class OperationalFigures:
    """The figures by which runs are compared. None means that a figure is unknown."""

    tokens: float | None = None
    """Input and output tokens of all models, sub-agents included."""
    tool_rate: float | None = None
    """Share of the tool calls that completed without failure."""
    failures: float | None = None
    """Aborts and failed model calls."""
    success: bool | None = None


def figures_of(metrics: Metrics, success: bool | None) -> OperationalFigures:
    """Return the figures of one run. Tokens are unknown if a part of them was not reported."""
    usage = metrics.usage
    return OperationalFigures(
        tokens=float(usage.tokens) if usage.tokens and usage.reported else None,
        tool_rate=metrics.tool_success_rate,
        # Of a stranger's journal, they may have hundreds of digits, which no float has.
        failures=float(max(0, min(sum((*metrics.aborts.values(), *metrics.model_failures.values())), MOST_TOKENS))),
        success=success,
    )


def is_observed(metrics: Metrics, success: bool | None) -> bool:
    """Return whether anything was counted."""
    counts = (metrics.usage_by_model, metrics.tool_calls, metrics.aborts, metrics.model_failures)
    return success is not None or metrics.never_started > 0 or any(counts)


def baseline_of(runs: Sequence[EvalRunRecord]) -> OperationalFigures:
    """The figures of earlier runs: the median of each over those that have it, and the newest known success.

    Args:
        runs: Newest last.
    """
    found = [figures_of(run.metrics, run.success) for run in runs]
    return OperationalFigures(
        tokens=_median([each.tokens for each in found]),
        tool_rate=_median([each.tool_rate for each in found]),
        failures=_median([each.failures for each in found]),
        success=next((each.success for each in reversed(found) if each.success is not None), None),
    )


def scores_of(metrics: Metrics, success: bool | None, before: OperationalFigures) -> dict[str, float]:
    """Return the scores of one run, each in [0, 1]; a score that cannot be determined is left out.

    Args:
        metrics: What was counted.
        success: Whether the run succeeded.
        before: The figures of earlier runs.
    """
    scores: dict[str, float] = {}
    now = figures_of(metrics, success)
    if now.tokens is not None and before.tokens is not None:
        scores[EFFICIENCY] = min(1.0, before.tokens / now.tokens)
    if now.tool_rate is not None:
        scores[TOOL_ECONOMY] = now.tool_rate
    scores[RELIABILITY] = _reliability(metrics, success)
    return scores


def _reliability(metrics: Metrics, success: bool | None) -> float:
    failed = sum(metrics.model_failures.values())
    answered = sum(usage.calls for usage in metrics.usage_by_model.values())
    share = answered / (answered + failed) if failed else 1.0
    return share * (FAILED_SHARE if success is False else 1.0) / (1 + sum(metrics.aborts.values()))


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(median(known)) if known else None

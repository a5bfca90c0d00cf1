"""What every report says of a run: whether it passed, what it missed, what it cost."""

from __future__ import annotations

from enum import StrEnum

from harness.statistics.cells import passes, score_of
from records.run_record import RunRecord
from records.text import one_line
from records.transcript import NO_USAGE
from records.verdict import Evidence, Verdict


class Standing(StrEnum):
    """Where a run stands in a report."""

    PASSED = "passed"
    FAILED = "failed"
    APART = "apart"
    """It says nothing about the agent: examiner, judge or infrastructure failed."""
    UNFINISHED = "unfinished"
    """It has no record."""


def standing(record: RunRecord, threshold: float) -> Standing:
    """Whether a run passed at a threshold; its low bound counts."""
    scored = score_of(record)
    if scored is None:
        return Standing.APART
    return Standing.PASSED if passes(scored[1], threshold) else Standing.FAILED


def missed(record: RunRecord) -> list[Verdict]:
    """The verdicts that cost the run something or are still open."""
    return [
        verdict
        for insight in record.insights
        for verdict in insight.verdicts
        if verdict.score is None or verdict.score < 1
    ]


def tokens_of(record: RunRecord) -> int:
    """Input and output tokens of all roles."""
    return sum(used.input_tokens + used.output_tokens for used in record.usage.values())


def cost_of(record: RunRecord) -> float | None:
    """US dollars of all roles; None where the price of any call is unknown."""
    return sum(record.usage.values(), NO_USAGE).cost


def dollars(cost: float | None) -> str:
    """Money in words."""
    return "unknown" if cost is None else f"${cost:.4f}" if cost < 1 else f"${cost:,.2f}"


def why(record: RunRecord) -> str:
    """One line on what was missed, or on what went wrong."""
    if record.error:
        return one_line(record.error, 200)
    return " · ".join(
        one_line(verdict.statement or verdict.criterion, 100).rstrip(".") for verdict in missed(record)[:2]
    )


def quote_line(evidence: Evidence, limit: int = 300) -> str:
    """Evidence as one line of text."""
    return f"{one_line(evidence.where, 40)}: “{one_line(evidence.quote, limit)}”"

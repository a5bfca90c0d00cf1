"""What every report says of a run: whether it passed, what it missed, what it cost, and what each evaluator said."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from harness.statistics.scores import passes, primary_insight, score_of
from harness.wording import insight_line, is_reported
from records.run_record import RunRecord
from records.text import one_line
from records.transcript import NO_USAGE, Usage
from records.verdict import Evidence, Insight, Verdict


class Standing(StrEnum):
    """Says where a run stands in a report."""

    PASSED = "passed"
    FAILED = "failed"
    EXCLUDED = "excluded"
    """It says nothing about the agent: examiner, judge or infrastructure failed."""
    UNFINISHED = "unfinished"
    """It has no record."""


def standing(record: RunRecord, threshold: float) -> Standing:
    """Tell whether a run passed at a threshold; its low bound counts."""
    scored = score_of(record)
    if scored is None:
        return Standing.EXCLUDED
    return Standing.PASSED if passes(scored.low, threshold) else Standing.FAILED


def missed(record: RunRecord) -> list[Verdict]:
    """List the verdicts of the primary evaluator that cost the run something or are still open."""
    main = primary_insight(record)
    verdicts = main.verdicts if main is not None else ()
    return [verdict for verdict in verdicts if verdict.score is None or verdict.score < 1]


def further_insights(record: RunRecord) -> list[Insight]:
    """List all insights but the primary one."""
    main = primary_insight(record)
    return [insight for insight in record.insights if insight is not main]


def headline(insight: Insight, run: str) -> str:
    """Say in one line which evaluator said what of which subject."""
    about = "" if insight.subject == run else f" on {subject_words(insight.subject)}"
    return f"{one_line(insight.evaluator, 80)}{about}: {insight_line(insight)}"


def subject_words(subject: str) -> str:
    """Name what a verdict is about: `round 3`, or `step` and its id."""
    if subject[:1] == "r" and subject[1:].isascii() and subject[1:].isdigit() and len(subject) <= 10:
        return f"round {subject[1:]}"
    return f"step {one_line(subject, 60)}"


def verdicts_by_subject(insights: Iterable[Insight], run: str) -> dict[str, list[Verdict]]:
    """Sort what evaluators say of single rounds and steps by the id of the round or step.

    An insight about a round or step that has no verdicts stands for one.

    Args:
        insights: Of one run.
        run: Its id; what is about the run as a whole is left out.
    """
    found: dict[str, list[Verdict]] = {}
    for insight in insights:
        whole = Verdict(
            insight.subject,
            insight.evaluator,
            insight.label,
            insight.score,
            reason=insight.summary,
            by=insight.evaluator,
        )
        for verdict in insight.verdicts or (whole,):
            if verdict.subject != run:
                found.setdefault(verdict.subject, []).append(verdict)
    return found


def usage_of(record: RunRecord) -> Usage:
    """Add up the usage of all roles."""
    return sum(record.usage.values(), NO_USAGE)


def tokens_of(record: RunRecord) -> int | None:
    """Count input and output tokens of all roles; None where nobody reported any."""
    used = usage_of(record)
    return used.input_tokens + used.output_tokens if is_reported(used) else None


def cost_of(record: RunRecord) -> float | None:
    """Give the US dollars of all roles; None where nobody reported them, or the price of any call is unknown."""
    used = usage_of(record)
    return used.cost if is_reported(used) else None


def why(record: RunRecord) -> str:
    """Say in one line what was missed, or what went wrong."""
    if record.error:
        return one_line(record.error, 200)
    return " · ".join(
        one_line(verdict.statement or verdict.criterion, 100).rstrip(".") for verdict in missed(record)[:2]
    )


def vote_words(verdict: Verdict) -> list[str]:
    """Say how each judge voted, where more than one judged."""
    return [f"{one_line(vote.judge, 60)}: {one_line(vote.label, 20)}" for vote in verdict.votes]


def quote_line(evidence: Evidence, limit: int = 300) -> str:
    """Show evidence as one line of text; without words of its own it is a screenshot."""
    if not evidence.quote:
        return f"{subject_words(evidence.where)}: its screenshot"
    # The steps of a desktop session are numbered; a number alone says nothing.
    where = subject_words(evidence.where) if evidence.where[:1].isdigit() else one_line(evidence.where, 40)
    return f"{where}: “{one_line(evidence.quote, limit)}”"

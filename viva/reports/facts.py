"""Facts that every report shows about a run: whether it passed, what it missed, what it cost, and its insights."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from viva.judge.evidence import FILE
from viva.records.run_record import RunRecord
from viva.records.text import counted, exact_line, one_line
from viva.records.transcript import NO_USAGE, Usage, adds_nothing
from viva.records.verdict import Evidence, Insight, Verdict
from viva.records.wording import insight_line
from viva.statistics.scores import primary_insight, score_of, scored_passes
from viva.statistics.summary import Figures


class Standing(StrEnum):
    """The result of a run in a report."""

    PASSED = "passed"
    FAILED = "failed"
    EXCLUDED = "excluded"
    """The run says nothing about the agent, because the examiner, the judge or the infrastructure failed."""
    UNFINISHED = "unfinished"
    """The run has no record."""


def standing(record: RunRecord, threshold: float) -> Standing:
    """Return whether a run passed, failed or is excluded.

    It passes if its low bound is at least the threshold of its case, or the given one if the case has none.
    """
    scored = score_of(record)
    if scored is None:
        return Standing.EXCLUDED
    return Standing.PASSED if scored_passes(record, scored, threshold) else Standing.FAILED


def own_threshold_words(threshold: float) -> str:
    """Return the threshold of a case in words that follow "passes from"."""
    return f"{threshold:g}, the threshold of the case"


def threshold_words(figures: Figures) -> str:
    """Return from which score runs pass, in words; cases with a threshold of their own are counted."""
    own = figures.own_thresholds
    words = f"{figures.threshold:g}"
    return words if not own else f"{words}, or of their case ({counted(own, 'run')})"


def missed(record: RunRecord) -> list[Verdict]:
    """Return the verdicts of the primary evaluator that lowered the score or are still open."""
    main = primary_insight(record)
    verdicts = main.verdicts if main is not None else ()
    return [verdict for verdict in verdicts if verdict.score is None or verdict.score < 1]


def further_insights(record: RunRecord) -> list[Insight]:
    """Return all insights except the primary one."""
    main = primary_insight(record)
    return [insight for insight in record.insights if insight is not main]


def headline(insight: Insight, run: str) -> str:
    """Return one line with the evaluator, the subject and the result of an insight."""
    about = "" if insight.subject == run else f" on {subject_words(insight.subject)}"
    return f"{one_line(insight.evaluator, 80)}{about}: {insight_line(insight)}"


def subject_words(subject: str) -> str:
    """Return the subject of a verdict or the place of evidence in words: `round 3`, `step s2`, `file a.txt`."""
    if subject[:1] == "r" and subject[1:].isascii() and subject[1:].isdigit() and len(subject) <= 10:
        return f"round {subject[1:]}"
    if subject.startswith(FILE):
        return f"file {one_line(subject.removeprefix(FILE), 60)}"
    return f"step {one_line(subject, 60)}"


def verdicts_by_subject(insights: Iterable[Insight], run: str) -> dict[str, list[Verdict]]:
    """Return the verdicts about single rounds and steps, by the id of the round or step.

    An insight about a round or step without verdicts counts as a verdict.

    Args:
        insights: The insights of one run.
        run: The run's id; verdicts about the whole run are left out.
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
    """Return the sum of the usage of all roles."""
    found = NO_USAGE
    for used in record.usage.values():
        # Most roles called no model, and adding their usage takes ten times as long as skipping it.
        if not adds_nothing(used):
            found += used
    return found


def tokens_of(record: RunRecord) -> int | None:
    """Return the number of input and output tokens of all roles; None if none were reported."""
    return usage_of(record).known_tokens


def cost_of(record: RunRecord) -> float | None:
    """Return the cost of all roles in US dollars; None if it was not reported, or if the price of a call is unknown."""
    return usage_of(record).known_cost


def vote_words(verdict: Verdict) -> list[str]:
    """Return how each judge voted, if there were several."""
    return [f"{one_line(vote.judge, 60)}: {one_line(vote.label, 20)}" for vote in verdict.votes]


def quote_line(evidence: Evidence, limit: int = 300) -> str:
    """Return evidence as one line of text, with marks for white space. Evidence without a quote is a screenshot."""
    if not evidence.quote:
        return f"{subject_words(evidence.where)}: its screenshot"
    # The steps of a desktop session are numbered; a number alone says nothing.
    where = subject_words(evidence.where) if evidence.where[:1].isdigit() else one_line(evidence.where, 40)
    return f"{where}: “{exact_line(evidence.quote, limit)}”"

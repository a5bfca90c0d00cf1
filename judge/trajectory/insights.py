"""Adds the verdicts of a trajectory evaluator up to its insight: score, bounds, and how much could not be judged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from viva.judge.trajectory import SKIPPED
from viva.records.fault import Fault
from viva.records.transcript import NO_USAGE, Usage
from viva.records.verdict import Insight, Label, Verdict

OPEN = (Label.UNSURE, Label.ERROR)
NOTHING = "the trajectory holds nothing that this evaluator judges"


def summarize(
    evaluator: str,
    subject: str,
    verdicts: Sequence[Verdict],
    *,
    scores: Mapping[str, float] | None = None,
    usage: Usage = NO_USAGE,
    seconds: float = 0.0,
    empty: str | None = None,
) -> Insight:
    """Make the insight: its score is the weighted mean over the verdicts that have one.

    `unsure` and `error` verdicts are in no score; they count as 0 in `low` and as 1 in `high`. Skipped verdicts do not
    count, and are mentioned in the summary. If there is nothing to judge, the run is skipped, for the reason in `empty`
    where there is one.
    """
    if not verdicts:
        verdicts = [Verdict(subject, evaluator, SKIPPED, None, reason=empty or NOTHING)]
    scored = [(verdict.score, verdict.weight) for verdict in verdicts if verdict.score is not None]
    counts = Counter(verdict.label for verdict in verdicts)
    left_open = math.fsum(each.weight for each in verdicts if each.score is None and each.label in OPEN)
    total = math.fsum(score * weight for score, weight in scored)
    weights = math.fsum(weight for _, weight in scored)
    bounded = weights + left_open
    return Insight(
        evaluator,
        subject,
        _label(counts),
        total / weights if scored else None,
        low=total / bounded if scored else None,
        high=(total + left_open) / bounded if scored else None,
        scores=scores or {},
        summary=", ".join(f"{number} {label}" for label, number in counts.most_common()),
        verdicts=tuple(verdicts),
        usage=usage,
        seconds=seconds,
    )


def _label(counts: Mapping[str, int]) -> str:
    labels = [label for label, number in counts.items() if number and label != SKIPPED]
    if Label.ERROR in labels:
        return Label.ERROR
    if not labels:
        return SKIPPED
    return labels[0] if len(labels) == 1 else "mixed"


def nothing_to_judge(evaluator: str, subject: str, reason: str) -> Insight:
    """Make the insight about a trajectory that is empty: it is skipped, and has no score."""
    return summarize(evaluator, subject, [Verdict(subject, evaluator, SKIPPED, None, reason=reason)])


def cannot_judge(evaluator: str, subject: str, reason: str) -> Insight:
    """Make the insight of an evaluator that lacks what it needs to judge a run: an `error`, and no score."""
    verdict = Verdict(subject, evaluator, Label.ERROR, None, reason=reason, fault=Fault.JUDGE)
    return summarize(evaluator, subject, [verdict])

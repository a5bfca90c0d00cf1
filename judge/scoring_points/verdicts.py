"""Builds the verdicts on scoring points, whoever judges them."""

from __future__ import annotations

from viva.cases import ScoringPoint
from viva.records.fault import Fault
from viva.records.verdict import Evidence, Label, Verdict

SCORES: dict[str, float] = {Label.HIT: 1.0, Label.MISS: 0.0}
"""The score by label; an open point has none."""


def point_verdict(
    subject: str,
    point: ScoringPoint,
    label: str,
    reason: str,
    *,
    by: str = "code",
    evidence: tuple[Evidence, ...] = (),
    flags: tuple[str, ...] = (),
    fault: Fault | None = None,
    seconds: float = 0.0,
) -> Verdict:
    """Return the verdict on a scoring point, with the point's id, statement and weight, and the label's score."""
    return Verdict(
        subject,
        point.id,
        label,
        SCORES.get(label),
        reason=reason,
        evidence=evidence,
        by=by,
        statement=point.score_point,
        weight=point.weight,
        flags=flags,
        fault=fault,
        seconds=seconds,
    )

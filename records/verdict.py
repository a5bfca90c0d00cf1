"""Judgements: one verdict, the evidence under it, and what one evaluator says of one subject."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from records.transcript import NO_USAGE, Usage


class Label:
    """Labels of a scoring point. Other evaluators name their own, and always have `UNSURE` and `ERROR`."""

    HIT = "hit"
    MISS = "miss"
    UNSURE = "unsure"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A place in the transcript, and the exact words that stand there."""

    where: str
    """A round's id (`r12`) or a step's."""
    quote: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judgement by one judge."""

    subject: str
    """The id of a run, a round or a step."""
    criterion: str
    """A scoring point's id, or an evaluator's name."""
    label: str
    score: float | None
    """In [0, 1]; None where there is nothing to average (`unsure`, `error`)."""
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    by: str = "code"
    """`code`, or a model's name."""
    statement: str = ""
    """The scoring point in words."""
    weight: float = 1.0
    votes: Mapping[str, str] = field(default_factory=dict)
    """Judge to label, where more than one judged."""
    flags: tuple[str, ...] = ()
    """What a reader should know before trusting it: `imports-workspace`, `limit-repeated`, `judges-disagree`…"""
    fault: str | None = None
    """For `error`: whose it is, `judge` or `infra`."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Insight:
    """What one evaluator says of one subject."""

    evaluator: str
    subject: str
    label: str
    score: float | None
    """In [0, 1], or None where nothing was judged."""
    low: float | None = None
    """The score if every open verdict turned out badly."""
    high: float | None = None
    """The score if every open verdict turned out well."""
    scores: Mapping[str, float] = field(default_factory=dict)
    summary: str = ""
    notes: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    usage: Usage = NO_USAGE
    seconds: float = 0.0

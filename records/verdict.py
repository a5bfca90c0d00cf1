"""Judgements: one verdict, the evidence under it, and what one evaluator says of one subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from typing import Any

from records.transcript import NO_USAGE, Usage


class Label(StrEnum):
    """Labels of a scoring point. Other evaluators name their own, and always have `UNSURE` and `ERROR`."""

    HIT = "hit"
    MISS = "miss"
    UNSURE = "unsure"
    ERROR = "error"


class Fault(StrEnum):
    """Whose fault something was: of a conversation's stop any but `JUDGE`, of an `error` verdict `JUDGE` or `INFRA`."""

    TARGET = "target"
    EXAMINER = "examiner"
    JUDGE = "judge"
    INFRA = "infra"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A place in the transcript, and the exact words that stand there."""

    where: str
    """A round's id (`r12`) or a step's."""
    quote: str


@dataclass(frozen=True, slots=True)
class Vote:
    """What one of several judges said, under the verdict that came of it."""

    judge: str
    """`code`, or a model's name."""
    label: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judgement by one judge."""

    subject: str
    """The id of a run, a round or a step."""
    criterion: str
    """A scoring point's id, or an evaluator's name."""
    label: str
    """A `Label`, or what the evaluator calls it."""
    score: float | None
    """In [0, 1]; None where there is nothing to average (`unsure`, `error`)."""
    _: KW_ONLY
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    by: str = "code"
    """`code`, or a model's name."""
    statement: str = ""
    """The scoring point in words."""
    weight: float = 1.0
    votes: tuple[Vote, ...] = ()
    """Where more than one judged, or one judged several times: each in turn."""
    flags: tuple[str, ...] = ()
    """What a reader should know before trusting it: `imports-workspace`, `limit-repeated`, `judges-disagree`…"""
    fault: str | None = None
    """For `error`: whose it is, a `Fault`."""
    seconds: float = 0.0

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        """In older files votes are a mapping, judge to label."""
        schema = handler(source)
        (votes,) = (part["schema"] for part in schema["schema"]["fields"] if part["name"] == "votes")
        votes["schema"] = {
            "type": "function-before",
            "function": {"type": "no-info", "function": _list_votes},
            "schema": votes["schema"],
        }
        return schema


@dataclass(frozen=True, slots=True)
class Insight:
    """What one evaluator says of one subject."""

    evaluator: str
    subject: str
    label: str
    score: float | None
    """In [0, 1], or None where nothing was judged."""
    _: KW_ONLY
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
    isolation: tuple[Mapping[str, str], ...] = ()
    """What separated the checks from the `host` and from other `runs`, and in a `note` why it was not what was asked
    for; several where sessions differed, none where no check ran."""


def _list_votes(votes: Any) -> Any:
    if isinstance(votes, Mapping):
        return [{"judge": judge, "label": label} for judge, label in votes.items()]
    return votes

"""The data of judgements: verdicts, their evidence, and insights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from typing import Any

from viva.records.fault import Fault
from viva.records.transcript import NO_USAGE, Usage

CODE, RECORDING, RULE = "code", "recording", "rule"
"""The values of `Verdict.by` that are not names of models. A rule makes a verdict without asking anybody."""
NO_REPLY = "no-reply"
"""The flag of a miss that nobody judged, because the agent failed and gave no reply."""
UNMET = "requirement-unmet"
"""The flag of a miss that nobody judged, because a point that it requires is a miss."""


class Label(StrEnum):
    """Labels of a scoring point. Other evaluators have their own labels, but always also `UNSURE` and `ERROR`."""

    HIT = "hit"
    MISS = "miss"
    UNSURE = "unsure"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A position in the transcript, and the exact quote from there."""

    where: str
    """The id of a round (`r12`) or a step."""
    quote: str


@dataclass(frozen=True, slots=True)
class Vote:
    """The vote of one of several judges, from which the verdict was made."""

    judge: str
    """`code`, or a model's name."""
    label: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judgement about one subject by one criterion."""

    subject: str
    """The id of a run, a round or a step."""
    criterion: str
    """A scoring point's id, or an evaluator's name."""
    label: str
    """A `Label`, or a label of the evaluator."""
    score: float | None
    """The score in [0, 1]; None if there is nothing to average (`unsure`, `error`)."""
    _: KW_ONLY
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    by: str = CODE
    """`code`, `recording`, `rule` (nobody was asked), or a model's name."""
    statement: str = ""
    """The scoring point in words."""
    weight: float = 1.0
    votes: tuple[Vote, ...] = ()
    """The votes in order, if there were several judges, or if one judged several times."""
    flags: tuple[str, ...] = ()
    """What a reader should know before trusting it: `imports-workspace`, `limit-repeated`, `judges-disagree`…"""
    fault: str | None = None
    """The `Fault` of an `error`; `examiner` means that the exam was unfair."""
    seconds: float = 0.0
    wanted: str = ""
    """What a check without code asks for, in words; empty for other judges."""
    got: str = ""
    """What there was in its place."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Also read votes of older files, which are a mapping of judges to labels."""
        schema = handler(source)
        (votes,) = (part["schema"] for part in schema["schema"]["fields"] if part["name"] == "votes")
        votes["schema"] = {
            "type": "function-before",
            "function": {"type": "no-info", "function": _list_votes},
            "schema": votes["schema"],
        }
        return schema


def is_model(judge: str) -> bool:
    """Return whether a judge, as verdicts and votes name it, is a model."""
    return judge not in (CODE, RECORDING, RULE)


def is_by_rule(verdict: Verdict) -> bool:
    """Return whether a verdict follows from a rule, so that it says nothing about how well code or a model judges.

    Earlier versions wrote `code` as its judge; the flag tells it from a check.
    """
    if verdict.by == RULE:
        return True
    return verdict.by == CODE and verdict.label == Label.MISS and not {NO_REPLY, UNMET}.isdisjoint(verdict.flags)


@dataclass(frozen=True, slots=True)
class Insight:
    """The result of one evaluator for one subject."""

    evaluator: str
    subject: str
    label: str
    score: float | None
    """The score in [0, 1], or None if nothing was judged."""
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
    """Isolation of the checks from the `host` and from other `runs`, one entry per distinct session; `note` says why it
    is weaker than requested. Empty if no check ran."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further data of the evaluator, which documents the keys."""


def error_insight(
    evaluator: str,
    subject: str,
    reason: str,
    *,
    criterion: str | None = None,
    statement: str = "",
    by: str = "code",
    fault: Fault = Fault.JUDGE,
    seconds: float = 0.0,
) -> Insight:
    """Return the insight of an evaluator that could not judge a subject: one `error` verdict, and no score.

    Args:
        evaluator: Its name, which is also the verdict's criterion if no other is given.
        subject: The id of a run or a round.
        reason: Why it could not, in words.
        criterion: What the verdict is about.
        statement: The criterion in words.
        by: `code`, or a model's name.
        fault: Who caused it.
        seconds: How long it took.
    """
    verdict = Verdict(
        subject,
        criterion or evaluator,
        Label.ERROR,
        None,
        reason=reason,
        by=by,
        statement=statement,
        fault=fault,
    )
    return Insight(evaluator, subject, Label.ERROR, None, summary=reason, verdicts=(verdict,), seconds=seconds)


def _list_votes(votes: Any) -> Any:
    if isinstance(votes, Mapping):
        return [{"judge": judge, "label": label} for judge, label in votes.items()]
    return votes

"""The findings of an analysis: read from an answer, and checked against the runs that exist."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from viva.judge.copies import Said
from viva.records.json_in_text import TooManyBraces, json_objects, misfit
from viva.records.text import storable
from viva.records.transcript import NO_USAGE, Usage

COPIED = "it repeats an answer from the data"
MOST_IDS = 50
"""Runs that one claim may cite."""


class UnusableAnswer(Exception):
    """An answer is not in the form asked for; the message tells the analyst why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weakness:
    """A weakness of the agent."""

    title: str
    explanation: str
    severity: str
    """`high`, `medium` or `low`."""
    runs: tuple[str, ...]
    """Where the runs that show it are found: journal and run id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Improvement:
    """An improvement that the analyst recommends."""

    title: str
    proposal: str
    expected: str
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedClaim:
    """A claim that the runs do not support."""

    kind: str
    """`weakness` or `improvement`."""
    title: str
    reason: str
    """Why it was dropped: runs that do not exist, no run at all, or too many claims."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalAnalysis:
    """The result of an analysis."""

    summary: str
    weaknesses: tuple[Weakness, ...] = ()
    improvements: tuple[Improvement, ...] = ()
    dropped: tuple[DroppedClaim, ...] = ()
    """Claims that were dropped: they cite runs that do not exist, or none, or exceed the requested number."""
    runs: int = 0
    """Number of runs in the figures."""
    shown: int = 0
    """Number of runs that the analyst was shown."""
    conversations: bool = True
    """Whether it was shown what was said in them: not if nothing is stored of it, or if its provider refuses it."""
    by: str = ""
    """The model, or the name of the runner."""
    usage: Usage = field(default=NO_USAGE)
    """Unknown if the runner does not report it."""
    prompts: dict[str, str] = field(default_factory=dict)
    """Prompt name to the first 12 hex digits of its SHA-256."""


class _Claim(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    title: str = Field(min_length=1, max_length=300)
    runs: list[str] = Field(default_factory=list, max_length=MOST_IDS)


class _Weakness(_Claim):
    explanation: str = Field(max_length=4000)
    severity: Literal["high", "medium", "low"]


class _Improvement(_Claim):
    proposal: str = Field(max_length=4000)
    expected: str = Field(default="", max_length=2000)


class AnalystAnswer(BaseModel):
    """The analyst's answer, before its claims are checked."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    mark: str = Field(default="", max_length=100)
    summary: str = Field(min_length=1, max_length=8000)
    weaknesses: list[_Weakness]
    improvements: list[_Improvement]


def read_answer(text: str, mark: str, said: Said) -> AnalystAnswer:
    """Return the answer in a model's text: JSON alone, in a code fence, or with words around it.

    Args:
        text: The model's text.
        mark: The mark of the question, which the answer must carry.
        said: The data that the analyst was shown; JSON in it is a quote of an agent, not an answer.

    Raises:
        UnusableAnswer: it contains no answer in the requested form, or several that differ.
    """
    fault, answers = "it holds no JSON object", []
    try:
        for start, end, value in json_objects(text):
            if said.holds(text[start:end]):
                fault = COPIED
                continue
            try:
                answer = AnalystAnswer.model_validate(value)
                if said.holds_reason(answer.summary):
                    fault = COPIED
                    continue
                answers.append(answer)
            except ValidationError as error:
                fault = misfit(error)
    except TooManyBraces as error:
        raise UnusableAnswer(str(error)) from error
    if not answers:
        raise UnusableAnswer(fault)
    if any(answer != answers[0] for answer in answers):
        raise UnusableAnswer("it holds several answers that differ")
    if answers[0].mark != mark:
        raise UnusableAnswer("it does not carry the mark of the question")
    return answers[0]


def check_claims(
    answer: AnalystAnswer, known: dict[str, str], most: int, *, flawless: Collection[str] = (), said: Said | None = None
) -> tuple[tuple[Weakness, ...], tuple[Improvement, ...], tuple[DroppedClaim, ...]]:
    """Keep the claims that cite runs which exist, and report the others.

    Args:
        answer: What the analyst said.
        known: Id to cite to where the run is found.
        most: Weaknesses, and improvements, at most.
        flawless: Ids of the runs that show no fault.
        said: The data that the analyst was shown.
    """
    weaknesses: list[Weakness] = []
    improvements: list[Improvement] = []
    dropped: list[DroppedClaim] = []
    for weakness in answer.weaknesses:
        reason = _why_dropped(weakness.runs, known, most - len(weaknesses)) or _copied(weakness.explanation, said)
        if reason is None and set(weakness.runs) <= set(flawless):
            reason = "it cites only runs without a fault"
        if reason is not None:
            dropped.append(DroppedClaim(kind="weakness", title=storable(weakness.title), reason=reason))
            continue
        weaknesses.append(
            Weakness(
                title=storable(weakness.title),
                explanation=storable(weakness.explanation),
                severity=weakness.severity,
                runs=tuple(dict.fromkeys(known[run] for run in weakness.runs)),
            )
        )
    for improvement in answer.improvements:
        reason = _why_dropped(improvement.runs, known, most - len(improvements)) or _copied(improvement.proposal, said)
        if reason is not None:
            dropped.append(DroppedClaim(kind="improvement", title=storable(improvement.title), reason=reason))
            continue
        improvements.append(
            Improvement(
                title=storable(improvement.title),
                proposal=storable(improvement.proposal),
                expected=storable(improvement.expected),
                runs=tuple(dict.fromkeys(known[run] for run in improvement.runs)),
            )
        )
    return tuple(weaknesses), tuple(improvements), tuple(dropped)


def _why_dropped(runs: list[str], known: Collection[str], room: int) -> str | None:
    unknown = list(dict.fromkeys(run for run in runs if run not in known))
    if unknown:
        names = ", ".join(repr(storable(run)[:80]) for run in unknown[:3])
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        return f"it cites runs that do not exist: {names}{more}"
    if not runs:
        return "it cites no run"
    return None if room > 0 else "there are more claims than were asked for"


def _copied(words: str, said: Said | None) -> str | None:
    copied = said is not None and said.holds_reason(words)
    return "it repeats words of the data" if copied else None

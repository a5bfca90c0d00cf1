"""Keeps the verdicts of many runs by point, a few words of each, so that two judgings can be compared."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from viva.judge.exam.kinds import EXAM
from viva.records.run_record import RunRecord
from viva.records.verdict import CODE, Label, Verdict, is_by_rule, is_model
from viva.records.wording import judge_words

EXAMINERS_PROMPTS = ("examiner", "persona", "strategy")
"""The first words of the names of prompts that no judge is asked with."""


class PointKey(NamedTuple):
    """What tells one judged point from all others of a journal."""

    run: str
    evaluator: str
    subject: str
    """The id of a round or a step; empty for the run itself."""
    criterion: str


class SameConversation(NamedTuple):
    """What two judgings of one conversation have in common; another run of the same case has the same id."""

    rounds: int
    agent_seconds: float


@dataclass(frozen=True, slots=True)
class KeptVerdict:
    """What is kept of one verdict."""

    case: str
    label: str
    score: float | None
    by_model: bool
    by_rule: bool = False
    """Whether nobody was asked, so that the verdict says nothing about a judge."""
    repeated: tuple[str, str] | None = None
    """The first two votes of one model, if it judged more than once."""
    statement: str = ""
    """What the point says."""


class Judgings:
    """The verdicts of some runs, and how they were judged."""

    def __init__(self, records: Iterable[RunRecord]) -> None:
        """Read all records once.

        Args:
            records: The newest attempt of each run.
        """
        self.points: dict[PointKey, KeptVerdict] = {}
        self.conversations: dict[str, SameConversation] = {}
        """Of each run."""
        self.judging: dict[str, set[str]] = {}
        """The name of a setting of the judge to its values."""
        for record in records:
            self.conversations[record.id] = conversation_of(record)
            for name, value in judging_of(record):
                self.judging.setdefault(name, set()).add(value)
            self.points.update(_points(record))


def conversation_of(record: RunRecord) -> SameConversation:
    """Return what tells the conversation of a run from others of the same case."""
    return SameConversation(record.rounds, record.timing.agent_seconds)


def judging_of(record: RunRecord) -> Iterator[tuple[str, str]]:
    """Yield how a run was judged: the judge with its model, whether it voted, and the hash of each of its prompts."""
    yield "judge", judge_words(record.setting)
    voted = any(repeated_votes(verdict) for insight in record.insights for verdict in insight.verdicts)
    yield "number of votes on a point", "several" if voted else "one"
    for name, digest in record.setting.prompts.items():
        if not name.startswith(EXAMINERS_PROMPTS):
            yield f"judge's prompt {name}", digest


def differences(before: dict[str, set[str]], after: dict[str, set[str]]) -> tuple[str, ...]:
    """Return in words what differs in how two sides were judged."""
    words = []
    for name in sorted({*before, *after}):
        old, new = before.get(name, set()), after.get(name, set())
        # A prompt of one side only follows from another judge, which is said already.
        if old != new and old and new:
            shown = (", ".join(sorted(value or "none" for value in each)) for each in (old, new))
            words.append(f"the {name} differs: {' against '.join(shown)}")
    return tuple(words)


def _points(record: RunRecord) -> Iterator[tuple[PointKey, KeptVerdict]]:
    for insight in record.insights:
        if insight.evaluator == EXAM:
            continue  # it judges the examiner
        for verdict in insight.verdicts:
            subject = "" if verdict.subject == record.id else verdict.subject
            key = PointKey(record.id, insight.evaluator, subject, verdict.criterion)
            yield (
                key,
                KeptVerdict(
                    record.subject,
                    verdict.label,
                    verdict.score,
                    is_model(verdict.by),
                    is_by_rule(verdict),
                    repeated_votes(verdict),
                    sys.intern(verdict.statement),  # the runs of a case have the same ones
                ),
            )


def repeated_votes(verdict: Verdict) -> tuple[str, str] | None:
    """Return the labels of the first two votes by one model: what the same question was answered twice."""
    first: dict[str, str] = {}
    for vote in verdict.votes:
        if vote.judge == CODE or vote.label == Label.ERROR:
            continue
        if vote.judge in first:
            return first[vote.judge], vote.label
        first[vote.judge] = vote.label
    return None

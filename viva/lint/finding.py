"""What the lint reports of a case, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from viva.cases import Case
from viva.records.transcript import NO_USAGE, Usage


class LintKind(StrEnum):
    """What is wrong with a case."""

    MISTAKE = "mistake"
    """What `viva cases check` reports too."""
    ANYBODY = "anybody"
    """An agent that does nothing for it gets the point."""
    NOBODY = "nobody"
    """The solution does not get the point, or nobody can."""
    BROKEN = "broken-check"
    """The check fails by itself."""
    ROUNDS = "rounds"
    """The limit of rounds cuts the script."""
    CONTRADICTION = "contradiction"
    REVEALED = "revealed"
    """The answer is in what the examiner may say."""
    UNOBSERVABLE = "unobservable"
    """No fact of the conversation decides the statement."""
    DUPLICATE = "duplicate"
    WEIGHT = "weight"
    """The weight makes the point irrelevant."""
    UNFOUNDED = "unfounded"
    """Nothing in the task lets an agent earn the point. Only a reviewer finds this."""


@dataclass(frozen=True, slots=True)
class CaseFinding:
    """One thing that is wrong with a case, or that its author should know."""

    kind: LintKind
    message: str
    advice: str
    """What to do about it."""
    line: int | None = None
    """The line of the case file, from 1."""
    point: int | None = None
    """The number of the scoring point, from 1."""
    is_note: bool = False
    """Whether it may well be meant as it is: notes are shown, and never fail a build."""
    by: str = "code"
    """`code`, or the name of the model that found it."""


@dataclass(slots=True)
class LintedCase:
    """A case, and what came of it."""

    case: Case
    findings: list[CaseFinding] = field(default_factory=list)
    tried: tuple[str, ...] = ()
    """The names of the agents that took its exam."""
    not_tried: list[str] = field(default_factory=list)
    """What was not tried because something was not given, in words."""
    failed: list[str] = field(default_factory=list)
    """What should have been tried, and failed, in words."""
    usage: Usage = NO_USAGE
    """What models used."""

    @property
    def problems(self) -> list[CaseFinding]:
        """Return the findings that are not notes."""
        return [each for each in self.findings if not each.is_note]

    def sort(self) -> None:
        """Put the findings in the order of the file, notes last."""
        self.findings.sort(key=lambda each: (each.is_note, each.line or 0, each.point or 0))

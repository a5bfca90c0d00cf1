"""The person that a case describes, as plain data: who the user is, what they know, what they want, and when they stop.

Everything here is optional. The examiner plays this person; `background` and the scoring points are not part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

When = Literal["start", "asked", "step", "never"]
"""When a fact may be told: with the first message, when the agent asks for it, with one step of the task, or never."""


@dataclass(frozen=True, slots=True)
class User:
    """The user whom the examiner plays. Each part is None if the case does not describe it."""

    persona: str | None = None
    """The name of a bundled persona (`terse`), or a description in the author's own words."""
    mood: str | None = None
    language: str | None = None
    """The language that the user writes: `German`."""
    style: str | None = None
    """How the user writes: `short sentences without capital letters`."""
    patience: str | None = None
    """How long the user puts up with poor answers; a number in the case file means so many replies in a row."""


@dataclass(frozen=True, slots=True)
class UserFact:
    """Something that the user knows, and when they may tell it."""

    says: str
    when: When = "asked"
    step: int | None = None
    """The number of the step, for `when` = `step`; None otherwise."""

    @property
    def condition(self) -> str:
        """Return when the fact may be told, as a case file has it: `asked`, `step 3`."""
        return f"step {self.step}" if self.when == "step" else self.when


@dataclass(frozen=True, slots=True)
class Insistence:
    """What the user keeps asking for."""

    on: str
    times: int | None = None
    """Maximum number of times that the user asks again; None if the text alone says how long."""


@dataclass(frozen=True, slots=True)
class DoneWhen:
    """When the user stops. At least one of the two is given."""

    content: str | None = None
    """What has to be reached."""
    gives_up: str | None = None
    """When the user stops without having reached it."""


@dataclass(frozen=True, slots=True)
class CaseStrategy:
    """How the examiner tries to lead the agent astray. At least one of the two is given."""

    name: str | None = None
    """The name of a bundled strategy (`claimed-authority`), or a description in the author's own words. Without it, the
    goal applies only if a strategy is chosen for the suite."""
    goal: str | None = None
    """What the examiner tries to get."""

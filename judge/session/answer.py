"""The form of an answer about a session: sub-goals first, each judged, then the whole."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from viva.judge.answers import Form, Unusable, conclusion_pattern, with_list, without_quotes

Label = Literal["yes", "no", "unsure"]
LABELS: tuple[Label, ...] = ("yes", "no", "unsure")
MOST_SUB_GOALS = 40


class Cited(BaseModel):
    """A place in the session."""

    step: str = Field(description="The id of the step, as its head has it; `final` for the final screenshot.")
    quote: str = Field(description="Words copied exactly from the step; empty if its screenshot is what shows it.")

    @field_validator("step", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @field_validator("quote", mode="before")
    @classmethod
    def _nothing(cls, value: Any) -> Any:
        return "" if value is None else value


class SubScore(BaseModel):
    """One sub-goal of the request, judged."""

    name: str = Field(description="The sub-goal, in a few words; it follows from the request, not from the steps.")
    reason: str = Field(description="One or two sentences that lead to the evaluation.")
    evidence: list[Cited] = Field(description="The steps that show it: their words, or their screenshots.")
    evaluation: Label = Field(description="yes if the sub-goal was reached, no if not, unsure if it cannot be told.")

    @field_validator("evaluation", mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        return value.strip().lower() if isinstance(value, str) else value

    @model_validator(mode="before")
    @classmethod
    def _as_in_ufo(cls, value: Any) -> Any:
        # A sub-goal in UFO's form has a name and an evaluation only; the judge is asked for the rest.
        value = with_list(value, "evidence")
        return {"reason": "", **value} if isinstance(value, dict) else value


class SessionAnswer(BaseModel):
    """What the judge answers. The sub-goals come first, so that the whole can follow from them."""

    sub_scores: list[SubScore] = Field(description="The sub-goals of the request, each judged.")
    reason: str = Field(description="What the sub-goals come to, in two or three sentences.")
    complete: Label = Field(description="yes if the whole request was fulfilled, no if not, unsure if unclear.")
    mark: str = Field(description="The mark of the question, copied exactly.")


_DENIED = conclusion_pattern(("no", "unsure"))
# Said of the whole, at the beginning of a sentence: "the task was not completed". It is held against a "yes" only.
_NOT_DONE = re.compile(
    r"(?:^|[.!?;\n]\s*|\b(?:so|thus|hence|therefore|overall|however),?\s+)(?:overall,?\s+)?"
    r"the (?:whole |entire |overall |user['\u2019]s )?(?:task|request|session|round) "
    r"(?:(?:is|was|has|were|had) (?:therefore |thus |clearly )?not(?: been)?|(?:wasn|isn|hasn)['\u2019]t(?: been)?) "
    r"(?:\w+ly )?(?:complete|completed|fulfilled|done|achieved|finished|successful|accomplished|satisfied)\b",
    re.I,
)


def _beside(answer: SessionAnswer, prose: str) -> None:
    """Raise `Unusable` if the judge's words deny the whole and `complete` is "yes"."""
    own = without_quotes(prose)
    if answer.complete == "yes" and (_DENIED.search(own) or _NOT_DONE.search(own)):
        raise Unusable("its own words deny the whole, its `complete` is yes")


def _agree(answer: SessionAnswer) -> None:
    """Check that there are sub-goals with names, and that the answer does not contradict one of them."""
    if not answer.sub_scores:
        raise Unusable("it has no sub-goal in sub_scores")
    if len(answer.sub_scores) > MOST_SUB_GOALS:
        raise Unusable(f"it has {len(answer.sub_scores)} sub-goals; {MOST_SUB_GOALS} are allowed")
    for sub in answer.sub_scores:
        if not says_something(sub.name):
            raise Unusable("a sub-goal has no name")
    times = Counter(sub.name.strip().casefold() for sub in answer.sub_scores)
    if twice := [name for name, number in times.items() if number > 1]:
        raise Unusable(f"two sub-goals are called {twice[0][:80]!r}")
    _beside(answer, answer.reason)
    missed = [sub.name for sub in answer.sub_scores if sub.evaluation == "no"]
    if answer.complete == "yes" and missed:
        raise Unusable(f"its `complete` is yes, and its sub-goal {missed[0][:80]!r} is no")


def says_something(words: str) -> bool:
    """Return whether a text has a letter or a digit."""
    return any(character.isalnum() for character in words)


def aggregate(evaluations: list[Label]) -> Label:
    """Return what the sub-goals add up to: yes if all are yes, no if any is no, else unsure."""
    if "no" in evaluations:
        return "no"
    return "yes" if evaluations and all(each == "yes" for each in evaluations) else "unsure"


FORM: Form[SessionAnswer] = Form(SessionAnswer, ("complete",), _beside, _agree)

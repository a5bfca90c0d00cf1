"""The form of a reviewer's answer about a case."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from viva.judge.answers import Form, Unusable, with_list

MOST_FLAWS = 40


class CaseFlaw(StrEnum):
    """What a reviewer can say of a scoring point."""

    CONTRADICTS_TASK = "contradicts_task"
    CONTRADICTS_POINT = "contradicts_point"
    SAME_AS_POINT = "same_as_point"
    REVEALED = "revealed"
    UNOBSERVABLE = "unobservable"
    UNFOUNDED = "unfounded"


AGAINST_OTHERS = frozenset(CaseFlaw) - {CaseFlaw.UNOBSERVABLE, CaseFlaw.UNFOUNDED}
"""The flaws that rest on words beside those of the point."""


class ReviewedFlaw(BaseModel):
    """One flaw of one scoring point."""

    point: int = Field(description="Number of the scoring point.")
    kind: CaseFlaw = Field(description="The kind of flaw.")
    quote: str = Field(description="Words copied exactly from the statement of this point.")
    against: str = Field(description="Words copied exactly from the other part of the case; empty if there is none.")
    reason: str = Field(description="One sentence that says what is wrong.")
    advice: str = Field(description="One sentence that says what to write instead.")

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        value = {**value, "against": value.get("against") or "", "advice": value.get("advice") or ""}
        if isinstance(value.get("kind"), str):
            value["kind"] = value["kind"].strip().lower().replace(" ", "_").replace("-", "_")
        return value


class CaseReviewAnswer(BaseModel):
    """The answer of the reviewer. What it found comes first, so that the verdict can follow from it."""

    reason: str = Field(description="Two or three sentences that lead to the verdict.")
    flaws: list[ReviewedFlaw] = Field(description="The flaws of the scoring points; empty if there are none.")
    verdict: Literal["sound", "flawed"] = Field(description="Whether the scoring points fit the task.")
    mark: str = Field(description="The mark of the question, copied exactly.")

    @model_validator(mode="before")
    @classmethod
    def _with_lists(cls, value: Any) -> Any:
        return with_list(value, "flaws")


def _agree(answer: CaseReviewAnswer) -> None:
    if len(answer.flaws) > MOST_FLAWS:
        raise Unusable(f"it has {len(answer.flaws)} flaws; {MOST_FLAWS} are allowed")
    if answer.flaws and answer.verdict == "sound":
        raise Unusable(f"its verdict is sound beside the flaw {answer.flaws[0].kind.value}")
    if not answer.flaws and answer.verdict == "flawed":
        raise Unusable("its verdict is flawed, and it names no flaw")


FORM: Form[CaseReviewAnswer] = Form(CaseReviewAnswer, ("verdict",), agree=_agree)

"""The form of a reviewer's answer about an exam."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from viva.judge.answers import Form, Unusable, with_list
from viva.judge.exam.kinds import SERIOUS, ExamFault

MOST_FAULTS = 60


class QuotedMessage(BaseModel):
    """Words of the examiner."""

    round: int = Field(description="Number of the round with the examiner's message.")
    quote: str = Field(description="Words copied exactly from the examiner's message in that round.")


class ReviewedFault(QuotedMessage):
    """One fault of the examiner."""

    kind: ExamFault = Field(description="The kind of fault.")
    reason: str = Field(description="One sentence that says what is wrong.")

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("kind"), str):
            return value | {"kind": value["kind"].strip().lower().replace(" ", "_")}
        return value


class ReviewAnswer(BaseModel):
    """The answer of the reviewer. What it found comes first, so that the verdict can follow from it."""

    reason: str = Field(description="Two or three sentences that lead to the verdict.")
    request: list[QuotedMessage] = Field(description="Where the examiner made the task's request; empty if nowhere.")
    faults: list[ReviewedFault] = Field(description="The examiner's faults, each with a quote of the examiner.")
    asked: Literal["yes", "no"] = Field(description="Whether the examiner ever made the task's request.")
    verdict: Literal["fair", "unfair"] = Field(description="Whether the exam was fair to the agent.")
    mark: str = Field(description="The mark of the question, copied exactly.")

    @model_validator(mode="before")
    @classmethod
    def _with_lists(cls, value: Any) -> Any:
        return with_list(with_list(value, "faults"), "request")


def _agree(answer: ReviewAnswer) -> None:
    if len(answer.faults) > MOST_FAULTS:
        raise Unusable(f"it has {len(answer.faults)} faults; {MOST_FAULTS} are allowed")
    never = any(fault.kind is ExamFault.NEVER_ASKED for fault in answer.faults)
    if never != (answer.asked == "no"):
        raise Unusable("`asked` must be `no` exactly if there is a fault never_asked")
    if answer.asked == "yes" and not answer.request:
        raise Unusable("`asked` is yes, and `request` does not quote where")
    serious = sorted({fault.kind.value for fault in answer.faults if fault.kind in SERIOUS})
    if serious and answer.verdict == "fair":
        raise Unusable(f"its verdict is fair beside the fault {serious[0]}")
    if not serious and answer.verdict == "unfair":
        kinds = ", ".join(sorted(kind.value for kind in SERIOUS))
        raise Unusable(f"its verdict is unfair, and it names no fault that makes an exam unfair ({kinds})")


FORM: Form[ReviewAnswer] = Form(ReviewAnswer, ("verdict", "asked"), agree=_agree)

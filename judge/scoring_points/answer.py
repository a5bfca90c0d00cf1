"""The form of an answer about a scoring point, and the checks that its reason does not contradict its verdict."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from viva.judge import answers
from viva.judge.answers import Form, Unusable, conclusion_pattern, with_list, without_quotes
from viva.judge.copies import Said


class Quote(BaseModel):
    """Words from the transcript."""

    round: int = Field(description="Number of the round that has the words.")
    quote: str = Field(description="The words exactly as they are there, as few as are needed.")


CONDITIONS = ("arose", "never arose", "none")


class PointAnswer(BaseModel):
    """The answer of the judge. The reason comes first, so that the verdict can follow from it."""

    reason: str = Field(description="Two or three sentences that lead to the verdict.")
    evidence: list[Quote] = Field(description="The words in the transcript on which the verdict rests.")
    condition: Literal["arose", "never arose", "none"] = Field(
        description="Whether the condition of the statement arose; none if it has no condition."
    )
    statement_is: Literal["true", "false", "undecided"] = Field(description="What the reason comes to.")
    verdict: Literal["hit", "miss", "unsure"] = Field(description="hit if true, miss if false, unsure if undecided.")
    mark: str = Field(description="The mark of the question, copied exactly.")

    @model_validator(mode="before")
    @classmethod
    def _without_evidence(cls, value: Any) -> Any:
        value = with_list(value, "evidence")
        # It decides nothing, so an answer without it, or with another word there, is as good.
        if isinstance(value, dict):
            said = str(value.get("condition")).strip().lower()
            value = value | {"condition": said if said in CONDITIONS else "none"}
        return value


_MEANS = {"hit": "true", "miss": "false", "unsure": "undecided"}


_DENIED = conclusion_pattern(("miss", "unsure"))
_CALLED_FALSE = re.compile(
    r"(?:^|[.!?;:,\n]|\b(?:so|thus|hence|therefore|and|but|means))\s*(?:the|this) statement "
    r"(?:(?:is|was) (?:therefore |thus |clearly )?)?"
    r"(?:false|untrue|unsatisfied|not (?:true|satisfied|met|fulfilled)|does not hold(?: true)?)"
    r"(?=\W*$|\s*[.,;!?)]|\s+(?:because|since|as|here)\b)",
    re.I | re.M,
)


def _beside(answer: PointAnswer, prose: str) -> None:
    """Raise `Unusable` if words beside the JSON deny the statement and the verdict is a hit."""
    own = without_quotes(prose)
    if answer.verdict == "hit" and (_DENIED.search(own) or _CALLED_FALSE.search(own)):
        raise Unusable("what it says beside its JSON denies the statement, its verdict is hit")


def _agree(answer: PointAnswer) -> None:
    if answer.statement_is != _MEANS[answer.verdict]:
        raise Unusable(f"it says that the statement is {answer.statement_is}, and its verdict is {answer.verdict}")


FORM: Form[PointAnswer] = Form(PointAnswer, ("verdict",), _beside, _agree)


def parse_answer(text: str, said: Said | None = None) -> PointAnswer:
    """Return the answer in a model's text; see `viva.judge.answers.parse_answer`."""
    return answers.parse_answer(FORM, text, said)

"""The form of an answer about a scoring point, and the checks that its reason does not contradict its verdict."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from viva.judge import answers
from viva.judge.answers import Form, Unusable, conclusion_pattern, with_list, without_quotes


class Quote(BaseModel):
    """Words from the transcript."""

    round: int = Field(description="Number of the round the words stand in.")
    quote: str = Field(description="The words exactly as they stand there, as few as are needed.")


class Answer(BaseModel):
    """The answer of the judge. The reason comes first, so that the verdict can follow from it."""

    reason: str = Field(description="Two or three sentences that lead to the verdict.")
    evidence: list[Quote] = Field(description="The words in the transcript on which the verdict rests.")
    statement_is: Literal["true", "false", "undecided"] = Field(description="What the reason comes to.")
    verdict: Literal["hit", "miss", "unsure"] = Field(description="hit if true, miss if false, unsure if undecided.")
    mark: str = Field(description="The mark of the question, copied exactly.")

    @model_validator(mode="before")
    @classmethod
    def _without_evidence(cls, value: Any) -> Any:
        return with_list(value, "evidence")


# Explicit conclusions at the beginning of a sentence or a clause.
_BEGINS = r"(?:^|[.!?;:,\n]|\b(?:so|thus|hence|therefore|and|but|means))\s*"
_ENDS = r"(?=\W*$|\s*[.,;!?)]|\s+(?:because|since|as|here)\b)"
_NAMED = conclusion_pattern(
    ("hit", "miss", "unsure"), rf"{_BEGINS}(?:this|it) is (?:therefore |thus |clearly )?a (hit|miss)\b"
)
_CALLED = re.compile(
    rf"{_BEGINS}(?:the|this) statement (?:(?:is|was) (?:therefore |thus |clearly )?)?(?:"
    r"(?P<true>(?:true|satisfied|met|fulfilled|not (?:false|untrue|unsatisfied)|holds(?: true)?))"
    rf"|(?:false|untrue|unsatisfied|not (?:true|satisfied|met|fulfilled)|does not hold(?: true)?)){_ENDS}",
    re.I | re.M,
)
_MEANS = {"hit": "true", "miss": "false", "unsure": "undecided"}


def _hold_against(answer: Answer, words: str, whose: str) -> None:
    """Check that no conclusion in the text differs from the verdict; two opposite conclusions count as none."""
    own = without_quotes(words)
    for found in _NAMED.finditer(own):
        if (named := (found[1] or found[2]).lower()) != answer.verdict:
            raise Unusable(f"{whose} concludes {named}, its verdict is {answer.verdict}")
    for found in _CALLED.finditer(own):
        called = "true" if found["true"] else "false"
        if called != _MEANS[answer.verdict]:
            raise Unusable(f"{whose} calls the statement {called}, its verdict is {answer.verdict}")


def _agree(answer: Answer) -> None:
    if answer.statement_is != _MEANS[answer.verdict]:
        raise Unusable(f"it says that the statement is {answer.statement_is}, and its verdict is {answer.verdict}")


FORM: Form[Answer] = Form(Answer, ("verdict",), _hold_against, _agree)


def parse_answer(text: str, said: str = "") -> Answer:
    """Find the answer in a model's text; see `viva.judge.answers.parse_answer`."""
    return answers.parse_answer(FORM, text, said)

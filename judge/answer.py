"""The form of a judge model's answer: found in what the model wrote, and held against its own reason."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from records.codec import has_doubled_key
from records.verdict import Label


class Quote(BaseModel):
    """Words from the transcript."""

    round: int = Field(description="Number of the round the words stand in.")
    quote: str = Field(description="The words exactly as they stand there, as few as are needed.")


class Answer(BaseModel):
    """What the judge answers. Its reasoning comes first, so that the verdict can follow from it."""

    reason: str = Field(description="Two or three sentences that lead to the verdict.")
    evidence: list[Quote] = Field(description="The words in the transcript on which the verdict rests.")
    verdict: Literal["hit", "miss", "unsure"]


class Unusable(Exception):
    """An answer that does not count; the message tells the judge why."""


def parse_answer(text: str, said: str = "") -> Answer:
    """Find the answer in what a model wrote: JSON alone, in a code fence, or with words around it.

    Args:
        text: What it wrote.
        said: The transcript it was shown, squeezed; JSON that stands in there is the agent's, quoted, and no answer.

    Raises:
        Unusable: there is none, or more than one and they differ.
    """
    answers: list[Answer] = []
    fault = "it holds no JSON object"
    decoder, position = json.JSONDecoder(), 0
    around, end = "", 0
    while (start := text.find("{", position)) >= 0:
        try:
            value, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
            continue
        around, end = around + text[end:start], position
        if squeeze(text[start:position]) in said:
            continue
        if has_doubled_key(text[start:position]):
            raise Unusable("its JSON has the same key twice")
        try:
            answers.append(_answer(value))
        except ValidationError as error:
            first = error.errors()[0]
            fault = f"it does not fit the form: {first['msg']} at {'.'.join(map(str, first['loc']))}"
    if not answers:
        raise Unusable(fault)
    if _VERDICT_KEY.search(around + text[end:]):
        # What was read may only be a part of an answer that is broken off, or stands inside another.
        raise Unusable("it holds a verdict outside of a whole JSON object")
    if len({answer.verdict for answer in answers}) > 1:
        raise Unusable("it holds several verdicts that differ")
    return answers[-1]


def squeeze(text: str) -> str:
    """Without any white space: how a quoted text is indented and broken into lines is up to who quotes it."""
    return "".join(text.split())


def _answer(value: Any) -> Answer:
    if isinstance(value, dict) and isinstance(value.get("verdict"), str):
        value = {**value, "verdict": value["verdict"].strip().lower()}
    if isinstance(value, dict) and value.get("evidence") is None:
        value = {**value, "evidence": []}
    return Answer.model_validate(value)


_VERDICT_KEY = re.compile(r"[\"']verdict[\"']\s*:", re.I)

# What a reason says when it draws a conclusion of its own; only plain statements of a result, not any negation.
_NAMED = re.compile(
    r"\b(?:verdict|conclusion|label)\b\W{0,4}(?:is|should be|must be)?\W{0,4}\b(hit|miss|unsure)\b", re.I
)
_TRUE = re.compile(
    r"\bstatement (?:is|holds|was)\s*(?:therefore |thus |clearly )?(?:true|satisfied|met|fulfilled)\b", re.I
)
_FALSE = re.compile(
    r"\bstatement (?:is|does|was)\s*(?:therefore |thus |clearly )?"
    r"(?:false|not (?:true|satisfied|met|fulfilled|hold)|untrue|unsatisfied)\b"
    r"|\b(?:this|it) is (?:therefore |thus |clearly )?a miss\b",
    re.I,
)


def check_consistent(answer: Answer) -> None:
    """See that an answer gives a reason, and that the reason does not say the opposite of the verdict.

    Raises:
        Unusable: it does not, or it does.
    """
    reason = answer.reason.strip()
    if not reason:
        raise Unusable("it gives no reason")
    named = {match.lower() for match in _NAMED.findall(reason)}
    if named and answer.verdict not in named:
        raise Unusable(f"its reason concludes {' and '.join(sorted(named))}, its verdict is {answer.verdict}")
    if answer.verdict == Label.HIT and _FALSE.search(reason) and not _TRUE.search(reason):
        raise Unusable("its reason calls the statement false, its verdict is hit")
    if answer.verdict == Label.MISS and _TRUE.search(reason) and not _FALSE.search(reason):
        raise Unusable("its reason calls the statement true, its verdict is miss")

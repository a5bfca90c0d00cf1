"""The form of a judge model's answer: found in what the model wrote, and held against its own reason."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from records.codec import has_doubled_key
from records.text import without_invisible

SHORTEST_COPY = 20
"""Characters from which on a reason that stands in the transcript is a copy, and no coincidence."""
MOST_BROKEN = 1000
"""Braces that may begin no JSON object. Each costs time by the length of the text: a flood of 200,000 took 6 s."""


class Quote(BaseModel):
    """Words from the transcript."""

    round: int = Field(description="Number of the round the words stand in.")
    quote: str = Field(description="The words exactly as they stand there, as few as are needed.")


class Answer(BaseModel):
    """What the judge answers. Its reasoning comes first, so that the verdict can follow from it."""

    reason: str = Field(description="Two or three sentences that lead to the verdict.")
    evidence: list[Quote] = Field(description="The words in the transcript on which the verdict rests.")
    statement_is: Literal["true", "false", "undecided"] = Field(description="What the reason comes to.")
    verdict: Literal["hit", "miss", "unsure"] = Field(description="hit if true, miss if false, unsure if undecided.")
    mark: str = Field(description="The mark of the question, copied exactly.")


class Unusable(Exception):
    """An answer that does not count; the message tells the judge why."""


def parse_answer(text: str, said: str = "") -> Answer:
    """Find the answer in what a model wrote: JSON alone, in a code fence, or with words around it.

    Args:
        text: What it wrote.
        said: The transcript it was shown, squeezed; JSON that stands in there is the agent's, quoted, and no answer.

    Raises:
        Unusable: there is none, or more than one and they differ, or the words around it speak against it.
    """
    answers: list[Answer] = []
    fault = "it holds no JSON object"
    around: list[str] = []
    end = 0
    for start, stop, value in _objects(text):
        around.append(text[end:start])
        end = stop
        if squeeze(text[start:stop]) in said:
            continue
        if has_doubled_key(text[start:stop]):
            raise Unusable("its JSON has the same key twice")
        try:
            answer = _answer(value)
            if is_copied(answer.reason, said):
                continue
            answers.append(answer)
        except ValidationError as error:
            first = error.errors()[0]
            fault = f"it does not fit the form: {first['msg']} at {'.'.join(map(str, first['loc']))}"
    if not answers:
        raise Unusable(fault)
    prose = " (JSON) ".join([*around, text[end:]])
    if _VERDICT_KEY.search(prose):
        # What was read may only be a part of an answer that is broken off, or stands inside another.
        raise Unusable("it holds a verdict outside of a whole JSON object")
    if len({answer.verdict for answer in answers}) > 1:
        raise Unusable("it holds several verdicts that differ")
    _hold_against(answers[-1].verdict, prose, "what it says beside its JSON")
    return answers[-1]


def squeeze(text: str) -> str:
    """A text as it compares with a copy, in which white space, case, escapes and invisible characters may differ."""
    plain = unicodedata.normalize("NFKC", _ESCAPE.sub(_unescaped, text))
    return "".join(without_invisible(plain).split()).casefold()


def is_copied(reason: str, said: str) -> bool:
    """Whether a reason stands in the transcript, squeezed: then the answer is the agent's, whatever form it has."""
    words = squeeze(reason)
    if len(words) >= SHORTEST_COPY and words in said:
        return True
    # However short, it is a copy where it stands as the reason of a verdict; the kind of quotation marks is no matter.
    return f"reason:{words.translate(_QUOTES)}" in said.translate(_QUOTES)


_QUOTES = str.maketrans("", "", "\"'`\u2018\u2019\u201c\u201d")


_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\x([0-9a-fA-F]{2})|\\([nrtbf\"/\\])")


def _unescaped(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits is None:
        return match[4] if match[4] in '"/\\' else " "
    return chr(int(digits, 16)) if int(digits, 16) <= sys.maxunicode else match[0]


def _objects(text: str) -> Iterator[tuple[int, int, Any]]:
    """The outermost JSON objects in a text: where each begins and ends, and what it says.

    Raises:
        Unusable: too much of it looks like JSON and is none.
    """
    decoder, position, broken = json.JSONDecoder(), 0, 0
    while (start := text.find("{", position)) >= 0:
        try:
            value, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            position, broken = start + 1, broken + 1
            if broken > MOST_BROKEN:
                raise Unusable("it is full of braces that begin no JSON object") from None
            continue
        yield start, position, value


def _answer(value: Any) -> Answer:
    if isinstance(value, dict):
        value = dict(value)
        for key in ("verdict", "statement_is"):
            if isinstance(value.get(key), str | bool):
                value[key] = str(value[key]).strip().lower()
        if value.get("evidence") is None:
            value["evidence"] = []
    return Answer.model_validate(value)


_VERDICT_KEY = re.compile(r"[\"']verdict[\"']\s*:", re.I)

# Somebody else's words: an agent must not get a verdict thrown out by writing one into its reply.
_QUOTED = re.compile(r"\"[^\"]{10,}\"|\u201c[^\u201d]{10,}\u201d|`[^`]{10,}`|(?<!\w)'[^']{10,}'(?!\w)")
# Conclusions in so many words, at the beginning of a sentence or a clause; no guessing at what a reason means.
_BEGINS = r"(?:^|[.!?;:,\n]|\b(?:so|thus|hence|therefore|and|but|means))\s*"
_ENDS = r"(?=\W*$|\s*[.,;!?)]|\s+(?:because|since|as|here)\b)"
_NAMED = re.compile(
    r"\b(?:verdict|conclusion|label)\b\W{0,4}(?:is|of|should be|must be)?\W{0,4}\b(hit|miss|unsure)\b"
    rf"|{_BEGINS}(?:this|it) is (?:therefore |thus |clearly )?a (hit|miss)\b",
    re.I,
)
_CALLED = re.compile(
    rf"{_BEGINS}(?:the|this) statement (?:(?:is|was) (?:therefore |thus |clearly )?)?(?:"
    r"(?P<true>(?:true|satisfied|met|fulfilled|not (?:false|untrue|unsatisfied)|holds(?: true)?))"
    rf"|(?:false|untrue|unsatisfied|not (?:true|satisfied|met|fulfilled)|does not hold(?: true)?)){_ENDS}",
    re.I | re.M,
)
_MEANS = {"hit": "true", "miss": "false", "unsure": "undecided"}


def check_consistent(answer: Answer) -> None:
    """See that an answer gives a reason, and that nothing in it says the opposite of the verdict.

    Raises:
        Unusable: it does not, or something does.
    """
    reason = answer.reason.strip()
    if not any(character.isalnum() for character in reason):
        raise Unusable("it gives no reason")
    if answer.statement_is != _MEANS[answer.verdict]:
        raise Unusable(f"it says that the statement is {answer.statement_is}, and its verdict is {answer.verdict}")
    _hold_against(answer.verdict, reason, "its reason")


def _hold_against(verdict: str, words: str, whose: str) -> None:
    """See that no conclusion that the words draw is another than the verdict; both at once is none."""
    own = _QUOTED.sub(" ", words)
    for found in _NAMED.finditer(own):
        if (named := (found[1] or found[2]).lower()) != verdict:
            raise Unusable(f"{whose} concludes {named}, its verdict is {verdict}")
    for found in _CALLED.finditer(own):
        called = "true" if found["true"] else "false"
        if called != _MEANS[verdict]:
            raise Unusable(f"{whose} calls the statement {called}, its verdict is {verdict}")

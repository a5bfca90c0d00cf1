"""Parses the answer of a judge model, and checks that its verdict is consistent with its own reason."""

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
"""Minimum number of characters of a reason that counts as copied if it is found in the transcript."""
MOST_BROKEN = 1000
"""Maximum number of braces that begin no JSON object. Each takes time by the length of the text: 200,000 took 6 s."""


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


class Unusable(Exception):
    """The answer cannot be used; the message tells the judge why."""


def parse_answer(text: str, said: str = "") -> Answer:
    """Find the answer in a model's text: JSON alone, in a code fence, or with text around it.

    Args:
        text: The model's text.
        said: The transcript that the model was shown, squeezed. JSON from there is a quote of the agent, not an answer.

    Raises:
        Unusable: there is no answer, there are several that differ, or the text around the answer contradicts it.
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
            raise Unusable("its JSON has a duplicate key")
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
        # The JSON that was read may be only a part of an incomplete answer, or be nested in another one.
        raise Unusable("it holds a verdict outside of a whole JSON object")
    if len({answer.verdict for answer in answers}) > 1:
        raise Unusable("it holds several verdicts that differ")
    _hold_against(answers[-1].verdict, prose, "what it says beside its JSON")
    return answers[-1]


def squeeze(text: str) -> str:
    """Return a text in a form in which differences of white space, case, escapes and invisible characters vanish."""
    plain = unicodedata.normalize("NFKC", _ESCAPE.sub(_unescaped, text))
    return "".join(without_invisible(plain).split()).casefold()


def is_copied(reason: str, said: str) -> bool:
    """Return whether a reason was copied from the squeezed transcript: then the answer is the agent's."""
    words = squeeze(reason)
    if len(words) >= SHORTEST_COPY and words in said:
        return True
    # Even a short reason is a copy if the transcript has it as the reason of a verdict, with any quotation marks.
    return f"reason:{words.translate(_QUOTES)}" in said.translate(_QUOTES)


_QUOTES = str.maketrans("", "", "\"'`\u2018\u2019\u201c\u201d")


_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\x([0-9a-fA-F]{2})|\\([nrtbf\"/\\])")


def _unescaped(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits is None:
        return match[4] if match[4] in '"/\\' else " "
    return chr(int(digits, 16)) if int(digits, 16) <= sys.maxunicode else match[0]


def _objects(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield the start, the end and the value of each outermost JSON object in a text.

    Raises:
        Unusable: too many parts of the text look like JSON and are not.
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

# Quoted text: an agent must not be able to invalidate a verdict by writing one into its reply.
_QUOTED = re.compile(r"\"[^\"]{10,}\"|\u201c[^\u201d]{10,}\u201d|`[^`]{10,}`|(?<!\w)'[^']{10,}'(?!\w)")
# Explicit conclusions at the beginning of a sentence or a clause; the meaning of a reason is never guessed.
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
    """Check that an answer has a reason, and that nothing in it contradicts the verdict.

    Raises:
        Unusable: the reason is missing, or something contradicts the verdict.
    """
    reason = answer.reason.strip()
    if not any(character.isalnum() for character in reason):
        raise Unusable("it gives no reason")
    if answer.statement_is != _MEANS[answer.verdict]:
        raise Unusable(f"it says that the statement is {answer.statement_is}, and its verdict is {answer.verdict}")
    _hold_against(answer.verdict, reason, "its reason")


def _hold_against(verdict: str, words: str, whose: str) -> None:
    """Check that no conclusion in the text differs from the verdict; two opposite conclusions count as none."""
    own = _QUOTED.sub(" ", words)
    for found in _NAMED.finditer(own):
        if (named := (found[1] or found[2]).lower()) != verdict:
            raise Unusable(f"{whose} concludes {named}, its verdict is {verdict}")
    for found in _CALLED.finditer(own):
        called = "true" if found["true"] else "false"
        if called != _MEANS[verdict]:
            raise Unusable(f"{whose} calls the statement {called}, its verdict is {verdict}")

"""The form of a judge model's answer: labels on rails, found in what the model wrote, held against its own words.

Each evaluator that asks a model describes its answer as a `Form`; `judge.asking` puts the questions.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal, Protocol, TypeVar, cast, get_origin

from pydantic import BaseModel, Field, ValidationError, create_model, model_validator

from records.codec import has_doubled_key
from records.text import without_invisible

SHORTEST_COPY = 20
"""Characters from which on a reason that stands in the transcript is a copy, and no coincidence."""
MOST_BROKEN = 1000
"""Braces that may begin no JSON object. Each costs time by the length of the text: a flood of 200,000 took 6 s."""


class Unusable(Exception):
    """An answer that does not count; the message tells the judge why."""


class NoJson(Unusable):
    """There is no JSON in it at all: prose, an apology, nothing."""


class Answer(Protocol):
    """What every answer has. Its class is a pydantic model, whose fields stand in the order they are to be written."""

    reason: str
    mark: str
    """The mark of the question, copied: no answer that somebody wrote beforehand can carry it."""


A = TypeVar("A", bound=Answer)


@dataclass(frozen=True)
class Form(Generic[A]):
    """What an answer must look like, and what its own words must not say."""

    schema: type[A]
    """A pydantic model with the fields of `Answer`; fields that are a `Literal` of texts are labels on rails."""
    decisions: tuple[str, ...]
    """The fields that decide. Two answers in one text must agree in them, and none may stand outside whole JSON."""
    hold_against: Callable[[A, str, str], None]
    """Takes an answer, words of the judge's own, and what to call them; raises `Unusable` where they contradict it."""
    agree: Callable[[A], None] = lambda answer: None
    """Takes an answer; raises `Unusable` where its fields contradict each other."""

    @property
    def model(self) -> type[BaseModel]:
        """The schema as the pydantic model that it is."""
        return cast("type[BaseModel]", self.schema)

    @cached_property
    def rails(self) -> tuple[str, ...]:
        """The fields whose value is one of a few labels."""
        fields = self.model.model_fields.items()
        return tuple(name for name, field in fields if get_origin(field.annotation) is Literal)

    @cached_property
    def decision_key(self) -> re.Pattern[str]:
        """Finds the key of a decision in text."""
        return re.compile(rf"[\"'](?:{'|'.join(map(re.escape, self.decisions))})[\"']\s*:", re.I)

    def read(self, value: Any) -> A:
        """Make an answer of parsed JSON; a label's case and the white space around it do not matter.

        Raises:
            ValidationError: it does not fit.
        """
        if isinstance(value, dict):
            value = dict(value)
            for key in self.rails:
                if isinstance(value.get(key), str | bool):
                    value[key] = str(value[key]).strip().lower()
        return cast("A", self.model.model_validate(value))

    def check_consistent(self, answer: A) -> None:
        """See that an answer gives a reason, and that neither its fields nor its reason contradict its labels.

        Raises:
            Unusable: it does not, or it does.
        """
        reason = answer.reason.strip()
        if not any(character.isalnum() for character in reason):
            raise Unusable("it gives no reason")
        self.agree(answer)
        self.hold_against(answer, reason, "its reason")


class LabelAnswer(BaseModel):
    """An explanation, the words it rests on, and one label; `label_form` puts the label on rails."""

    reason: str = Field(description="Two or three sentences that lead to the label.")
    quotes: list[str] = Field(description="Words copied exactly from the data on which the label rests.")
    mark: str = Field(description="The mark of the question, copied exactly.")
    label: str = Field(description="The label.")

    @model_validator(mode="before")
    @classmethod
    def _without_quotes(cls, value: Any) -> Any:
        return value | {"quotes": []} if isinstance(value, dict) and value.get("quotes") is None else value


def label_form(labels: Sequence[str]) -> Form[LabelAnswer]:
    """Make the form of an answer that is an explanation first and exactly one of these labels last.

    Args:
        labels: In lower case; one may contain another, as `incorrect` contains `correct`.
    """
    rails: Any = Literal[tuple(labels)]
    field = Field(description=f"What the reason comes to: one of {', '.join(labels)}.")
    schema = create_model("LabelAnswer", __base__=LabelAnswer, label=(rails, field))
    named = conclusion_pattern(labels)

    def hold_against(answer: LabelAnswer, words: str, whose: str) -> None:
        for found in named.finditer(without_quotes(words)):
            if (label := found[1].lower()) != answer.label:
                raise Unusable(f"{whose} concludes {label}, its label is {answer.label}")

    return Form(schema, ("label",), hold_against)


def parse_answer(form: Form[A], text: str, said: str = "") -> A:
    """Find the answer in what a model wrote: JSON alone, in a code fence, or with words around it.

    Args:
        form: What the answer must look like.
        text: What it wrote.
        said: What it was shown, squeezed; JSON that stands in there is the agent's, quoted, and no answer.

    Raises:
        Unusable: there is none, or more than one and they differ, or the words around it speak against it.
    """
    answers: list[A] = []
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
            answer = form.read(value)
            if is_copied(answer.reason, said):
                continue
            answers.append(answer)
        except ValidationError as error:
            first = error.errors()[0]
            fault = f"it does not fit the form: {first['msg']} at {'.'.join(map(str, first['loc']))}"
    if not answers:
        raise Unusable(fault) if around else NoJson(fault)
    prose = " (JSON) ".join([*around, text[end:]])
    decision, *_ = form.decisions
    if form.decision_key.search(prose):
        # What was read may only be a part of an answer that is broken off, or stands inside another.
        raise Unusable(f"it holds a {decision} outside of a whole JSON object")
    if any(getattr(each, name) != getattr(answers[-1], name) for each in answers for name in form.decisions):
        raise Unusable(f"it holds several {decision}s that differ")
    form.hold_against(answers[-1], prose, "what it says beside its JSON")
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


# Somebody else's words: an agent must not get a verdict thrown out by writing one into its reply.
_QUOTED = re.compile(r"\"[^\"]{10,}\"|\u201c[^\u201d]{10,}\u201d|`[^`]{10,}`|(?<!\w)'[^']{10,}'(?!\w)")


def without_quotes(words: str) -> str:
    """A judge's words without those that it quotes."""
    return _QUOTED.sub(" ", words)


def conclusion_pattern(labels: Sequence[str], further: str = "") -> re.Pattern[str]:
    """Find a conclusion in so many words, as `the label is LABEL`; no guessing at what a reason means.

    Args:
        labels: The label that was found is group 1.
        further: Another alternative, a regular expression.
    """
    names = "|".join(map(re.escape, labels))
    said = rf"\b(?:verdict|conclusion|label)\b\W{{0,4}}(?:is|of|should be|must be)?\W{{0,4}}\b({names})\b"
    return re.compile(f"{said}|{further}" if further else said, re.I)


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

"""Parses the answers of judge models, whose labels are one of a fixed set, and checks them for contradictions.

Each evaluator that asks a model describes its answer as a `Form`; `viva.judge.asking` asks the questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal, Protocol, TypeVar, cast, get_origin

from pydantic import BaseModel, Field, ValidationError, create_model, model_validator

from viva.judge.copies import COPIED, Said, letters
from viva.records.codec import has_doubled_key
from viva.records.json_in_text import TooManyBraces, json_objects, misfit

LEAST = 8
"""Minimum number of letters and digits of JSON that counts as copied; less is found in nearly any transcript."""


class Unusable(Exception):
    """The answer cannot be used; the message tells the judge why."""


class Copied(Unusable):
    """The answer repeats a verdict or a reason from the transcript, so it is somebody else's."""


class NoJson(Unusable):
    """There is no JSON in it at all: prose, an apology, nothing."""


class JudgeAnswer(Protocol):
    """The fields of every answer. Its class is a pydantic model, whose fields are in the order of writing."""

    reason: str
    mark: str
    """The mark of the question, copied. No answer that somebody wrote beforehand can contain it."""


A = TypeVar("A", bound=JudgeAnswer)


@dataclass(frozen=True)
class Form(Generic[A]):
    """The form of an answer, and the checks for contradictions in it."""

    schema: type[A]
    """A pydantic model with the fields of `JudgeAnswer`; a field that is a `Literal` of texts is a label."""
    decisions: tuple[str, ...]
    """The fields that decide. Two answers in one text must agree in them, and they must be inside of whole JSON."""
    beside: Callable[[A, str], None] = lambda answer, prose: None
    """Given an answer and the judge's words beside the JSON, raises `Unusable` if they deny what the answer grants.

    Only what speaks for the agent is held against such words: they may well describe a better verdict that it wrote.
    """
    agree: Callable[[A], None] = lambda answer: None
    """Given an answer, raises `Unusable` if its fields contradict each other."""

    @property
    def model(self) -> type[BaseModel]:
        """Return the schema as a pydantic model."""
        return cast("type[BaseModel]", self.schema)

    @cached_property
    def rails(self) -> tuple[str, ...]:
        """Return the fields whose value is one of a fixed set of labels."""
        fields = self.model.model_fields.items()
        return tuple(name for name, field in fields if get_origin(field.annotation) is Literal)

    @cached_property
    def decision_key(self) -> re.Pattern[str]:
        """Return the pattern that finds the key of a decision in text."""
        return re.compile(rf"[\"'](?:{'|'.join(map(re.escape, self.decisions))})[\"']\s*:", re.I)

    @cached_property
    def field_key(self) -> re.Pattern[str]:
        """Return the pattern that finds the key of any field in text: without one, JSON is nobody's verdict."""
        return re.compile(rf"[\"'](?:{'|'.join(map(re.escape, self.model.model_fields))})\\?[\"']\s*:", re.I)

    def read(self, value: Any) -> A:
        """Return the answer in parsed JSON; the case of labels and white space around them do not matter.

        Raises:
            ValidationError: the JSON does not match the schema.
        """
        if isinstance(value, dict):
            value = dict(value)
            for key in self.rails:
                if isinstance(value.get(key), str | bool):
                    value[key] = str(value[key]).strip().lower()
        return cast("A", self.model.model_validate(value))

    def check_consistent(self, answer: A) -> None:
        """Check that an answer has a reason, and that its fields do not contradict each other.

        What a reason says in words is never held against the labels: an honest reason may describe a verdict that the
        agent wrote.

        Raises:
            Unusable: the reason is missing, or a field contradicts another.
        """
        if not letters(answer.reason):
            raise Unusable("it gives no reason")
        self.agree(answer)


def with_list(value: Any, field: str) -> Any:
    """Return the JSON of an answer with an empty list in a field that the model left out, or gave as null."""
    return value | {field: []} if isinstance(value, dict) and value.get(field) is None else value


class LabelAnswer(BaseModel):
    """An explanation, the quotes on which it rests, and one label; `label_form` restricts the label."""

    reason: str = Field(description="Two or three sentences that lead to the label.")
    quotes: list[str] = Field(description="Words copied exactly from the data on which the label rests.")
    mark: str = Field(description="The mark of the question, copied exactly.")
    label: str = Field(description="The label.")

    @model_validator(mode="before")
    @classmethod
    def _without_quotes(cls, value: Any) -> Any:
        return with_list(value, "quotes")


def label_form(labels: Sequence[str]) -> Form[LabelAnswer]:
    """Return the form of an answer with an explanation followed by exactly one of these labels.

    Args:
        labels: The labels in lower case, the best first; one can contain another, as `incorrect` contains `correct`.
    """
    rails: Any = Literal[tuple(labels)]
    field = Field(description=f"What the reason comes to: one of {', '.join(labels)}.")
    schema = create_model("LabelAnswer", __base__=LabelAnswer, label=(rails, field))
    best, *others = labels
    named = conclusion_pattern(others)

    def beside(answer: LabelAnswer, prose: str) -> None:
        if answer.label == best and (found := named.search(without_quotes(prose))):
            raise Unusable(f"its own words conclude {found[1].lower()}, its label is {best}")

    # The form has no field for what the reason comes to, so the best label is held against the reason's own words.
    return Form(schema, ("label",), beside, lambda answer: beside(answer, answer.reason))


def parse_answer(form: Form[A], text: str, said: Said | None = None) -> A:
    """Return the answer in a model's text: JSON alone, in a code fence, or with text around it.

    Args:
        form: The form of the answer.
        text: The model's text.
        said: What the model was shown. JSON from there is a quote of the agent, not an answer.

    Raises:
        Unusable: there is no answer, or there are several that differ.
    """
    answers: list[A] = []
    fault = "it holds no JSON object"
    copied = False
    around: list[str] = []
    end = 0
    for start, stop, value in _objects(text):
        around.append(text[end:start])
        end = stop
        piece = text[start:stop]
        if said is not None and form.field_key.search(piece) and len(letters(piece)) >= LEAST and said.holds(piece):
            copied = True
            continue
        if has_doubled_key(piece):
            raise Unusable("its JSON has a duplicate key")
        try:
            answer = form.read(value)
            if said is not None and said.holds_reason(answer.reason):
                copied = True
                continue
            answers.append(answer)
        except ValidationError as error:
            fault = misfit(error)
    if not answers:
        if copied:
            raise Copied(COPIED)
        raise Unusable(fault) if around else NoJson(fault)
    decision, *_ = form.decisions
    prose = " (JSON) ".join([*around, text[end:]])
    if form.decision_key.search(prose):
        # The JSON that was read may be only a part of an incomplete answer, or be nested in another one.
        raise Unusable(f"it holds a {decision} outside of a whole JSON object")
    if any(getattr(each, name) != getattr(answers[-1], name) for each in answers for name in form.decisions):
        raise Unusable(f"it holds several {decision}s that differ")
    form.beside(answers[-1], prose)
    return answers[-1]


# Quoted text: an agent must not be able to invalidate a verdict by writing one into its reply.
_QUOTED = re.compile(r"\"[^\"]{10,}\"|\u201c[^\u201d]{10,}\u201d|`[^`]{10,}`|(?<!\w)'[^']{10,}'(?!\w)")


def without_quotes(words: str) -> str:
    """Return a judge's text without its quotes."""
    return _QUOTED.sub(" ", words)


def conclusion_pattern(labels: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern of explicit conclusions, such as `the label is LABEL`, whose group 1 is the label."""
    names = "|".join(map(re.escape, labels))
    said = rf"\b(?:verdict|conclusion|label)\b\W{{0,4}}(?:is|of|should be|must be)?\W{{0,4}}\b({names})\b"
    return re.compile(said, re.I)


def _objects(text: str) -> Iterator[tuple[int, int, Any]]:
    try:
        yield from json_objects(text)
    except TooManyBraces as error:
        raise Unusable(str(error)) from error

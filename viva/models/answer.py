"""Checks the answer of a model, and reads it: nothing that is cut off, too long or of another form is handed on."""

from __future__ import annotations

import json

from pydantic import BaseModel, ValidationError

from viva.errors import CutOffError, ModelAnswerError, SchemaError, WithheldError
from viva.models.model import FinishReason
from viva.records.codec import has_doubled_key
from viva.records.json_in_text import without_halves
from viva.records.text import counted, storable

LONGEST_ANSWER = 200_000
"""Maximum number of characters of one answer; an examiner's message or a judge's verdict has a few hundred."""

_KEY = "viva_unusable_answer"

# The tags around the reasoning of models, if the server does not remove it.
THOUGHTS = (("<think>", "</think>"), ("<thinking>", "</thinking>"))


def note_unusable(error: BaseException, answer: str) -> None:
    """Note in an exception the answer that is not usable, so that it can be examined."""
    vars(error)[_KEY] = answer[:LONGEST_ANSWER]


def answer_of(error: BaseException) -> str:
    """Return the answer that is not usable, as far as it is known; empty if the exception has none."""
    answer = vars(error).get(_KEY)
    if answer is None and isinstance(error.__cause__, ValidationError):
        # SDKs check the form themselves, and their error holds what they were given.
        found = next((each["input"] for each in error.__cause__.errors(include_url=False) if len(each["loc"]) < 2), "")
        answer = found if isinstance(found, str) else _as_text(found)
    return answer[:LONGEST_ANSWER] if isinstance(answer, str) else ""


def _as_text(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def read_answer(
    answer: str, finish: FinishReason, schema: type[BaseModel] | None, limit: int | None = None
) -> tuple[str, BaseModel | None]:
    """Return a whole answer without its reasoning, and the validated object if it has a schema.

    Args:
        answer: The text of the answer.
        finish: Why it ended.
        schema: The form that was asked for.
        limit: The maximum number of output tokens that was asked for.

    Raises:
        ModelAnswerError: the answer is not usable; `CutOffError` if it is not complete.
    """
    if finish == "tool_calls":
        raise ModelAnswerError("the model called a tool, although it has none")
    if finish == "length":
        raise CutOffError(_cut_off(limit))
    if finish == "content_filter":
        raise WithheldError("the provider's content filter withheld the answer")
    if len(answer) > LONGEST_ANSWER:
        length = f"{len(answer):,} characters long"
        raise ModelAnswerError(f"the answer is {length}; the maximum is {LONGEST_ANSWER:,}")
    # A lone surrogate could not be sent back to the model as part of the conversation.
    text = _without_thought(storable(answer))
    if schema is None:
        return text, None
    if _doubled(text):
        raise ModelAnswerError("the answer's JSON has a duplicate key")
    try:
        return text, _validated(text, schema)
    except ValidationError as error:
        raise SchemaError("it was empty, or not JSON in the form asked for") from error


def _validated(text: str, schema: type[BaseModel]) -> BaseModel:
    """Return the object in an answer. Line breaks in strings are read as they are, lone surrogates as escapes."""
    try:
        return schema.model_validate_json(text)
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] != "json_invalid":
            raise
        try:
            escaped = json.dumps(without_halves(json.loads(text, strict=False)))
        except (ValueError, RecursionError):
            raise error from None
        return schema.model_validate_json(escaped)


def _cut_off(limit: int | None) -> str:
    most = "the model's token limit" if limit is None else f"the limit of {counted(limit, 'output token')}"
    return f"the answer was cut off at {most}, before it was complete"


def is_reasoning(content: str) -> bool:
    """Return whether an answer that was cut off holds nothing but reasoning, or nothing at all."""
    answer = content.lstrip()
    return not answer or any(answer.startswith(opening) and closing not in answer for opening, closing in THOUGHTS)


def _without_thought(content: str) -> str:
    """Return an answer without the reasoning before it, which is neither a message nor a verdict.

    Some templates put the opening tag into the prompt, so that only the closing tag is seen, at the end of its line.
    """
    answer = content.lstrip()
    for opening, closing in THOUGHTS:
        opened = answer.startswith(opening)
        _, closed, rest = answer.partition(closing)
        if closed and (opened or not rest.split("\n", 1)[0].strip()):
            return rest.lstrip()
        if opened:
            raise ModelAnswerError("the answer contains only unfinished reasoning")
    return content


def _doubled(content: str) -> bool:
    try:
        return has_doubled_key(content)
    except (ValueError, RecursionError):  # not JSON, which validation reports
        return False

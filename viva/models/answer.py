"""Checks the answer of a model, and reads it: nothing that is cut off, too long or of another form is handed on."""

from __future__ import annotations

from pydantic import BaseModel, ValidationError

from viva.errors import ModelAnswerError, SchemaError, WithheldError
from viva.models.model import FinishReason
from viva.records.codec import has_doubled_key
from viva.records.text import storable

LONGEST_ANSWER = 200_000
"""Maximum number of characters of one answer; an examiner's message or a judge's verdict has a few hundred."""

# The tags around the reasoning of models, if the server does not remove it.
THOUGHTS = (("<think>", "</think>"), ("<thinking>", "</thinking>"))


def read_answer(answer: str, finish: FinishReason, schema: type[BaseModel] | None) -> tuple[str, BaseModel | None]:
    """Return a whole answer without its reasoning, and the validated object if it has a schema.

    Raises:
        ModelAnswerError: the answer is not usable.
    """
    if finish == "tool_calls":
        raise ModelAnswerError("the model called a tool, although it has none")
    if finish == "length":
        raise ModelAnswerError("the answer was cut off at the model's token limit")
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
        return text, schema.model_validate_json(text)
    except ValidationError as error:
        raise SchemaError("it was empty, or not JSON in the form asked for") from error


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

"""Finds what the user asked, among what frameworks put beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from viva.recordings.react import observation_in
from viva.recordings.spans.messages import Message, from_chat, input_messages, loaded
from viva.recordings.spans.span import Span

# What frameworks answer to output that they cannot parse: LlamaIndex, LangChain, smolagents.
COMPLAINT = re.compile(
    r"\s*(?:Observation:\s*)?(?:Error while parsing the output:|Invalid Format:|Invalid or incomplete response"
    r"|Could not parse LLM output:?|Error in code parsing:)\s*"
)
_ADVICE = re.compile(r"\n\s*The output should be in one of the following formats.*", re.DOTALL)
# Not words of a user but a Python object written as text, or structured data.
_STRUCTURE = re.compile(r"\s*(?:[\[{<]|\w+\(.*\)\s*$)", re.DOTALL)
_KEYS = ("question", "query", "input", "user_msg", "user_input", "prompt", "message", "text")


def is_question(message: Message) -> bool:
    """Return whether a message is the user's own words, not an observation or the complaint of a parser."""
    text = message.text or ""
    said_by_user = message.role in ("user", "human") and not message.answers and bool(text.strip())
    return said_by_user and observation_in(text) is None and not COMPLAINT.match(text)


def complaint_in(text: str) -> str | None:
    """Return what a parser complains about; None for other words."""
    found = COMPLAINT.match(text)
    return None if found is None else _ADVICE.sub("", text[found.end() :]).strip() or "the output could not be parsed"


def question_of(top: Sequence[Span], inputs: Sequence[Message]) -> str | None:
    """Return what the user asked in a run.

    Args:
        top: The outermost spans of the run, the outermost first.
        inputs: What its first model call was given.
    """
    for span in top:
        asked = [message.text for message in input_messages(span) if is_question(message)]
        if asked:
            return asked[-1]
        if words := _words(span.attributes.get("input.value", span.attributes.get("traceloop.entity.input"))):
            return words
    asked = [message.text for message in inputs if is_question(message)]
    return asked[-1] if asked else None


def _words(given: Any) -> str | None:
    """Return the question in the input of a span: plain words, or those in the usual places of an object."""
    value = loaded(given)
    if isinstance(value, str):
        return None if not value.strip() or _STRUCTURE.match(value) else value
    if isinstance(value, list):
        value = {"messages": value}
    if not isinstance(value, Mapping):
        return None
    inner = value.get("inputs")
    if isinstance(inner, Mapping):
        value = inner
    messages = value.get("messages")
    if isinstance(messages, list):
        if messages and isinstance(messages[0], list):
            messages = messages[0]
        read = (from_chat(message) for message in messages if isinstance(message, Mapping))
        asked = [message.text for message in read if is_question(message)]
        return asked[-1] if asked else None
    found = (value.get(key) for key in _KEYS)
    return next(
        (words for words in found if isinstance(words, str) and words.strip() and not _STRUCTURE.match(words)), None
    )

"""Finds what the user asked, among what frameworks put beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from viva.recordings.react import observation_in, read_react
from viva.recordings.spans.messages import Message, from_chat, input_messages
from viva.recordings.spans.span import Span
from viva.recordings.spans.values import loaded

# What frameworks answer to output that they cannot parse: LlamaIndex, LangChain, smolagents.
COMPLAINT = re.compile(
    r"\s*(?:Observation:\s*)?(?:Error while parsing the output:|Invalid Format:|Invalid or incomplete response"
    r"|Could not parse LLM output:?|Error in code parsing:)\s*"
)
_ADVICE = re.compile(r"\n\s*The output should be in one of the following formats.*", re.DOTALL)
# Not words of a user but a Python object written as text, or structured data.
_STRUCTURE = re.compile(r"\s*(?:[\[{<]|\w+\(.*\)\s*$)", re.DOTALL)
# What smolagents puts before a task, and how it writes calls and code that an agent wrote.
_PREFIX = re.compile(r"\A\s*New task:[^\S\n]*\n")
_CODE = re.compile(r"\A\s*Calling tools:|<code>|```")
_KEYS = ("question", "query", "input", "user_msg", "user_input", "prompt", "message", "text", "task")


def question_places(messages: Sequence[Message]) -> list[int]:
    """Return the places of the user's own words, without observations and the complaints of a parser.

    Words that look like an observation are one only where the agent waits for it: after a message in which it acts,
    or after a question where the agent's messages are not recorded.
    """
    places: list[int] = []
    before: Message | None = None
    for place, message in enumerate(messages):
        text = message.text or ""
        if message.role in ("user", "human") and not message.answers and text.strip():
            given_back = (
                _is_given_back(text, before) if before is not None else bool(places) and _looks_given_back(text)
            )
            if not given_back:
                places.append(place)
        elif message.role not in ("system", "developer"):
            before = message
    return places


def asked_in(message: Message) -> str:
    """Return what a user asked in a message, without the words that a framework puts before it."""
    return _PREFIX.sub("", message.text or "")


def _is_given_back(text: str, before: Message) -> bool:
    """Return whether a message in the user's name is the framework's, after the agent's newest message."""
    if COMPLAINT.match(text):
        return True
    return observation_in(text) is not None and _acts(before)


def _looks_given_back(text: str) -> bool:
    return COMPLAINT.match(text) is not None or observation_in(text) is not None


def _acts(message: Message) -> bool:
    """Return whether an agent waits for something to come back: it called a tool, wrote code, or gave no answer."""
    text = message.text or ""
    if message.calls or message.answers or not text.strip() or _CODE.search(text):
        return True
    read = read_react(text)
    return read.labelled and read.answer is None


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
        if (asked := last_question(input_messages(span))) is not None:
            return asked
        if words := _words(span.attributes.get("input.value", span.attributes.get("traceloop.entity.input"))):
            return words
    return last_question(inputs)


def last_question(messages: Sequence[Message]) -> str | None:
    """Return the newest question among messages; None if there is none."""
    places = question_places(messages)
    return asked_in(messages[places[-1]]) if places else None


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
        return last_question([from_chat(message) for message in messages if isinstance(message, Mapping)])
    found = (value.get(key) for key in _KEYS)
    return next(
        (words for words in found if isinstance(words, str) and words.strip() and not _STRUCTURE.match(words)), None
    )

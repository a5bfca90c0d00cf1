"""Reads the messages of a model call from its span: those of OpenTelemetry's `gen_ai.*` first, then OpenInference's.

Conventions: github.com/open-telemetry/semantic-conventions-genai (messages as JSON with `parts`; earlier releases had
an event for each message), github.com/Arize-ai/openinference/spec (`llm.input_messages.N.message.*`), and OpenLLMetry's
`gen_ai.prompt.N.*`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viva.recordings.chat_messages import read_arguments, read_content
from viva.recordings.react import to_json
from viva.recordings.spans.reasoning import KINDS, reasoning_of_message, reasoning_of_part
from viva.recordings.spans.span import Span
from viva.recordings.spans.values import flatten, loaded


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A tool call that a model asked for."""

    name: str | None
    arguments: Any
    """An object if they are JSON, else text."""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a model call."""

    role: str
    text: str | None = None
    reasoning: str | None = None
    """The model's reasoning, separate from its words."""
    calls: tuple[RequestedCall, ...] = ()
    answers: tuple[tuple[str | None, str], ...] = ()
    """Results in a message with tool results: id of the call, and what came back."""


def input_messages(span: Span) -> list[Message]:
    """Return the messages that a model was given, without a separate system text."""
    return _messages(span, ("gen_ai.input.messages", "pydantic_ai.all_messages"), "llm.input_messages", "gen_ai.prompt")


def output_messages(span: Span) -> list[Message]:
    """Return the messages that a model gave."""
    found = _messages(span, ("gen_ai.output.messages",), "llm.output_messages", "gen_ai.completion")
    return found or _choice_events(span)


def system_text(span: Span, inputs: Sequence[Message]) -> str | None:
    """Return the system text of a model call: from its span, or else from its messages."""
    given = loaded(span.attributes.get("gen_ai.system_instructions"))
    if isinstance(given, list):
        texts = [str(part.get("content") or "") for part in given if isinstance(part, dict)]
        if any(texts):
            return "\n\n".join(text for text in texts if text)
    elif isinstance(given, str) and given:
        return given
    texts = [message.text or "" for message in inputs if message.role in ("system", "developer")]
    return "\n\n".join(texts) if texts else None


def arguments(given: Any) -> Any:
    """Return the arguments of a call as an object where they are JSON of which nothing would be lost, else as text."""
    return read_arguments(given) if isinstance(given, str) and given.lstrip()[:1] in ("[", "{") else given


def indexed(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Return the elements of a list whose keys are flat: `PREFIX.0.a`, `PREFIX.1.a`… in the order of their numbers."""
    start = f"{prefix}."
    elements: dict[int, dict[str, Any]] = {}
    for key in [key for key in attributes if key.startswith(start)]:
        number, _, rest = key[len(start) :].partition(".")
        if number.isascii() and number.isdigit() and len(number) < 9:
            elements.setdefault(int(number), {})[rest] = attributes[key]
    return [elements[number] for number in sorted(elements)]


def _messages(span: Span, wholes: Iterable[str], listed: str, older: str) -> list[Message]:
    for key in wholes:
        given = loaded(span.attributes.get(key))
        if isinstance(given, list):
            found = [_from_parts(message) for message in given if isinstance(message, dict)]
            if found:
                return found
    # Dumps of tables hold the list as one JSON text.
    whole = loaded(span.attributes.get(listed))
    nested = [flatten(each) for each in whole if isinstance(each, dict)] if isinstance(whole, list) else []
    found = [_from_openinference(element) for element in indexed(span.attributes, listed) or nested]
    if not found:
        found = [_from_openllmetry(element) for element in indexed(span.attributes, older)]
    return found or (_message_events(span) if older == "gen_ai.prompt" else [])


def _from_parts(message: Mapping[str, Any]) -> Message:
    """Read a message of the current convention; one with `content` in the chat format is read as well."""
    parts = message.get("parts")
    if not isinstance(parts, list):
        parts = message.get("content")
        if not isinstance(parts, list) or not any(map(_is_part, parts)):
            return from_chat(message)
    texts: list[str] = []
    reasoning: list[str] = []
    calls: list[RequestedCall] = []
    answers: list[tuple[str | None, str]] = []
    for part in parts:
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        if kind in KINDS:
            reasoning.append(reasoning_of_part(part))
        elif kind == "tool_call":
            calls.append(
                RequestedCall(_name(part.get("name")), arguments(part.get("arguments")), _identity(part.get("id")))
            )
        elif kind == "tool_call_response":
            result = next((part[key] for key in ("response", "result", "content") if key in part), None)
            answers.append((_identity(part.get("id")), as_text(result)))
        elif (words := part.get("content", part.get("text"))) is not None:
            texts.append(as_text(words))
    return Message(
        str(message.get("role") or ""),
        "\n".join(texts) if texts else None,
        "\n".join(text for text in reasoning if text) or None,
        tuple(calls),
        tuple(answers),
    )


def _is_part(part: Any) -> bool:
    """Return whether an element of `content` is a part of the current convention, not of the chat format."""
    return isinstance(part, dict) and ("content" in part or ("type" not in part and "text" in part))


def from_chat(message: Mapping[str, Any]) -> Message:
    """Read a message of the chat format, or one that wraps it (`{"message": {…}}`)."""
    inner = message.get("message")
    if isinstance(inner, dict):
        message = inner
    text = read_content(message.get("content"))[0]
    calls = message.get("tool_calls")
    role = str(message.get("role") or message.get("type") or "")
    role = {"human": "user", "ai": "assistant"}.get(role, role)
    answers = ((_identity(message.get("tool_call_id")), text or ""),) if role in ("tool", "function") else ()
    return Message(
        role,
        text,
        reasoning_of_message(message),
        tuple(_chat_call(call) for call in calls) if isinstance(calls, list) else (),
        answers,
    )


def _chat_call(call: Any) -> RequestedCall:
    if not isinstance(call, dict):
        return RequestedCall(None, call)
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    given = inner.get("arguments", inner.get("args"))
    return RequestedCall(_name(inner.get("name")), arguments(given), _identity(call.get("id")))


_WORDS_ALONE = frozenset({"message.role", "message.content", "message.tool_call_id", "message.name"})


def _from_openinference(element: Mapping[str, Any]) -> Message:
    text = element.get("message.content")
    # Most messages are words alone, and the look for parts takes most of the time of reading them.
    plain = _WORDS_ALONE.issuperset(element)
    parts = [] if plain else indexed(element, "message.contents")
    # Parts of a kind of their own: their text stands beside the words, not among them.
    thinking = [part for part in parts if part.get("message_content.type") in KINDS]
    reasoning = [told for part in thinking if (told := str(part.get("message_content.text") or ""))]
    spoken = [
        str(part["message_content.text"])
        for part in parts
        if "message_content.text" in part and part.get("message_content.type") not in KINDS
    ]
    words = as_text(text) if text is not None else "\n".join(spoken) if spoken else None
    calls = []
    for call in () if plain else indexed(element, "message.tool_calls"):
        given = call.get("tool_call.function.arguments")
        name = _name(call.get("tool_call.function.name"))
        if name is not None or given is not None:
            # Instrumentations leave empty arguments out.
            read = {} if given is None else arguments(given)
            calls.append(RequestedCall(name, read, _identity(call.get("tool_call.id"))))
    if not calls and element.get("message.function_call_name"):
        given = element.get("message.function_call_arguments_json")
        calls.append(RequestedCall(_name(element["message.function_call_name"]), arguments(given)))
    role = str(element.get("message.role") or "")
    identity = _identity(element.get("message.tool_call_id"))
    answers = ((identity, words or ""),) if role in ("tool", "function") else ()
    return Message(role, words, "\n".join(reasoning) or None, tuple(calls), answers)


def _from_openllmetry(element: Mapping[str, Any]) -> Message:
    given = element.get("content")
    parts = loaded(given)
    text = read_content(parts)[0] if isinstance(parts, list) else None if given is None else as_text(given)
    calls = tuple(
        RequestedCall(_name(call.get("name")), arguments(call.get("arguments")), _identity(call.get("id")))
        for call in indexed(element, "tool_calls")
    )
    role = str(element.get("role") or "assistant")
    answers = ((_identity(element.get("tool_call_id")), text or ""),) if role == "tool" else ()
    return Message(role, text, reasoning_of_message({**element, "content": parts}), calls, answers)


def _message_events(span: Span) -> list[Message]:
    """Read the event for each message of earlier releases: `gen_ai.user.message` and so on."""
    found = []
    for name, body in _bodies(span):
        role = name.removeprefix("gen_ai.").removesuffix(".message")
        if name.startswith("gen_ai.") and name.endswith(".message"):
            message = {"role": role, **body}
            found.append(from_chat({**message, "tool_call_id": body.get("id")} if role == "tool" else message))
    return found


def _choice_events(span: Span) -> list[Message]:
    found = []
    for name, body in _bodies(span):
        if name == "gen_ai.choice":
            message = body.get("message")
            found.append(from_chat({"role": "assistant", **(message if isinstance(message, dict) else body)}))
    return found


def _bodies(span: Span) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The events of a span that are messages: as span events, or as the attribute in which Pydantic AI kept them."""
    for event in span.events:
        attributes = event["attributes"]
        body = loaded(attributes.get("event.body", attributes.get("body")))
        yield event["name"], body if isinstance(body, dict) else attributes
    kept = loaded(span.attributes.get("events"))
    for event in kept if isinstance(kept, list) else ():
        if isinstance(event, dict):
            yield str(event.get("event.name") or ""), event


def as_text(value: Any) -> str:
    """Return text as it is, None as empty text, and anything else as JSON."""
    return value if isinstance(value, str) else "" if value is None else to_json(value)


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _identity(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and value != "" else None

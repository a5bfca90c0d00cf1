"""Turns a list of chat-format messages into rounds and steps. Nothing that the messages hold is thrown away.

The format is the message list of OpenAI's chat completions as tools record it: `role` (`system`, `developer`, `user`,
`assistant`, `tool`, the older `function`), `content` (text or parts), `tool_calls`, `tool_call_id`, `name`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from records.transcript import Round, Step, StepKind, Transcript

_KNOWN = {"role", "content", "tool_calls", "tool_call_id", "function_call"}


class MessageError(ValueError):
    """A message that is none: says which and why."""


@dataclass(slots=True)
class _StepDraft:
    kind: StepKind
    agent: str | None = None
    thought: str | None = None
    tool: str | None = None
    tool_input: Any = None
    result: str | None = None
    images: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _RoundDraft:
    examiner: str | None = None
    agent: str | None = None
    steps: list[_StepDraft] = field(default_factory=list)
    images: list[str] = field(default_factory=list)


def read_messages(messages: Sequence[Any]) -> tuple[Transcript, dict[str, Mapping[str, Any]]]:
    """Rounds and steps of one conversation.

    A round is one user message, the tool calls that follow it, and the assistant's words. What does not fit that shape
    becomes a round with a side missing: a leading assistant turn, the second of two assistant or user messages in a
    row, tool calls at the end. Words beside tool calls are the first call's `thought`. A tool's message goes to the
    call that it names (by name alone in the older format), however late it comes; one that fits no call becomes a step
    of its own, with the attribute `without_call`. Other roles, and system text in the middle, become steps of the kind
    `agent`, named by their role.

    Returns:
        The transcript, without participants and stop reason: recordings do not tell. And what the messages held
        besides: position in the list (from 0, as text) to the fields left over.

    Raises:
        MessageError: an element is no message.
    """
    reader = _Reader()
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            found = f"its role is {message.get('role')!r}" if isinstance(message, dict) else f"it is {_kind(message)}"
            raise MessageError(f"message {index + 1} is no chat message: {found}; need an object with a text `role`")
        reader.take(index, message)
    return reader.transcript(), reader.rest


class _Reader:
    """Takes the messages of one conversation in order."""

    def __init__(self) -> None:
        self.rest: dict[str, Mapping[str, Any]] = {}
        self._rounds: list[_RoundDraft] = []
        self._system: list[str] = []
        # Calls that wait for their result, in the order in which they were made.
        self._waiting: list[_StepDraft] = []
        self._strays = 0

    def take(self, index: int, message: dict[str, Any]) -> None:
        role = message["role"]
        text, images, plain = _content(message.get("content"))
        left = {} if plain else {"content": message["content"]}
        if role in ("tool", "function"):
            left |= self._result(message, text, images)
        else:
            left |= {key: value for key, value in message.items() if key not in _KNOWN}
            if role == "assistant":
                left |= self._assistant(message, text, images)
            else:
                left |= {key: message[key] for key in ("tool_calls", "tool_call_id", "function_call") if key in message}
                self._other(role, text, images)
        if left:
            self.rest[str(index)] = left

    def transcript(self) -> Transcript:
        notes = []
        if self._waiting:
            notes.append(f"tool calls without a result: {len(self._waiting)}")
        if self._strays:
            notes.append(f"tool results without a call: {self._strays}")
        rounds = tuple(_round(number, draft) for number, draft in enumerate(self._rounds, 1))
        system = "\n\n".join(self._system) if self._system else None
        return Transcript(rounds, source="chat", system=system, notes=tuple(notes))

    def _other(self, role: str, text: str | None, images: list[str]) -> None:
        if role == "user":
            self._rounds.append(_RoundDraft(examiner=text or "", images=images))
        elif role in ("system", "developer") and not self._rounds:
            self._system.append(text or "")
        else:
            self._open().steps.append(_StepDraft(StepKind.AGENT, agent=role, result=text, images=images))

    def _assistant(self, message: dict[str, Any], text: str | None, images: list[str]) -> dict[str, Any]:
        calls, legacy = message.get("tool_calls"), message.get("function_call")
        left = {"tool_call_id": message["tool_call_id"]} if "tool_call_id" in message else {}
        drafts = []
        if isinstance(calls, list):
            drafts += [_call(call) for call in calls]
        elif calls is not None:
            left["tool_calls"] = calls
        if legacy is not None:
            drafts.append(_call(legacy))
        round_ = self._open()
        if not drafts:
            refusal = message.get("refusal")
            round_.agent = text if text is not None else refusal if isinstance(refusal, str) else ""
            round_.images += images
            return left
        drafts[0].thought, drafts[0].images = text, images
        round_.steps += drafts
        self._waiting += drafts
        return left

    def _result(self, message: dict[str, Any], text: str | None, images: list[str]) -> dict[str, Any]:
        identity, name = message.get("tool_call_id"), message.get("name")
        found = next((step for step in self._waiting if _answers(identity, name, step)), None)
        if found is None:
            self._strays += 1
            found = _StepDraft(StepKind.TOOL, tool=name if isinstance(name, str) else None)
            found.attributes["without_call"] = True
            if identity is not None:
                found.attributes["tool_call_id"] = identity
            self._open().steps.append(found)
        else:
            self._waiting = [step for step in self._waiting if step is not found]
        found.result = text or ""
        found.images += images
        extra = {key: value for key, value in message.items() if key not in _KNOWN and key != "name"}
        if name is not None and name != found.tool:
            extra["name"] = name
        if extra:
            found.attributes["result"] = extra
        return {key: message[key] for key in ("tool_calls", "function_call") if key in message}

    def _open(self) -> _RoundDraft:
        """The round that steps and words now go to: a new one where the agent has already spoken in the last."""
        if not self._rounds or self._rounds[-1].agent is not None:
            self._rounds.append(_RoundDraft())
        return self._rounds[-1]


def _answers(identity: Any, name: Any, step: _StepDraft) -> bool:
    if identity is not None:
        return bool(identity == step.attributes.get("tool_call_id"))
    return "tool_call_id" not in step.attributes and (name is None or name == step.tool)


def _call(call: Any) -> _StepDraft:
    """One tool call; `function` may be nested (OpenAI) or its fields lie beside the id (tau2)."""
    if not isinstance(call, dict):
        return _StepDraft(StepKind.TOOL, tool_input=call)
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    name, given = inner.get("name"), inner.get("arguments")
    attributes: dict[str, Any] = {}
    if call.get("id") is not None:
        attributes["tool_call_id"] = call["id"]
    rest = {key: value for key, value in call.items() if key not in ("id", "function", "name", "arguments")}
    if rest.get("type") == "function":
        del rest["type"]
    if inner is call:
        rest |= {"function": function} if "function" in call else {}
    else:
        rest |= {key: call[key] for key in ("name", "arguments") if key in call}
        inside = {key: value for key, value in inner.items() if key not in ("name", "arguments")}
        rest |= {"function": inside} if inside else {}
    if name is not None and not isinstance(name, str):
        rest["tool"] = name
    if rest:
        attributes["call"] = rest
    tool = name if isinstance(name, str) else None
    return _StepDraft(StepKind.TOOL, tool=tool, tool_input=_arguments(given), attributes=attributes)


def _arguments(given: Any) -> Any:
    """Arguments as an object; as the text they came in where that is no JSON."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        return given


def _finite(text: str) -> float:
    """Python reads `NaN` and 1e999, but could not write them again."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _content(content: Any) -> tuple[str | None, list[str], bool]:
    """(text, images, whether these two say all of it)."""
    if content is None or isinstance(content, str):
        return content, [], True
    if not isinstance(content, list):
        return json.dumps(content, ensure_ascii=False), [], False
    texts, images, plain = [], [], True
    for element in content:
        part = {"type": "text", "text": element} if isinstance(element, str) else element
        kind = part.get("type") if isinstance(part, dict) else None
        address = part.get("image_url") if kind == "image_url" else None
        url = address.get("url") if isinstance(address, dict) else address
        if kind in ("text", "input_text", "output_text") and isinstance(part.get("text"), str):
            texts.append(part["text"])
            plain = plain and len(part) == 2
        elif isinstance(url, str):
            images.append(url)
            plain = plain and len(part) == 2 and (not isinstance(address, dict) or len(address) == 1)
        else:
            plain = False
    return "\n".join(texts), images, plain


def _round(number: int, draft: _RoundDraft) -> Round:
    steps = tuple(
        Step(
            # Their own ids need not be unique, and are long to quote; they are kept as attributes.
            f"r{number}.{position}",
            step.kind,
            agent=step.agent,
            thought=step.thought,
            tool=step.tool,
            tool_input=step.tool_input,
            result=step.result,
            images=tuple(step.images),
            attributes=step.attributes,
        )
        for position, step in enumerate(draft.steps, 1)
    )
    return Round(number, draft.examiner, draft.agent, steps, tuple(draft.images))


def _kind(value: Any) -> str:
    return {list: "a list", str: "text", type(None): "null", bool: "true or false"}.get(type(value), "a number")

"""Converts a list of chat-format messages to rounds and steps without discarding anything.

The format is the message list of OpenAI's chat completions, as tools record it: `role` (`system`, `developer`, `user`,
`assistant`, `tool`, the older `function`), `content` (text or parts), `tool_calls`, `tool_call_id`, `name`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from viva.recordings.chat_messages import UnnumberedStep, read_call, read_content
from viva.recordings.chat_words import wrong_words
from viva.recordings.react import observation_in, read_react
from viva.recordings.waiting_calls import WaitingCalls
from viva.records.transcript import Round, Step, StepKind, Transcript

_KNOWN = {"role", "content", "tool_calls", "tool_call_id", "function_call"}


class MessageError(ValueError):
    """An element is not a message; the error says which and why."""


@dataclass(slots=True)
class _RoundDraft:
    examiner: str | None = None
    agent: str | None = None
    steps: list[UnnumberedStep] = field(default_factory=list)
    images: list[str] = field(default_factory=list)


def read_messages(messages: Sequence[Any]) -> Transcript:
    """Return the transcript of one conversation.

    A round is one user message, the tool calls that follow it, and the assistant's text. Messages that do not fit this
    shape become a round with one side missing: a leading assistant turn, the second of two consecutive assistant or
    user messages, tool calls at the end. Text next to tool calls becomes the first call's `thought`. A tool's message
    belongs to the call that it names (by name only in the older format), however late it comes. A tool's message
    without a call becomes a separate step with the attribute `without_call`. An agent that acts in words
    (ReAct) acts where the next message is an `Observation:`, which is the step's result; the step's attribute `text`
    has the words. Other roles, and system text in the middle, become steps of the kind `agent`, named by their role.

    Returns:
        The transcript without participants and stop reason, which recordings do not contain. Its attribute `messages`
        maps positions in the list (from 0, as text) to the remaining fields of the messages.

    Raises:
        MessageError: an element is not a message.
    """
    reader = _MessageReader()
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            found = f"its role is {message.get('role')!r}" if isinstance(message, dict) else f"it is {_kind(message)}"
            raise MessageError(f"message {index + 1} is not a chat message: {found}; it needs a `role` that is text")
    if (wrong := wrong_words(messages)) is not None:
        raise MessageError(wrong)
    for index, message in enumerate(messages):
        reader.take(index, message, messages[index + 1] if index + 1 < len(messages) else None)
    return reader.transcript()


class _MessageReader:
    """Reads the messages of one conversation in order."""

    def __init__(self) -> None:
        self._rest: dict[str, Mapping[str, Any]] = {}
        self._rounds: list[_RoundDraft] = []
        self._system: list[str] = []
        self._waiting = WaitingCalls()
        self._strays = 0
        # An action in words, whose observation is the next message.
        self._acted: UnnumberedStep | None = None

    def take(self, index: int, message: dict[str, Any], following: Any) -> None:
        role = message["role"]
        text, images, plain = read_content(message.get("content"))
        left = {} if plain else {"content": message["content"]}
        acted, self._acted = self._acted, None
        if acted is not None:
            acted.result, acted.images = observation_in(text or ""), [*acted.images, *images]
            left |= {key: value for key, value in message.items() if key not in ("role", "content")}
        elif role == "assistant" and (acting := _acting(message, text, following)) is not None:
            acting.images = images
            self._acted = acting
            self._open().steps.append(acting)
            left |= {key: value for key, value in message.items() if key not in ("role", "content")}
        elif role in ("tool", "function"):
            left |= self._result(message, text, images)
        else:
            left |= {key: value for key, value in message.items() if key not in _KNOWN}
            if role == "assistant":
                left |= self._assistant(message, text, images)
            else:
                left |= {key: message[key] for key in ("tool_calls", "tool_call_id", "function_call") if key in message}
                self._other(role, text, images)
        if left:
            self._rest[str(index)] = left

    def transcript(self) -> Transcript:
        notes = []
        if self._waiting.left:
            notes.append(f"tool calls without a result: {self._waiting.left}")
        if self._strays:
            notes.append(f"tool results without a call: {self._strays}")
        rounds = tuple(_round(number, draft) for number, draft in enumerate(self._rounds, 1))
        system = "\n\n".join(self._system) if self._system else None
        attributes = {"messages": self._rest} if self._rest else {}
        return Transcript(rounds, source="chat", system=system, notes=tuple(notes), attributes=attributes)

    def _other(self, role: str, text: str | None, images: list[str]) -> None:
        if role == "user":
            self._rounds.append(_RoundDraft(examiner=text or "", images=images))
        elif role in ("system", "developer") and not self._rounds:
            self._system.append(text or "")
        else:
            self._open().steps.append(UnnumberedStep(StepKind.AGENT, agent=role, result=text, images=images))

    def _assistant(self, message: dict[str, Any], text: str | None, images: list[str]) -> dict[str, Any]:
        calls, legacy = message.get("tool_calls"), message.get("function_call")
        left = {"tool_call_id": message["tool_call_id"]} if "tool_call_id" in message else {}
        drafts = []
        if isinstance(calls, list):
            drafts += [read_call(call) for call in calls]
        elif calls is not None:
            left["tool_calls"] = calls
        if legacy is not None:
            drafts.append(read_call(legacy))
        round_ = self._open()
        if not drafts:
            refusal = message.get("refusal")
            round_.agent = text if text is not None else refusal if isinstance(refusal, str) else ""
            round_.images += images
            return left
        drafts[0].thought, drafts[0].images = text, images
        round_.steps += drafts
        for draft in drafts:
            self._waiting.add(draft)
        return left

    def _result(self, message: dict[str, Any], text: str | None, images: list[str]) -> dict[str, Any]:
        identity, name = message.get("tool_call_id"), message.get("name")
        found = self._waiting.take(identity, name)
        if found is None:
            self._strays += 1
            found = UnnumberedStep(StepKind.TOOL, tool=name if isinstance(name, str) else None)
            found.attributes["without_call"] = True
            if identity is not None:
                found.attributes["tool_call_id"] = identity
            self._open().steps.append(found)
        found.result = text or ""
        found.images += images
        extra = {key: value for key, value in message.items() if key not in _KNOWN and key != "name"}
        if name is not None and name != found.tool:
            extra["name"] = name
        if extra:
            found.attributes["result"] = extra
        return {key: message[key] for key in ("tool_calls", "function_call") if key in message}

    def _open(self) -> _RoundDraft:
        """Return the round for further steps and text: a new one if the agent has already replied in the last."""
        if not self._rounds or self._rounds[-1].agent is not None:
            self._rounds.append(_RoundDraft())
        return self._rounds[-1]


def _acting(message: Mapping[str, Any], text: str | None, following: Any) -> UnnumberedStep | None:
    """Read the action of an agent that acts in words; None for other messages."""
    calls = message.get("tool_calls") or message.get("function_call")
    if calls or not isinstance(following, dict) or following.get("role") not in ("user", "system"):
        return None
    if observation_in(read_content(following.get("content"))[0] or "") is None:
        return None
    read = read_react(text or "")
    if read.tool is None:
        return None
    draft = UnnumberedStep(StepKind.TOOL, thought=read.thought, tool=read.tool, tool_input=read.tool_input)
    draft.attributes["text"] = text
    return draft


def _round(number: int, draft: _RoundDraft) -> Round:
    steps = tuple(
        Step(
            # Their own ids may not be unique and are long to quote, so they are kept as attributes.
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
    return Round(number, draft.examiner, draft.agent, steps, images=tuple(draft.images))


def _kind(value: Any) -> str:
    return {list: "a list", str: "text", type(None): "null", bool: "true or false"}.get(type(value), "a number")

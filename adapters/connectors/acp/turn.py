"""Collects what an agent reports between a message and its answer, and makes the reply of it: text, steps and usage."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from viva.adapters.connectors.acp.usage import SessionUsage
from viva.errors import AgentError
from viva.records.transcript import Reply, Step, StepKind

MOST_CHARACTERS = 128 * 1024 * 1024
"""Maximum number of characters that an agent may report between a message and its answer."""
LEAST_SIZE = 64
"""How many characters each update counts at least, because also empty ones are kept."""
MOST_STEPS = 20_000
MOST_RESULT = 1024 * 1024
"""Maximum number of characters of a tool's result."""
OF_THE_CLIENT = frozenset(
    {
        "user_message_chunk",
        "available_commands_update",
        "current_mode_update",
        "config_option_update",
        "session_info_update",
    }
)
"""Updates that are for a client's menus, or repeat what the user said."""


@dataclass(slots=True)
class _Report:
    """A step that later updates may still change."""

    step: Step
    call: dict[str, Any] = field(default_factory=dict)
    """What is known of a tool call, in the protocol's names."""


class TurnLog:
    """What an agent has reported since its last reply."""

    def __init__(self) -> None:
        self.usage = SessionUsage()
        self._turn = 0
        self._number = 0
        self._begin()

    def _begin(self) -> None:
        self._texts: list[list[str]] = []
        self._images: list[str] = []
        self._drafts: list[_Report] = []
        self._calls: dict[str, _Report] = {}
        self._last: tuple[str, object] | None = None
        """The kind and the message of the last chunk, if it may be continued."""
        self._size = 0
        self.fault: str | None = None

    def note(self, update: Mapping[str, Any]) -> None:
        """Add one update of the session.

        Args:
            update: As the protocol defines it. What it does not define is kept as it is.
        """
        self._size += _size(update)
        if self._size > MOST_CHARACTERS or len(self._drafts) >= MOST_STEPS:
            self.fault = self.fault or "it reported more for one message than Viva keeps"
            return
        self.usage.note_call(update)
        kind = update.get("sessionUpdate")
        match kind:
            case "agent_message_chunk":
                self._say(update)
            case "agent_thought_chunk":
                self._think(update)
            case "tool_call" | "tool_call_update":
                self._note_call(update)
            case "plan":
                self._plan(update.get("entries"), {})
            case "plan_update":
                plan = update.get("plan")
                plan = plan if isinstance(plan, Mapping) else {}
                self._plan(plan.get("entries", plan.get("content")), {"planId": plan.get("planId")})
            case "usage_update":
                self.usage.note_update(update)
            case _ if kind not in OF_THE_CLIENT:
                self._add(StepKind.ACTION, tool=str(kind), attributes=_without(update, "sessionUpdate"))

    def take(self, stop: object, response: Mapping[str, Any]) -> Reply:
        """Return the reply, and begin anew.

        Args:
            stop: The protocol's reason for the end of the turn.
            response: The answer to the prompt.

        Raises:
            AgentError: it reported too much; or the turn ended without a word or a step, and not because it was done.
        """
        self._turn += 1
        if self.fault:
            raise AgentError(self.fault)
        text = self.text
        usage, context = self.usage.of_turn(response.get("usage"))
        if stop != "end_turn":
            if not text and not self._drafts:
                raise AgentError(f"it stopped without an answer: {stop}")
            self._add(StepKind.MODEL, error=f"the turn stopped: {stop}", attributes={"stop_reason": stop})
        steps = [_finished(draft) for draft in self._drafts]
        if context and steps:
            steps[-1] = replace(steps[-1], attributes={**steps[-1].attributes, **context})
        reply = Reply(text, tuple(steps), usage, tuple(self._images))
        self._number = 0
        self._begin()
        return reply

    def take_so_far(self) -> Reply:
        """Return what was reported of a turn that has not ended, and begin anew."""
        self._turn += 1
        steps = tuple(map(_finished, self._drafts))
        reply = Reply(self.text, steps, self.usage.of_turn(None)[0], tuple(self._images))
        self._number = 0
        self._begin()
        return reply

    def kind_of(self, call: object) -> str | None:
        """Return the kind of a tool call that was reported; None if it is not known."""
        draft = self._calls.get(call) if isinstance(call, str) else None
        kind = None if draft is None else draft.call.get("kind")
        return kind if isinstance(kind, str) else None

    @property
    def text(self) -> str:
        """Return what the agent has said since its last reply; its messages are separate paragraphs."""
        text = ""
        for message in map("".join, self._texts):
            apart = text and message and not text.endswith("\n") and not message.startswith("\n")
            text += f"\n\n{message}" if apart else message
        return text

    def _say(self, update: Mapping[str, Any]) -> None:
        message = ("text", update.get("messageId"))
        if self._last != message:
            self._texts.append([])
            self._last = message
        content = update.get("content")
        if isinstance(content, Mapping) and content.get("type") == "image" and isinstance(content.get("data"), str):
            self._images.append(f"data:{content.get('mimeType', 'image/png')};base64,{content['data']}")
        else:
            self._texts[-1].append(text_of(content))

    def _think(self, update: Mapping[str, Any]) -> None:
        message = ("thought", update.get("messageId"))
        if self._last == message and self._drafts:
            draft = self._drafts[-1]
            draft.call["thought"].append(text_of(update.get("content")))
            return
        draft = self._add(StepKind.THINK)
        draft.call["thought"] = [text_of(update.get("content"))]
        self._last = message

    def _plan(self, entries: object, attributes: dict[str, Any]) -> None:
        known = [each for each in entries if isinstance(each, Mapping)] if isinstance(entries, list) else []
        lines = [f"[{entry.get('status', '')}] {entry.get('content', '')}" for entry in known]
        plan = "\n".join(lines) or (entries if isinstance(entries, str) else "")
        self._add(StepKind.THINK, plan=plan, attributes={**attributes, "entries": entries})

    def _note_call(self, update: Mapping[str, Any]) -> None:
        name = str(update.get("toolCallId"))
        draft = self._calls.get(name)
        if draft is None:
            draft = self._calls[name] = self._add(StepKind.TOOL)
            draft.step = replace(draft.step, id=name)
        for key, value in update.items():
            if key == "_meta" and isinstance(value, Mapping):
                draft.call[key] = {**draft.call.get(key, {}), **value}
            elif key == "title" and "title" in draft.call:
                draft.call["last_title"] = value  # the first names the tool; later ones describe the call
            elif key not in ("sessionUpdate", "toolCallId") and value is not None:
                draft.call[key] = value
        if update.get("status") in ("completed", "failed") and draft.step.started is not None:
            draft.step = replace(draft.step, seconds=max(0.0, time.time() - draft.step.started))

    def _add(self, kind: StepKind, **fields: Any) -> _Report:
        self._number += 1
        self._last = None
        draft = _Report(Step(f"t{self._turn + 1}.{self._number}", kind, started=time.time(), **fields))
        self._drafts.append(draft)
        return draft


def text_of(content: object) -> str:
    """Return the text of a content block of the protocol, or a short description of one without text."""
    if not isinstance(content, Mapping):
        return "" if content is None else str(content)
    match content.get("type"):
        case "text":
            text = content.get("text")
            return text if isinstance(text, str) else ""
        case "resource_link":
            return f"[{content.get('name', '')}]({content.get('uri', '')})"
        case "resource":
            resource = content.get("resource")
            resource = resource if isinstance(resource, Mapping) else {}
            return str(resource.get("text") or f"[{resource.get('uri', 'resource')}]")
        case kind:
            return f"[{kind}]"


def _size(update: Mapping[str, Any]) -> int:
    """Return the approximate number of characters of an update, of which there may be one for each word."""
    content = update.get("content")
    if len(update) == 2 and isinstance(content, Mapping) and content.keys() == {"type", "text"}:
        text = content["text"]
        if isinstance(text, str):
            return max(LEAST_SIZE, len(text))
    return max(LEAST_SIZE, len(repr(update)))


def _finished(draft: _Report) -> Step:
    step, call = draft.step, draft.call
    if "thought" in call:
        return replace(step, thought="".join(call["thought"]))
    if step.kind != StepKind.TOOL:
        return step
    content, output = call.get("content"), call.get("rawOutput")
    result = _content_text(content) or (output if isinstance(output, str) else _json(output))
    if result is not None and len(result) > MOST_RESULT:
        result = f"{result[:MOST_RESULT]}[… {len(result) - MOST_RESULT:,} characters left out]"
    failed = call.get("status") == "failed"
    kept = _without(call, "title", "rawInput", "content")
    if "last_title" in kept:
        kept["title"] = kept.pop("last_title")
    if diffs := [item for item in content or () if isinstance(item, Mapping) and item.get("type") != "content"]:
        kept["content"] = diffs
    return replace(
        step,
        tool=_tool_name(call),
        tool_input=call.get("rawInput"),
        result=result,
        error=(result or "the tool call failed") if failed else None,
        attributes=kept,
    )


def _tool_name(call: Mapping[str, Any]) -> str:
    """Return the tool's own name where the agent says it, else the title of the call as it was first given."""
    named = [call.get("name"), call.get("toolName")]
    for meta in (call.get("_meta"), *_values(call.get("_meta"))):
        if isinstance(meta, Mapping):
            named += [meta.get("toolName"), meta.get("tool_name")]
    found = next((name for name in named if isinstance(name, str) and name), None)
    return found or str(call.get("title") or call.get("kind") or "tool")


def _values(value: object) -> list[Any]:
    return list(value.values()) if isinstance(value, Mapping) else []


def _content_text(content: object) -> str:
    items = [each for each in content if isinstance(each, Mapping)] if isinstance(content, list) else []
    return "\n".join(text_of(item.get("content")) for item in items if item.get("type") == "content")


def _json(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _without(mapping: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key not in keys}

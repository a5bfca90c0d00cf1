"""Makes steps of the messages of the Claude Agent SDK; one answer of the model comes as several, a block each."""

from __future__ import annotations

import time
from typing import Any

from .vocabulary import Step, StepKind, Usage
from .wrapper import Steps, as_text

_CALLS = ("ToolUseBlock", "ServerToolUseBlock")
_RESULTS = ("ToolResultBlock", "ServerToolResultBlock")


class TurnSteps:
    """The steps of one message after another."""

    def __init__(self) -> None:
        self.steps = Steps()
        self.calls = 0
        """Model calls of this turn, as far as their messages were seen."""
        self._answers: set[str] = set()
        self._open: dict[str, dict[str, Any]] = {}
        self._agents: dict[str, str] = {}
        """Names of sub-agents by the id of the call that started them."""
        self._ids: dict[str, str] = {}
        """Ids of steps by that of the call."""
        self._texts: list[str] = []
        self._thoughts: dict[str | None, list[str]] = {}

    def note(self, message: Any) -> None:
        """Take one message of any type."""
        kind = type(message).__name__
        if kind == "AssistantMessage":
            self._answer(message)
        elif kind == "UserMessage" and not isinstance(message.content, str):
            for block in message.content:
                self._result(block, getattr(message, "tool_use_result", None))
        elif kind == "SystemMessage" and message.subtype == "permission_denied":
            draft = self._open.get(str(message.data.get("tool_use_id")))
            if draft is not None:
                reason = message.data.get("decision_reason") or message.data.get("message")
                draft.setdefault("attributes", {})["permission_denied"] = as_text(reason) or True

    def take(self) -> tuple[str, tuple[Step, ...]]:
        """Return the last words of the main agent, and the steps since the last time."""
        for draft in self._open.values():
            draft.setdefault("error", "it did not end")
        text = self._texts[-1] if self._texts else ""
        self._texts, self._thoughts, self._open, self.calls = [], {}, {}, 0
        return text, self.steps.take()

    def _answer(self, message: Any) -> None:
        key, above = message.message_id, message.parent_tool_use_id
        if key is None or key not in self._answers:
            self.calls += 1
            self._answers.add(key)
        for block in message.content:
            kind = type(block).__name__
            if kind == "ThinkingBlock":
                self._thoughts.setdefault(above, []).append(block.thinking)
            elif kind == "TextBlock":
                self._thoughts.setdefault(above, []).append(block.text)
                if above is None:
                    self._texts.append(block.text)
            elif kind in _CALLS:
                self._call(block, message.model, above)
            elif kind in _RESULTS:
                self._result(block, None)

    def _call(self, block: Any, model: Any, above: str | None) -> None:
        thought = "\n".join(part for part in self._thoughts.pop(above, []) if part)
        draft = self.steps.add(
            StepKind.TOOL,
            parent_id=None if above is None else self._ids.get(above),
            agent=None if above is None else self._agents.get(above, "sub-agent"),
            tool=block.name,
            tool_input=block.input,
            thought=thought or None,
            model=model if isinstance(model, str) else None,
            attributes={"call_id": block.id},
        )
        self._open[block.id] = draft
        self._ids[block.id] = draft["id"]
        if isinstance(block.input, dict) and isinstance(name := block.input.get("subagent_type"), str):
            self._agents[block.id] = name

    def _result(self, block: Any, details: Any) -> None:
        draft = self._open.pop(getattr(block, "tool_use_id", ""), None)
        if draft is None:
            return
        text, images = _content(block.content)
        failed = getattr(block, "is_error", None) is True or _is_server_error(block.content)
        self.steps.end(draft, result=text, images=images, **({"error": text or "failed"} if failed else {}))
        draft["seconds"] = max(0.0, time.time() - draft["started"])


def spent(totals: dict[str, Any], before: dict[str, Any], *, calls: int, cost: float | None) -> Usage:
    """Return the difference of two totals by model, each as the SDK's `ModelUsage`."""

    def grown(field: str) -> int:
        pairs = ((total.get(field) or 0, (before.get(name) or {}).get(field) or 0) for name, total in totals.items())
        return sum(max(0, now - then) for now, then in pairs)

    if not totals:
        return Usage(calls=calls, cost=cost, reported=False)
    cached, written = grown("cacheReadInputTokens"), grown("cacheCreationInputTokens")
    # Anthropic counts cached tokens beside the others.
    given = grown("inputTokens") + cached + written
    return Usage.answered(given, grown("outputTokens"), cached, cache_write_tokens=written, calls=calls, cost=cost)


def _content(content: Any) -> tuple[str, tuple[str, ...]]:
    """Return the text and the pictures of a tool's result."""
    if not isinstance(content, list):
        return as_text(content), ()
    texts, images = [], []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        source = (block.get("source") or {}) if kind == "image" else {}
        if kind == "text":
            texts.append(as_text(block.get("text")))
        elif source.get("type") == "base64":
            images.append(f"data:{source.get('media_type')};base64,{source.get('data')}")
        else:
            texts.append(as_text(block))
    return "\n".join(texts), tuple(images)


def _is_server_error(content: Any) -> bool:
    return isinstance(content, dict) and str(content.get("type", "")).endswith("_error")

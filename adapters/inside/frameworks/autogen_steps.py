"""Reads the messages of AutoGen's agents and teams, and notes their model calls and tool calls."""

from __future__ import annotations

from typing import Any

from .vocabulary import StepKind
from .wrapper import Steps, as_text, parsed, usage_of

_NOT_SAID = ("UserInputRequestedEvent", "ModelClientStreamingChunkEvent")


class StreamReader:
    """Reads one message after the other."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.calls: dict[str, dict[str, Any]] = {}
        self.thoughts: dict[str, list[str]] = {}
        """What an agent has thought since its last model call."""

    def note(self, message: Any) -> str | None:
        """Note the steps in a message; return its text if an agent says it to others."""
        kind = type(message).__name__
        agent = message.source
        if kind == "ThoughtEvent":
            self.thoughts.setdefault(agent, []).append(message.content)
        elif kind == "ToolCallExecutionEvent":
            for result in message.content:
                self._end(result, agent)
        elif kind == "CodeExecutionEvent":
            done = message.result
            draft = self.steps.add(StepKind.TOOL, agent=agent, tool="execute_code")
            failed = done.exit_code != 0
            self.steps.end(draft, result=None if failed else done.output, error=done.output if failed else None)
        elif kind not in _NOT_SAID:
            self._note_model(message, agent)
        if kind == "ToolCallRequestEvent":
            for call in message.content:
                given = parsed(call.arguments)
                self.calls[call.id] = self.steps.add(StepKind.TOOL, agent=agent, tool=call.name, tool_input=given)
        says = agent != "user" and any(base.__name__ == "BaseChatMessage" for base in type(message).__mro__)
        return message.to_text() if says else None

    def _note_model(self, message: Any, agent: str) -> None:
        used = message.models_usage
        if used is None:
            return
        thought = "\n".join(self.thoughts.pop(agent, ())) or None
        usage = usage_of(used.prompt_tokens, used.completion_tokens)
        self.steps.add(StepKind.MODEL, agent=agent, thought=thought, usage=usage)

    def _end(self, result: Any, agent: str) -> None:
        draft = self.calls.pop(result.call_id, None)
        draft = draft or self.steps.add(StepKind.TOOL, agent=agent, tool=getattr(result, "name", None))
        text = as_text(result.content)
        failed = bool(getattr(result, "is_error", False))
        self.steps.end(draft, result=None if failed else text, error=text if failed else None)

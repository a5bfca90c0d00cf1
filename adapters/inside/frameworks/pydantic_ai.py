"""Wraps agents of Pydantic AI: the conversation is its message history, and the steps are read from its messages."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

from .. import rules
from .approval import is_yes, question
from .vocabulary import Reply, StepKind
from .wrapper import FrameworkAgent, as_text, parsed, usage_of


class PydanticAIAgent(FrameworkAgent):
    """One conversation with an agent."""

    @classmethod
    def check(cls, target: Any) -> None:
        """Check that its dependencies can be made of what an adapter is given.

        Raises:
            Setup: `needs`.
        """
        kind = _dependencies(target)
        if kind in (None, dict):
            return
        try:
            rules.arguments(kind, dict.fromkeys(rules.OFFERED))
        except rules.Setup as wrong:
            wanted = ", ".join(wrong.facts.get("wants", ()))
            name = getattr(kind, "__name__", str(kind))
            raise rules.Setup(
                needs=f"its dependencies ({name}) require {wanted}, and Viva can give only {', '.join(rules.OFFERED)}. "
                "Write a class with get_reply_from_agent that passes them to agent.run"
            ) from None

    def begin(self, target: Any) -> None:
        self.agent = target
        self.history: list[Any] = []
        self.unfinished: dict[str, dict[str, Any]] = {}
        """The steps of tool calls without a result."""
        self.waiting: Any = None
        """The tool calls that wait for the user."""
        self.captured: list[Any] = []
        """The messages of a run that has not ended, with those before it."""

    async def answer(self, message: str) -> Reply:
        more: dict[str, Any] = {}
        if (made := self._made_dependencies()) is not None:
            more["deps"] = made
        with importlib.import_module("pydantic_ai").capture_run_messages() as self.captured:
            if self.waiting is None:
                result = await self.agent.run(message, message_history=self.history, **more)
            else:
                results = _results(self.waiting, message)
                result = await self.agent.run(message_history=self.history, deferred_tool_results=results, **more)
        before, self.history, self.captured = self.history, list(result.all_messages()), []
        self._note(self.history[len(before) :], before, getattr(result, "_output_tool_name", None))
        output = result.output
        self.waiting = output if hasattr(output, "approvals") and hasattr(output, "calls") else None
        if self.waiting is not None:
            asked = [*output.approvals, *output.calls]
            text = "\n\n".join(question(call.tool_name, parsed(call.args)) for call in asked)
        else:
            text = as_text(output)
        return Reply(text, usage=_run_usage(result))

    def _made_dependencies(self) -> Any:
        kind = _dependencies(self.agent)
        if kind is None:
            return None
        offered = {name: getattr(self, name) for name in rules.OFFERED}
        return offered if kind is dict else kind(**rules.arguments(kind, offered))

    def note_unanswered(self) -> None:
        """Note the model calls and tool calls of a run that failed or took too long."""
        captured, self.captured = self.captured, []
        self._note(captured[len(self.history) :], self.history, None)

    def _note(self, new: list[Any], before: list[Any], output_tool: Any) -> None:
        """Note the model calls and tool calls of one run."""
        calls = {
            part.tool_call_id: (part, message.timestamp)
            for message in before
            for part in message.parts
            if part.part_kind == "tool-call" and hasattr(message, "timestamp")
        }
        drafts = self.unfinished
        for message in new:
            if message.kind == "response":
                self._note_response(message, calls, drafts, output_tool)
                continue
            for part in message.parts:
                identity = getattr(part, "tool_call_id", None)
                if part.part_kind in ("tool-return", "retry-prompt") and identity in calls:
                    self._note_result(part, calls[identity][0], drafts, output_tool)
        for draft in drafts.values():
            self.steps.hold(draft)

    def _note_response(self, message: Any, calls: dict[str, Any], drafts: dict[str, Any], output_tool: Any) -> None:
        at = message.timestamp.timestamp()
        parts = message.parts
        own = [part for part in parts if part.part_kind == "tool-call"]
        thoughts = [str(part.content) for part in parts if part.part_kind == "thinking" and part.content]
        if own:
            thoughts += [part.content for part in parts if part.part_kind == "text" and part.content]
        used = message.usage
        usage = usage_of(
            used.input_tokens,
            used.output_tokens,
            used.cache_read_tokens,
            getattr(used, "output_reasoning_tokens", None) or (used.details or {}).get("reasoning_tokens"),
            used.cache_write_tokens,
        )
        self.steps.add(
            StepKind.MODEL,
            started=at,
            agent=self.agent.name,
            model=message.model_name,
            thought="\n".join(thoughts) or None,
            usage=usage,
        )
        for part in own:
            calls[part.tool_call_id] = (part, message.timestamp)
            if part.tool_name != output_tool:
                drafts[part.tool_call_id] = self._call(part, at)
        self._note_provided(parts, at)

    def _note_provided(self, parts: Any, at: float) -> None:
        """Note the tools that the model's provider has called itself, such as a search."""
        found: dict[str, Any] = {}
        for part in parts:
            if part.part_kind == "builtin-tool-call":
                found[part.tool_call_id] = self._call(part, at)
            elif part.part_kind == "builtin-tool-return" and part.tool_call_id in found:
                self.steps.end(found[part.tool_call_id], result=as_text(part.content))

    def _note_result(self, part: Any, call: Any, drafts: dict[str, Any], output_tool: Any) -> None:
        if part.tool_name == output_tool:
            return
        draft = drafts.pop(part.tool_call_id, None) or self._call(call, part.timestamp.timestamp())
        failed = part.part_kind == "retry-prompt" or getattr(part, "outcome", "success") != "success"
        text = as_text(part.content)
        draft.update(
            result=None if failed else text,
            error=text if failed else None,
            seconds=max(0.0, part.timestamp.timestamp() - draft["started"]),
        )

    def _call(self, part: Any, at: float) -> dict[str, Any]:
        return self.steps.add(
            StepKind.TOOL, started=at, agent=self.agent.name, tool=part.tool_name, tool_input=parsed(part.args)
        )


def _dependencies(agent: Any) -> Any:
    """Return the class of an agent's dependencies; None if it has none."""
    kind = getattr(agent, "deps_type", None)
    return None if kind in (object, type(None)) else kind


def _results(waiting: Any, message: str) -> Any:
    tools = importlib.import_module("pydantic_ai.tools")
    approval = True if is_yes(message) else tools.ToolDenied(message=f"The user answered: {message}")
    return tools.DeferredToolResults(
        approvals={call.tool_call_id: approval for call in waiting.approvals},
        calls={call.tool_call_id: message for call in waiting.calls},
    )


def _run_usage(result: Any) -> Any:
    """Return the usage of the whole run, which includes that of sub-agents that were given it (`usage=ctx.usage`)."""
    used = result.usage
    if not hasattr(used, "input_tokens"):  # it was a method
        used = used()
    whole = usage_of(used.input_tokens, used.output_tokens, used.cache_read_tokens, None, used.cache_write_tokens)
    return dataclasses.replace(whole, calls=used.requests)

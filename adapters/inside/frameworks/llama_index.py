"""Wraps agents and agent workflows of LlamaIndex: each run has a Context, and the steps come from the events."""

from __future__ import annotations

import importlib
from typing import Any

from .vocabulary import StepKind, Usage
from .wrapper import FrameworkAgent, as_text, usage_of


class LlamaIndexAgent(FrameworkAgent):
    """One conversation with an agent or a workflow of agents."""

    def begin(self, target: Any) -> None:
        self.agent = target
        self.context: Any = None
        self.memory: Any = None
        """The conversation. Some versions do not keep it in the context, which they serialize between two messages."""
        self.handler: Any = None
        """The work on a message, while it waits for the user."""
        self.events: Any = None
        self.tools: dict[str, dict[str, Any]] = {}
        """The tool calls that go on."""
        self.current: str | None = None

    async def answer(self, message: str) -> str:
        if self.handler is None:
            if self.context is None:
                self.context = importlib.import_module("llama_index.core.workflow").Context(self.agent)
                self.memory = self._new_memory()
            self.handler = self.agent.run(user_msg=message, ctx=self.context, memory=self.memory)
            self.events = self.handler.stream_events()
        else:
            response = importlib.import_module("llama_index.core.workflow").HumanResponseEvent
            self.handler.ctx.send_event(response(response=message))
        asked = await self._listen()
        if asked is not None:
            return asked
        handler, self.handler = self.handler, None
        return _answer(await handler)

    async def close(self) -> None:
        if self.handler is not None:
            await self.handler.cancel_run()

    async def _listen(self) -> str | None:
        """Note the steps until the work ends; return what it asks the user, if it does."""
        model: dict[str, Any] | None = None
        async for event in self.events:
            names = {kind.__name__ for kind in type(event).__mro__}
            if "AgentSetup" in names or "AgentInput" in names:
                agent = self.current = event.current_agent_name
                model = model or self.steps.add(StepKind.MODEL, agent=agent, model=self._model(agent))
            elif "AgentOutput" in names:
                self._note_output(event, model)
                model = None
            elif "ToolCallResult" in names:
                draft = self.tools.pop(event.tool_id, None) or self._tool(event)
                text = as_text(event.tool_output.content)
                failed = event.tool_output.is_error
                self.steps.end(draft, result=None if failed else text, error=text if failed else None)
            elif "ToolCall" in names:
                if event.tool_id not in self.tools:  # a tool that waited for the user is called once more
                    self.tools[event.tool_id] = self._tool(event)
            elif "InputRequiredEvent" in names:
                for draft in self.tools.values():
                    self.steps.hold(draft)
                return as_text(getattr(event, "prefix", None) or event.model_dump())
        return None

    def _note_output(self, event: Any, model: dict[str, Any] | None) -> None:
        agent = event.current_agent_name
        draft = model or self.steps.add(StepKind.MODEL, agent=agent, model=self._model(agent))
        blocks = getattr(event.response, "blocks", None) or ()
        thoughts = [str(block.content) for block in blocks if getattr(block, "block_type", "") == "thinking"]
        if event.tool_calls and event.response.content:
            thoughts.append(event.response.content)
        self.steps.end(draft, agent=agent, thought="\n".join(thoughts) or None, usage=_usage(event.raw))

    def _tool(self, event: Any) -> dict[str, Any]:
        return self.steps.add(StepKind.TOOL, agent=self.current, tool=event.tool_name, tool_input=event.tool_kwargs)

    def _new_memory(self) -> Any:
        """Return a memory like the one that agents make for themselves."""
        agents = list((getattr(self.agent, "agents", None) or {}).values()) or [self.agent]
        buffer = importlib.import_module("llama_index.core.memory").ChatMemoryBuffer
        return buffer.from_defaults(llm=agents[0].llm)

    def _model(self, agent: str) -> str | None:
        found = (getattr(self.agent, "agents", None) or {}).get(agent, self.agent)
        metadata = getattr(getattr(found, "llm", None), "metadata", None)
        return getattr(metadata, "model_name", None)


def _answer(result: Any) -> str:
    response = getattr(result, "response", result)
    text = getattr(response, "content", None)
    return text or as_text(getattr(result, "structured_response", None)) or ("" if text == "" else as_text(response))


def _usage(raw: Any) -> Usage:
    """Return the usage in the model's raw answer, an object or a dict in the form of one of the providers."""
    used = _field(raw, "usage") or _field(raw, "usage_metadata") or {}
    given = _field(used, "prompt_tokens") or _field(used, "input_tokens") or _field(used, "prompt_token_count")
    made = _field(used, "completion_tokens") or _field(used, "output_tokens") or _field(used, "candidates_token_count")
    cached = _field(_field(used, "prompt_tokens_details"), "cached_tokens")
    return usage_of(given, made, cached, _field(_field(used, "completion_tokens_details"), "reasoning_tokens"))


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)

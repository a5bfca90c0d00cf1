"""Notes model calls, tool calls and handoffs of the OpenAI Agents SDK by the hooks of a run."""

from __future__ import annotations

import importlib
from typing import Any

from .vocabulary import StepKind
from .wrapper import Steps, as_text, parsed, usage_of

FAILED = "An error occurred while "
"""How the SDK's own text begins when a tool has failed; hooks report no other difference."""


def watcher(steps: Steps) -> Any:
    """Return the hooks for one message, which note in `steps`."""
    return type("Watcher", (_Hooks, importlib.import_module("agents.lifecycle").RunHooksBase), {})(steps)


class _Hooks:
    """The methods are those of the SDK's RunHooks."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.models: dict[str, dict[str, Any]] = {}
        """The step of the model call that is going on, by agent."""
        self.tools: dict[Any, dict[str, Any]] = {}
        self.asked: dict[str, tuple[Any, dict[str, Any]]] = {}
        """The ids of tool calls that a model asked for, to the item and the step of the model call."""
        self.heard: set[str] = set()

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        self.models[agent.name] = self.steps.add(StepKind.MODEL, agent=agent.name, model=_model(agent))

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        draft = self.models.pop(agent.name, None) or self.steps.add(StepKind.MODEL, agent=agent.name)
        used = response.usage
        given, made = getattr(used, "input_tokens_details", None), getattr(used, "output_tokens_details", None)
        usage = usage_of(
            used.input_tokens,
            used.output_tokens,
            getattr(given, "cached_tokens", None),
            getattr(made, "reasoning_tokens", None),
        )
        called = [item for item in response.output if getattr(item, "type", None) == "function_call"]
        self.steps.end(draft, usage=usage, thought=_thought(response.output, with_text=bool(called)))
        for item in called:
            self.asked[item.call_id] = (item, draft)
        for item in response.output:
            kind = str(getattr(item, "type", ""))
            if kind.endswith("_call") and kind != "function_call":  # a tool that OpenAI runs, such as a search
                self.steps.add(StepKind.TOOL, agent=agent.name, tool=kind[: -len("_call")], tool_input=_plain(item))

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        identity = getattr(context, "tool_call_id", None) or id(tool)
        self.heard.add(str(identity))
        given = parsed(getattr(context, "tool_arguments", None))
        self.tools[identity] = self.steps.add(StepKind.TOOL, agent=agent.name, tool=tool.name, tool_input=given)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        draft = self.tools.pop(getattr(context, "tool_call_id", None) or id(tool), None)
        if draft is not None:
            self.steps.end(draft, **outcome(result))


def outcome(result: Any) -> dict[str, str | None]:
    """Return the fields `result` and `error` of a tool call."""
    text = as_text(result)
    failed = text.startswith(FAILED)
    return {"result": None if failed else text, "error": text if failed else None}


def note_unheard(steps: Steps, watch: Any, items: Any) -> None:
    """Note the calls that hooks do not tell: handoffs, calls that were refused, tools that do not exist.

    Args:
        steps: Where to note them.
        watch: What heard the others.
        items: The new items of the run.
    """
    kinds = ("handoff_output_item", "tool_call_output_item")
    for item in items:
        raw = item.raw_item
        identity = raw.get("call_id") if isinstance(raw, dict) else getattr(raw, "call_id", None)
        if item.type not in kinds or identity in watch.heard:
            continue
        call, before = watch.asked.get(str(identity), (None, None))
        call = call if call is not None else _asked_earlier(items, identity)
        if call is None:
            continue
        draft = steps.add(
            StepKind.TOOL, after=before, agent=_name(item), tool=call.name, tool_input=parsed(call.arguments)
        )
        said = raw.get("output") if isinstance(raw, dict) else item.output
        failed = item.type == "tool_call_output_item"
        steps.end(draft, result=None if failed else as_text(said), error=as_text(said) if failed else None)


def _asked_earlier(items: Any, identity: Any) -> Any:
    """Return the call of a run that was resumed, in which the model is not asked again."""
    found = (item.raw_item for item in items if item.type == "tool_call_item")
    return next((raw for raw in found if getattr(raw, "call_id", None) == identity), None)


def _name(item: Any) -> str | None:
    agent = getattr(item, "source_agent", None) or getattr(item, "agent", None)
    return getattr(agent, "name", None)


def _model(agent: Any) -> str | None:
    model = agent.model
    name = model if isinstance(model, str) else getattr(model, "model", None)
    return None if name is None else str(name)


def _thought(output: Any, *, with_text: bool) -> str | None:
    parts: list[str] = []
    for item in output:
        if item.type == "reasoning":
            parts += [part.text for part in (*(item.summary or ()), *(getattr(item, "content", None) or ()))]
        elif item.type == "message" and with_text:
            parts += [part.text for part in item.content if getattr(part, "text", None)]
    return "\n".join(parts) or None


def _plain(item: Any) -> Any:
    return item.model_dump(mode="json", exclude_none=True) if hasattr(item, "model_dump") else str(item)

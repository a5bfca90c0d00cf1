"""Notes model and tool calls of LangChain's runnables by its callbacks, which reach graphs inside of tools too."""

from __future__ import annotations

import importlib
from typing import Any

from .langchain_messages import message_text, thought_in
from .vocabulary import StepKind, Usage
from .wrapper import Steps, error_text, usage_of

_INTERRUPTS = ("GraphInterrupt", "NodeInterrupt", "GraphBubbleUp")


def watcher(steps: Steps, agent: Any) -> Any:
    """Return a handler of callbacks for one message, which notes in `steps`."""
    base = importlib.import_module("langchain_core.callbacks").AsyncCallbackHandler
    own = importlib.import_module("langchain_core.messages").ToolMessage
    return type("Watcher", (_Watcher, base), {"tool_message": own})(steps, getattr(agent, "name", None))


class _Watcher:
    """Turns callbacks into steps. The methods are those of LangChain's AsyncCallbackHandler."""

    run_inline = True
    tool_message: Any = None

    def __init__(self, steps: Steps, name: Any) -> None:
        self.steps = steps
        self.name = name if isinstance(name, str) and name != "LangGraph" else None
        self.parents: dict[Any, Any] = {}
        self.drafts: dict[Any, dict[str, Any]] = {}
        self.asked: dict[str, dict[str, Any]] = {}
        """The ids of tool calls that a model asked for, to its step."""
        self.heard: set[str] = set()
        """The ids of the tool calls that became steps."""

    async def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: Any, parent_run_id: Any = None, **_: Any
    ) -> None:
        self.parents[run_id] = parent_run_id

    async def on_chat_model_start(self, serialized: Any, messages: Any, **known: Any) -> None:
        self._begin(StepKind.MODEL, known)

    async def on_llm_start(self, serialized: Any, prompts: Any, **known: Any) -> None:
        self._begin(StepKind.MODEL, known)

    async def on_llm_end(self, response: Any, *, run_id: Any, **_: Any) -> None:
        generation = next((one for several in response.generations for one in several), None)
        message = getattr(generation, "message", None)
        fields: dict[str, Any] = {"usage": _usage(message, response)}
        said = getattr(message, "response_metadata", None) or {}
        if name := said.get("model_name") or said.get("model"):
            fields["model"] = str(name)
        thought = thought_in(message)
        if message is not None and getattr(message, "tool_calls", None):
            thought = "\n".join(part for part in (thought, message_text(message)) if part) or None
            self.asked.update({call["id"]: self.drafts[run_id] for call in message.tool_calls if run_id in self.drafts})
        self._end(run_id, thought=thought, **fields)

    async def on_llm_error(self, error: BaseException, *, run_id: Any, **_: Any) -> None:
        self._end(run_id, error=error_text(error))

    async def on_tool_start(self, serialized: Any, input_str: str, *, inputs: Any = None, **known: Any) -> None:
        name = (serialized or {}).get("name") or known.get("name")
        given = inputs if inputs is not None else input_str
        self._begin(StepKind.TOOL, known, tool=name, tool_input=given)

    async def on_tool_end(self, output: Any, *, run_id: Any, **_: Any) -> None:
        text = message_text(output)
        if isinstance(output, self.tool_message):
            self.heard.add(output.tool_call_id)
        failed = getattr(output, "status", None) == "error"
        self._end(run_id, result=None if failed else text, error=text if failed else None)

    async def on_tool_error(self, error: BaseException, *, run_id: Any, **known: Any) -> None:
        if type(error).__name__ in _INTERRUPTS and run_id in self.drafts:
            self.steps.drop(self.drafts.pop(run_id))  # it begins again when the user has answered
            return
        if known.get("tool_call_id"):
            self.heard.add(known["tool_call_id"])
        self._end(run_id, error=error_text(error))

    async def on_retriever_start(self, serialized: Any, query: str, **known: Any) -> None:
        name = (serialized or {}).get("name") or known.get("name") or "retriever"
        self._begin(StepKind.TOOL, known, tool=name, tool_input={"query": query})

    async def on_retriever_end(self, documents: Any, *, run_id: Any, **_: Any) -> None:
        self._end(run_id, result="\n\n".join(getattr(one, "page_content", str(one)) for one in documents))

    async def on_retriever_error(self, error: BaseException, *, run_id: Any, **_: Any) -> None:
        self._end(run_id, error=error_text(error))

    def _begin(self, kind: StepKind, known: dict[str, Any], **fields: Any) -> None:
        run, above = known["run_id"], known.get("parent_run_id")
        self.parents[run] = above
        metadata = known.get("metadata") or {}
        agent = metadata.get("lc_agent_name") or self.name
        self.drafts[run] = self.steps.add(kind, parent_id=self._step_above(above), agent=agent, **fields)

    def _end(self, run: Any, **fields: Any) -> None:
        if run in self.drafts:
            self.steps.end(self.drafts[run], **fields)

    def _step_above(self, run: Any) -> str | None:
        while run is not None:
            if run in self.drafts:
                return str(self.drafts[run]["id"])
            run = self.parents.get(run)
        return None


def note_unheard(steps: Steps, watch: Any, result: Any) -> None:
    """Note tool calls that were answered without calling a tool, such as those of a tool that does not exist.

    Args:
        steps: Where to note them.
        watch: What heard the others.
        result: The state at the end, with the messages of the whole conversation.
    """
    messages = list(result.get("messages") or ()) if isinstance(result, dict) else []
    last = max((place for place, one in enumerate(messages) if getattr(one, "type", None) == "human"), default=-1)
    asked: dict[str, Any] = {}
    for message in messages[last + 1 :]:
        asked.update({call["id"]: call for call in getattr(message, "tool_calls", None) or ()})
        call = asked.get(getattr(message, "tool_call_id", None) or "")
        if call is None or message.tool_call_id in watch.heard or getattr(message, "status", None) != "error":
            continue
        before = watch.asked.get(call["id"])
        agent = None if before is None else before["agent"]
        draft = steps.add(StepKind.TOOL, after=before, agent=agent, tool=call["name"], tool_input=call["args"])
        steps.end(draft, error=message_text(message))


def _usage(message: Any, response: Any) -> Usage:
    found = getattr(message, "usage_metadata", None)
    if not found:
        found = ((getattr(response, "llm_output", None) or {}).get("token_usage")) or {}
        return usage_of(found.get("prompt_tokens"), found.get("completion_tokens"))
    given, made = found.get("input_token_details") or {}, found.get("output_token_details") or {}
    return usage_of(
        found.get("input_tokens"),
        found.get("output_tokens"),
        given.get("cache_read"),
        made.get("reasoning"),
        given.get("cache_creation"),
    )

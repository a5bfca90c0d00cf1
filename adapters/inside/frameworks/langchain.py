"""Wraps LangGraph's graphs and LangChain's runnables (agents, chains, chat models).

A graph gets a thread of its own for each run. One without a checkpointer gets one in memory, as LangGraph's own server
gives it, so that it remembers the conversation and can be interrupted.
"""

from __future__ import annotations

import importlib
import typing
import uuid
from typing import Any

from ..rules import Setup
from .langchain_messages import answer_in, message_text
from .langchain_steps import note_unheard, watcher
from .wrapper import FrameworkAgent, as_text

WHAT_TO_DO = (
    "Give it an input that Viva knows (a state with `messages`, a single text field, or one called `input`) by putting "
    "a function before it: `RunnableLambda(lambda text: {'question': text, 'depth': 2}) | graph`"
)


class LangChainAgent(FrameworkAgent):
    """One conversation with a graph or a runnable."""

    @classmethod
    def check(cls, target: Any) -> None:
        """Check that the messages of a conversation have a place in its input.

        Raises:
            Setup: `needs`.
        """
        if _is_graph_builder(target):
            target = target.compile()
        input_form(target)

    def begin(self, target: Any) -> None:
        if _is_graph_builder(target):
            target = target.compile()
        self.form = input_form(target)
        self.is_graph = hasattr(target, "aget_state") and hasattr(target, "checkpointer")
        if self.is_graph and target.checkpointer is None:
            memory = importlib.import_module("langgraph.checkpoint.memory")
            target = target.copy({"checkpointer": memory.InMemorySaver()})
        self.agent = target
        self.thread = uuid.uuid4().hex
        self.history: list[Any] = []
        """The conversation, for a runnable that keeps none."""
        self.interrupted: list[Any] = []

    async def answer(self, message: str) -> str:
        watch = watcher(self.steps, self.agent)
        result = await self.agent.ainvoke(self._input(message), self._config(watch))
        self.interrupted = _interrupts(result)
        note_unheard(self.steps, watch, result)
        if self.interrupted:
            return "\n\n".join(_question(item.value) for item in self.interrupted)
        text = answer_in(result, self.form)
        if self.form == "history":
            self.history += [{"role": "user", "content": message}, {"role": "assistant", "content": text}]
        return text

    def _input(self, message: str) -> Any:
        if self.interrupted:
            command = importlib.import_module("langgraph.types").Command
            if len(self.interrupted) == 1:
                return command(resume=message)
            return command(resume={item.id: message for item in self.interrupted})
        said = {"role": "user", "content": message}
        if self.form == "text":
            return message
        if self.form == "history":
            return [*self.history, said]
        if self.form == "messages":
            return {"messages": [said] if self.is_graph else [*self.history, said]}
        return {self.form[1]: message}

    def _config(self, watch: Any) -> dict[str, Any]:
        own = {
            "thread_id": self.thread,
            "session_id": self.thread,
            "task_description": self.task_description,
            "app_dir": self.app_dir,
            "config_var": self.config_var,
            "workspace": None if self.workspace is None else str(self.workspace),
        }
        return {"configurable": own, "callbacks": [watch]}


def input_form(target: Any) -> str | tuple[str, str]:
    """Return how a message is given to a runnable.

    Returns:
        `text`, `history` (a list of messages), `messages` (a state with such a list), or `("key", NAME)`.

    Raises:
        Setup: `needs`: its input has no place for a message.
    """
    try:
        schema = target.get_input_jsonschema()
    except Exception:  # types that pydantic cannot describe, such as typing.TypedDict before Python 3.12
        schema = {"properties": _declared_fields(target)}
    if "$ref" in schema:
        schema = schema.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], schema)
    fields = schema.get("properties")
    if isinstance(fields, dict) and fields:
        return _form_of_fields(target, fields)
    kinds = {schema.get("type"), *(option.get("type") for option in schema.get("anyOf", ()))}
    return "history" if "array" in kinds else "text"


def _form_of_fields(target: Any, fields: dict[str, Any]) -> str | tuple[str, str]:
    if "messages" in fields:
        return "messages"
    if _begins_with_function(target):  # LangChain guesses the fields from the function's source text
        return "text"
    texts = [name for name, field in fields.items() if _may_be_text(field)]
    if "input" in texts:
        return "key", "input"
    if len(fields) == 1 and texts:
        return "key", texts[0]
    raise Setup(
        needs=f"its input has the fields {', '.join(fields)}, and none is known to take a message. {WHAT_TO_DO}"
    )


def _begins_with_function(target: Any) -> bool:
    while type(target).__name__ == "RunnableSequence":
        target = target.first
    return type(target).__name__ in ("RunnableLambda", "RunnableGenerator")


def _declared_fields(target: Any) -> dict[str, Any]:
    """Return the fields of a graph's input as its schema, in as far as their types can be read."""
    kind = getattr(getattr(target, "builder", None), "input_schema", None)
    try:
        hints = typing.get_type_hints(kind)
    except Exception:  # annotations that name what cannot be found
        hints = getattr(kind, "__annotations__", {})
    return {name: {"type": "string" if hint in (str, "str") else "object"} for name, hint in hints.items()}


def _may_be_text(field: dict[str, Any]) -> bool:
    kinds = [field.get("type"), *(option.get("type") for option in field.get("anyOf", ()))]
    return "string" in kinds or not any(kinds)


def _is_graph_builder(target: Any) -> bool:
    return hasattr(target, "compile") and not hasattr(target, "ainvoke")


def _interrupts(result: Any) -> list[Any]:
    return list(result.get("__interrupt__") or ()) if isinstance(result, dict) else []


def _question(value: Any) -> str:
    """Return what an interrupt asks the user."""
    if isinstance(value, dict):
        for key in ("question", "query", "message", "description"):
            if isinstance(value.get(key), str):
                return str(value[key])
    return message_text(value) if hasattr(value, "content") else as_text(value)

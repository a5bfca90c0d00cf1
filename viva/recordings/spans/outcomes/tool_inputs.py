"""Takes the model's arguments out of what frameworks put around them on the span of a tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viva.recordings.react import read_input
from viva.recordings.spans.messages import arguments

_BESIDE = frozenset(
    {"tags", "metadata", "config", "callbacks", "run_name", "run_id", "sanitize_inputs_outputs", "tool_call_id"}
)
"""What frameworks put beside a tool's arguments."""
_AROUND = ("inputs", "kwargs", "input_str", "args", "arguments", "tool_input", "input")
"""What they put around them: OpenLLMetry, LlamaIndex and smolagents, LangChain, its tool calls."""
_OF_A_CALL = frozenset({"name", "args", "id", "type"})


def unwrapped(given: Any) -> Any:
    """Return a tool's arguments without the wrappers of which no tool has parameters.

    These are LlamaIndex's `{"kwargs": {…}}`, smolagents' `{"args": […], "kwargs": {…}, "sanitize_inputs_outputs": …}`,
    the `{"inputs": {…}}` and `{"input_str": "…"}` of LangChain by OpenLLMetry, and LangChain's tool calls.
    """
    if not isinstance(given, Mapping):
        return given
    keys = set(given)
    if {"name", "args"} <= keys <= _OF_A_CALL and isinstance(given["args"], Mapping):
        return given["args"]
    rest = keys - _BESIDE
    if isinstance(inputs := given.get("inputs"), Mapping) and rest <= {"inputs", "kwargs", "input_str"}:
        return inputs
    if isinstance(text := given.get("input_str"), str) and rest <= {"inputs", "kwargs", "input_str"}:
        return read_input(text)
    if rest and rest <= {"args", "kwargs"}:
        return _of_python(given, keys)
    return given


def _of_python(given: Mapping[str, Any], keys: set[str]) -> Any:
    """Read the arguments of a Python function: those by name, or the one object that is all of them."""
    args, named = given.get("args"), given.get("kwargs")
    if not args and isinstance(named, Mapping) and ("args" in keys or keys == {"kwargs"} or keys & _BESIDE):
        return named
    if isinstance(args, list) and len(args) == 1 and not named and isinstance(args[0], Mapping):
        return args[0]
    return given


def as_asked(ran: Mapping[str, Any], asked: Any) -> Any:
    """Return what a tool was given: the model's arguments where the span holds these in a wrapper, else the span's."""
    if not isinstance(asked, Mapping) or not asked or ran == asked:
        return ran
    for key in _AROUND:
        if key in ran and key not in asked and _same(ran[key], asked):
            return asked
    return ran


def _same(inner: Any, asked: Mapping[str, Any]) -> bool:
    value = arguments(inner)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return bool((read_input(value) if isinstance(value, str) else value) == asked)

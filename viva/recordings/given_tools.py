"""Reads the definitions of tools that a user gives: Python functions, or a YAML file; and adds them to a transcript."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from viva.errors import SetupError
from viva.plugins.import_strings import PluginError, import_source, import_string, in_words
from viva.recordings.tool_definitions import definition, name_of, normal
from viva.records.transcript import Transcript
from viva.regular_files import read_text

_JSON_TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    tuple: "array",
    dict: "object",
}
_ARGUMENT_LINE = re.compile(r"^\s*(?:(?::param\s+(?:\w+\s+)?)|-\s+)?(\w+)\s*(?:\([^)]*\))?\s*:\s+(.+)$")


def of_function(function: Callable[..., Any]) -> dict[str, Any]:
    """Define a tool by a Python function: its signature gives the parameters, its docstring the descriptions."""
    words = inspect.getdoc(function) or ""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return definition(function.__name__, words)
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # a hint may name what is not imported
        hints = {}
    lines = (_ARGUMENT_LINE.match(line) for line in words.splitlines())
    about = {found[1]: found[2] for found in lines if found is not None}
    properties: dict[str, Any] = {}
    required: list[str] = []
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD or name in ("self", "cls"):
            schema["additionalProperties"] = True
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue
        properties[name] = _schema_of(hints.get(name))
        if name in about:
            properties[name]["description"] = about[name].strip()
        if parameter.default is parameter.empty:
            required.append(name)
        elif parameter.default is None or isinstance(parameter.default, str | int | float | bool):
            properties[name]["default"] = parameter.default
    if required:
        schema["required"] = required
    schema.setdefault("additionalProperties", False)
    return definition(function.__name__, words, schema)


def _schema_of(hint: Any) -> dict[str, Any]:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _schema_of(inner[0])
    if origin in (typing.Union, types.UnionType):
        parts = [{"type": "null"} if part is type(None) else _schema_of(part) for part in inner]
        return {"anyOf": parts} if all(parts) else {}
    if origin is typing.Literal:
        return {"enum": list(inner)}
    kind = _JSON_TYPES.get(origin or hint)
    if kind is None:
        return {}
    if kind == "array" and inner and (items := _schema_of(inner[0])):
        return {"type": kind, "items": items}
    return {"type": kind}


def load_tools(source: str) -> tuple[Mapping[str, Any], ...]:
    """Read the definitions that a user names.

    Args:
        source: A YAML or JSON file, whose content is a list of definitions, or a mapping from a tool's name to its
            description or to `description`, `parameters` and `extra` (words that are added to what the recording says);
            or a Python file or module (`tools.py`, `package.tools`), all of whose public functions count, or one of
            its members (`tools.py:TOOLS`), a function or a list of functions.

    Raises:
        SetupError: it cannot be read, or defines no tool.
    """
    path = source.rpartition(":")[0] if source.rpartition(":")[0].endswith(".py") else source
    suffix = Path(path).suffix.lower()
    tools = _from_yaml(source) if suffix in (".yaml", ".yml", ".json") else _from_python(source)
    if not tools:
        raise SetupError(f"--tools {source}: it defines no tool.")
    return tuple(tools)


def _from_yaml(source: str) -> list[dict[str, Any]]:
    text = read_text(Path(source), "--tools: the file")
    try:
        given = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SetupError(f"--tools {source}: not valid YAML: {' '.join(str(error).split())}") from error
    if isinstance(given, Mapping) and isinstance(given.get("tools"), list | Mapping):
        given = given["tools"]
    if isinstance(given, list):
        tools = [(place, normal(tool)) for place, tool in enumerate(given, 1)]
        bad = next((place for place, tool in tools if tool is None), None)
        if bad is not None:
            raise SetupError(f"--tools {source}: tool {bad} has no name.")
        return [tool for _, tool in tools if tool is not None]
    if not isinstance(given, Mapping):
        raise SetupError(f"--tools {source}: it must hold a list of tools, or a mapping from names to descriptions.")
    return [_named(source, str(name), about) for name, about in given.items()]


def _named(source: str, name: str, about: Any) -> dict[str, Any]:
    if about is None or isinstance(about, str):
        return definition(name, about)
    if not isinstance(about, Mapping):
        raise SetupError(f"--tools {source}: the tool {name!r} has no description; it must be text or a mapping.")
    if unknown := sorted(str(key) for key in about if key not in ("description", "parameters", "extra")):
        raise SetupError(f"--tools {source}: the tool {name!r} has unknown keys: {', '.join(unknown)}.")
    tool = definition(name, about.get("description"), about.get("parameters"))
    if isinstance(about.get("extra"), str):
        tool["function"]["extra"] = about["extra"]
    return tool


def _from_python(source: str) -> list[dict[str, Any]]:
    try:
        if ":" in source:
            thing = import_string(source)
            functions = list(thing) if isinstance(thing, list | tuple) else [thing]
        else:
            module = import_source(source)
            public = (value for name, value in vars(module).items() if not name.startswith("_"))
            functions = [value for value in public if inspect.isfunction(value) and value.__module__ == module.__name__]
    except PluginError as error:
        raise SetupError(f"--tools {source}: {error}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise SetupError(f"--tools {source}: it cannot be imported: {in_words(error)}") from error
    wrong = next((value for value in functions if not callable(value) or not hasattr(value, "__name__")), None)
    if wrong is not None:
        raise SetupError(f"--tools {source}: {type(wrong).__name__} is not a function.")
    return [of_function(function) for function in functions]


def with_tools(transcript: Transcript, given: Sequence[Mapping[str, Any]]) -> Transcript:
    """Add a user's definitions to those of a recording.

    A user's description or parameters replace the recorded ones of the tool; `extra` words are added to them.
    """
    if not given:
        return transcript
    tools = {name_of(tool) or str(place): dict(tool) for place, tool in enumerate(transcript.tools)}
    for tool in given:
        name = name_of(tool)
        assert name is not None, "load_tools gives no tool without a name"
        known = tools.get(name, {})
        inner = known.get("function")
        function = {**(inner if isinstance(inner, Mapping) else known), **tool["function"]}
        extra = function.pop("extra", None)
        if extra:
            function["description"] = " ".join(part for part in (function.get("description"), extra) if part)
        function.pop("type", None)
        tools[name] = {"type": "function", "function": function}
    return replace(transcript, tools=tuple(tools.values()))

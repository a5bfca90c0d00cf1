"""Finds the definitions of an agent's tools in spans; those that a user gives are read in `given_tools`.

A definition is what the chat format holds: `{"type": "function", "function": {"name", "description", "parameters"}}`,
parameters as JSON Schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from viva.recordings.spans.messages import indexed
from viva.recordings.spans.model_calls import ModelCall
from viva.recordings.spans.span import Span, SpanKind
from viva.recordings.spans.values import loaded

# How LlamaIndex lists tools in the system text of a ReAct agent.
_LISTED = re.compile(
    r"^>\s*Tool Name: (?P<name>[^\n]+)\nTool Description: (?P<description>.*?)\n"
    r"Tool Args: (?P<parameters>\{.*?\})[^\S\n]*$",
    re.MULTILINE | re.DOTALL,
)


def definition(name: str, description: str | None = None, parameters: Any = None) -> dict[str, Any]:
    """Write a definition in the chat format."""
    function: dict[str, Any] = {"name": name}
    if description:
        function["description"] = description
    if isinstance(parameters, Mapping):
        function["parameters"] = dict(parameters)
    return {"type": "function", "function": function}


def name_of(tool: Mapping[str, Any]) -> str | None:
    """Return the name of a definition, in any of its shapes; None if it has none."""
    function = tool.get("function")
    name = (function if isinstance(function, Mapping) else tool).get("name")
    return name if isinstance(name, str) and name else None


def normal(given: Any) -> dict[str, Any] | None:
    """Convert OpenAI's flat form, Anthropic's (`input_schema`) or MCP's (`inputSchema`) to the chat format."""
    value = loaded(given)
    if not isinstance(value, Mapping) or (name := name_of(value)) is None:
        return None
    if isinstance(value.get("function"), Mapping):
        return dict(value)
    schemas = (value.get(key) for key in ("parameters", "input_schema", "inputSchema", "parameters_json_schema"))
    description = value.get("description")
    schema = next((schema for schema in schemas if isinstance(schema, Mapping)), None)
    return definition(name, description if isinstance(description, str) else None, schema)


def listed_tools(spans: Sequence[Span], calls: Sequence[ModelCall]) -> dict[str, dict[str, Any]]:
    """Collect the definitions that the models and agents of a run were given, which are all tools that there are.

    The first definition of a name counts, except that one with parameters replaces one without.
    """
    found: dict[str, dict[str, Any]] = {}
    seen: set[str] = set()
    for call in calls:
        for span in (call.span, *call.others):
            for given in _of_model(span, seen):
                _add(found, given)
        if call.system and call.system not in seen:
            seen.add(call.system)
            for listed in _LISTED.finditer(call.system):
                about = listed["description"].strip()
                _add(found, definition(listed["name"].strip(), about, loaded(listed["parameters"])))
    for span in spans:
        if span.kind is SpanKind.AGENT:
            _add_all(found, loaded(span.attributes.get("gen_ai.tool.definitions")))
    return found


def with_tools_that_ran(listed: Mapping[str, dict[str, Any]], spans: Sequence[Span]) -> tuple[Mapping[str, Any], ...]:
    """Add the definitions on the spans of a run's tools to those that its models were given."""
    found = dict(listed)
    for span in spans:
        if span.kind is SpanKind.TOOL:
            _add(found, _of_tool(span))
    return tuple(found.values())


def _add(found: dict[str, dict[str, Any]], tool: dict[str, Any] | None) -> None:
    name = None if tool is None else name_of(tool)
    if tool is None or name is None:
        return
    known = found.get(name)
    if known is None or ("parameters" not in known["function"] and "parameters" in tool["function"]):
        found[name] = tool


def _add_all(found: dict[str, dict[str, Any]], tools: Any) -> None:
    for tool in tools if isinstance(tools, list) else ():
        _add(found, normal(tool))


def _of_model(span: Span, seen: set[str]) -> Iterable[dict[str, Any] | None]:
    """Read the definitions on one model call; text that was read before is not read again."""
    attributes = span.attributes
    texts = [attributes.get("gen_ai.tool.definitions"), attributes.get("gen_ai.request.tools")]
    parameters = loaded(attributes.get("llm.invocation_parameters"))
    texts.append(parameters.get("tools") if isinstance(parameters, Mapping) else None)
    elements = [
        element.get("tool.json_schema", _nested(element, "tool.json_schema"))
        for element in indexed(attributes, "llm.tools")
    ]
    older = indexed(attributes, "llm.request.functions")
    for given in (*texts, *elements, *older):
        if given is None or (isinstance(given, str) and given in seen):
            continue
        if isinstance(given, str):
            seen.add(given)
        value = loaded(given)
        yield from (normal(tool) for tool in value) if isinstance(value, list) else (normal(value),)


def _of_tool(span: Span) -> dict[str, Any] | None:
    attributes = span.attributes
    name = attributes.get("gen_ai.tool.name", attributes.get("tool.name"))
    description = attributes.get("gen_ai.tool.description", attributes.get("tool.description"))
    parameters = loaded(attributes.get("tool.json_schema", attributes.get("tool.parameters")))
    if parameters is None:
        parameters = _nested(attributes, "tool.parameters")
    if not isinstance(name, str) or not name:
        return None
    return definition(name, description if isinstance(description, str) else None, parameters)


def _nested(attributes: Mapping[str, Any], prefix: str) -> dict[str, Any] | None:
    """Rebuild a schema that a server flattened: `PREFIX.properties.city.type` and so on."""
    start = f"{prefix}."
    whole: dict[str, Any] = {}
    for key in [key for key in attributes if key.startswith(start)]:
        at = whole
        *path, last = key[len(start) :].split(".")
        for part in path:
            inner = at.setdefault(part, {})
            if not isinstance(inner, dict):
                inner = at[part] = {"": inner}
            at = inner
        at[last] = attributes[key]
    return whole or None

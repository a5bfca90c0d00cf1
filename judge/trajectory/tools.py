"""Tool definitions in the shapes in which sources give them: their names, descriptions and parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from judge.view import to_text

MOST_SHOWN = 60_000
"""Characters of all definitions in a judge's prompt."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool that an agent could call."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    """JSON Schema of its arguments; None where the source has none."""


def tool_definitions(given: Iterable[Mapping[str, Any]]) -> dict[str, ToolDefinition]:
    """Return the definitions by name; of two with one name, the last counts.

    Read are the shapes of OpenAI (`{"type": "function", "function": {…}}`, or flat), Anthropic and MCP (`input_schema`,
    `inputSchema`) and of JSON Schema beside a name (`parameters`, `args_schema`). What has no name is left out.
    """
    found: dict[str, ToolDefinition] = {}
    for each in given:
        inner = each.get("function")
        body = inner if isinstance(inner, Mapping) else each
        name = body.get("name")
        if not isinstance(name, str) or not name:
            continue
        description = body.get("description")
        schema = next((body[key] for key in _SCHEMAS if isinstance(body.get(key), Mapping)), None)
        found[name] = ToolDefinition(name, description if isinstance(description, str) else "", schema)
    return found


_SCHEMAS = ("parameters", "input_schema", "inputSchema", "args_schema", "json_schema")


def definitions_text(tools: Mapping[str, ToolDefinition]) -> str:
    """Write definitions for a judge, one a line; the parameters of all are left out where that would be too long."""
    for with_parameters in (True, False):
        lines = [_line(tool, with_parameters=with_parameters) for tool in tools.values()]
        if sum(map(len, lines)) <= MOST_SHOWN:
            break
    return "\n".join(lines)[:MOST_SHOWN]


def _line(tool: ToolDefinition, *, with_parameters: bool) -> str:
    parameters = f" Parameters: {to_text(tool.parameters)}" if with_parameters and tool.parameters is not None else ""
    return f"{tool.name}: {tool.description.strip() or '(no description)'}{parameters}"

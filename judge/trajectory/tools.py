"""Tool definitions as judges need them: names, descriptions and parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from viva.judge.steps import to_text
from viva.recordings.tool_definitions import normal
from viva.records.text import one_line

MOST_SHOWN = 60_000
"""Characters of all definitions in a judge's prompt."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool that an agent could call."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    """JSON Schema of its arguments; None if the source has none."""


def tool_definitions(given: Iterable[Mapping[str, Any]]) -> dict[str, ToolDefinition]:
    """Return the definitions by name; of two with one name, the last counts. What has no name is left out.

    `viva.recordings.tool_definitions.normal` says which shapes are read.
    """
    found: dict[str, ToolDefinition] = {}
    for each in given:
        body = (normal(each) or {}).get("function", {})
        name, description, schema = (body.get(key) for key in ("name", "description", "parameters"))
        if isinstance(name, str) and name:
            words = description if isinstance(description, str) else ""
            found[name] = ToolDefinition(name, words, schema if isinstance(schema, Mapping) else None)
    return found


def definitions_text(tools: Mapping[str, ToolDefinition]) -> str:
    """Write definitions for a judge, one a line; the parameters of all are left out if that would be too long."""
    for with_parameters in (True, False):
        lines = [_line(tool, with_parameters=with_parameters) for tool in tools.values()]
        if sum(map(len, lines)) <= MOST_SHOWN:
            break
    return "\n".join(lines)[:MOST_SHOWN]


def _line(tool: ToolDefinition, *, with_parameters: bool) -> str:
    parameters = f" Parameters: {to_text(tool.parameters)}" if with_parameters and tool.parameters is not None else ""
    # On one line each: a description must not look like another tool.
    return one_line(f"{tool.name}: {tool.description.strip() or '(no description)'}{parameters}")

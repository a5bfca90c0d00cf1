"""Trajectories for tests, written as a reader would make them."""

from __future__ import annotations

from typing import Any

from viva.records.transcript import Round, Step, StepKind, Transcript

LIST = {
    "type": "function",
    "function": {
        "name": "list_my_repos",
        "description": "Lists the user's repositories.",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
    },
}
ISSUES = {
    "name": "list_issues",
    "description": "Lists the issues of a repository.",
    "input_schema": {
        "type": "object",
        "properties": {"repo": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
        "required": ["repo"],
        "additionalProperties": False,
    },
}


def call(number: int, tool: str | None, given: Any = None, result: str | None = "ok", **more: Any) -> Step:
    """One step, whose id is `s` and its number."""
    return Step(f"s{number}", StepKind.TOOL, tool=tool, tool_input=given, result=result, **more)


def transcript(*steps: Step, query: str | None = "Which issues are open?", **more: Any) -> Transcript:
    """A recording of one round with these steps."""
    rounds = (Round(1, query, "There are two open issues.", steps),)
    return Transcript(rounds, source="test", **{"tools": (LIST, ISSUES), **more})


REACT = transcript(
    call(
        1,
        "list_my_repos",
        {},
        '[{"name": "project-alpha"}]',
        thought="I need to check if the user has any existing repositories first",
    ),
    call(
        2,
        "list_issues",
        {"repo": "project-alpha"},
        '["#1", "#2"]',
        thought="Now I'll check for open issues in the project-alpha repository",
    ),
)

"""How evaluators are written: a name, a name with its first argument, or a name with named arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from viva.interchange.source import Source

OURS = "pydantic_evals"
"""Key in the metadata of cases and points under which is kept what only pydantic-evals needs."""
FIRST = {
    "ArgumentCorrectness": "tool_name",
    "Contains": "value",
    "Equals": "value",
    "EqualsExpected": "evaluation_name",
    "GEval": "criteria",
    "HasMatchingSpan": "query",
    "IsInstance": "type_name",
    "LLMJudge": "rubric",
    "MaxDuration": "seconds",
    "MaxModelRequests": "max_requests",
    "MaxToolCalls": "max_calls",
    "ToolCorrectness": "expected_tools",
    "TrajectoryMatch": "expected_trajectory",
}
"""The evaluators of pydantic-evals, and the names of their first arguments."""


@dataclass(slots=True)
class GivenEvaluator:
    """One evaluator of a dataset."""

    name: str
    source: Source
    arguments: dict[str, Source] = field(default_factory=dict)

    def take(self, name: str) -> Any:
        """Return an argument that goes into a case, and remove it; None if it was not given."""
        given = self.arguments.pop(name, None)
        return None if given is None else given.take()

    def peek(self, name: str) -> Any:
        """Return an argument without accounting for it."""
        given = self.arguments.get(name)
        return None if given is None else given.peek()


def read_evaluator(source: Source) -> GivenEvaluator | None:
    """Return an evaluator; None if the value is none."""
    if source.is_text:
        return GivenEvaluator(str(source.peek()), source)
    named = list(source.items())
    if len(named) != 1:
        return None
    name, value = named[0]
    given = dict(value.items())
    # A mapping is the named arguments, unless none of its keys is one: then it is the first argument.
    if not value.is_mapping or (name in ("Equals", "Contains", "HasMatchingSpan") and FIRST[name] not in given):
        return GivenEvaluator(name, source, {FIRST.get(name, "value"): value})
    return GivenEvaluator(name, source, given)


def written(name: str, arguments: Mapping[str, Any]) -> Any:
    """Return an evaluator in the shortest form in which it can be read."""
    if not arguments:
        return name
    first = FIRST.get(name)
    if first is not None and list(arguments) == [first] and not isinstance(arguments[first], dict):
        return {name: arguments[first]}
    return {name: dict(arguments)}

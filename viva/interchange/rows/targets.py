"""Where the parts of a case stand in the rows of each platform: what `shapes` reads, in the other direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from viva.errors import SetupError
from viva.interchange.rows.shapes import check_parts


@dataclass(frozen=True, slots=True)
class RowTarget:
    """The rows of one platform."""

    name: str
    words: str
    paths: Mapping[str, str]
    """Dotted paths of the parts that its rows have."""
    inside: Mapping[str, str] = field(default_factory=dict)
    """Keys for parts that are mappings in its rows: a message and an answer alone stand there."""
    tags: Literal["list", "text", "mapping"] = "list"
    """How tags are written: a list, text if there is one alone, or a mapping of those that have a colon."""

    def mapped(self, mapping: Mapping[str, str]) -> RowTarget:
        """Return the target with places that the user names.

        Raises:
            SetupError: a part is unknown.
        """
        check_parts(mapping)
        inside = {part: key for part, key in self.inside.items() if part not in mapping}
        return RowTarget(self.name, self.words, {**self.paths, **mapping}, inside, self.tags)


_PLAIN = {"name": "id", "input": "input", "expected": "expected", "metadata": "metadata", "tags": "tags"}
TARGETS = (
    RowTarget("rows", "Rows in JSON Lines, or in CSV: id, input, expected, metadata, tags.", _PLAIN),
    RowTarget(
        "langsmith",
        "Examples of LangSmith in JSON Lines.",
        {"name": "id", "input": "inputs", "expected": "outputs", "metadata": "metadata", "tags": "split"},
        {"input": "question", "expected": "answer"},
        tags="text",
    ),
    RowTarget(
        "langfuse",
        "Dataset items of Langfuse in JSON Lines.",
        {"name": "id", "input": "input", "expected": "expectedOutput", "metadata": "metadata"},
    ),
    RowTarget(
        "mlflow",
        "Records of an MLflow evaluation dataset in JSON Lines.",
        {
            "input": "inputs",
            "task": "inputs.goal",
            "guidance": "inputs.simulation_guidelines",
            "persona": "inputs.persona",
            "context": "inputs.context",
            "expected": "expectations",
            "tags": "tags",
        },
        {"input": "question", "expected": "expected_response"},
        tags="mapping",
    ),
    RowTarget("braintrust", "Rows of a Braintrust dataset in JSON Lines.", _PLAIN),
    RowTarget(
        "datadog",
        "Records of a Datadog dataset in JSON Lines.",
        {**_PLAIN, "input": "input_data", "expected": "expected_output"},
        {"input": "question"},
    ),
)


def target_named(name: str) -> RowTarget | None:
    """Return the target of this name; None if there is none."""
    return next((each for each in TARGETS if each.name == name), None)


def put(row: dict[str, Any], path: str, value: Any) -> None:
    """Put a value at a dotted path of a row. Mappings that meet at one place are merged.

    Raises:
        SetupError: something else stands on the way.
    """
    *above, last = path.split(".")
    node = row
    for step in above:
        below = node.setdefault(step, {})
        if not isinstance(below, dict):
            raise SetupError(f"--map …={path}: {step!r} holds a value of another part already.")
        node = below
    before = node.get(last)
    node[last] = {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value

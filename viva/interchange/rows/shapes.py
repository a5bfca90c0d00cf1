"""Where the parts of a case are in a row: as the user says, or in the shape of a known platform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

from viva.cases.plain_fields import nearest
from viva.errors import SetupError
from viva.interchange.source import Source

Part = Literal["name", "input", "task", "guidance", "context", "expected", "metadata", "tags", "persona", "background"]
PARTS: tuple[Part, ...] = get_args(Part)
LOOKED_AT = 20
"""Rows that are looked at to find a shape."""
WRAPPERS = ("rows", "data", "examples", "records", "items", "dataset", "cases", "test_cases")
"""Keys under which an export holds its rows."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The paths of one platform's rows."""

    platform: str
    has: tuple[str, ...]
    """Paths that a row of this shape has."""
    paths: Mapping[str, str]


SHAPES = (
    Shape(
        "MLflow",
        ("inputs.goal",),
        {
            "input": "inputs",
            "task": "inputs.goal",
            "guidance": "inputs.simulation_guidelines",
            "persona": "inputs.persona",
            "context": "inputs.context",
            "expected": "expectations",
            "tags": "tags",
        },
    ),
    Shape("MLflow", ("inputs", "expectations"), {"input": "inputs", "expected": "expectations", "tags": "tags"}),
    Shape(
        "LangSmith",
        ("inputs", "outputs"),
        {"name": "id", "input": "inputs", "expected": "outputs", "metadata": "metadata", "tags": "split"},
    ),
    Shape("LangSmith", ("inputs",), {"name": "id", "input": "inputs", "metadata": "metadata", "tags": "split"}),
    Shape(
        "Langfuse",
        ("input", "expectedOutput"),
        {"name": "id", "input": "input", "expected": "expectedOutput", "metadata": "metadata"},
    ),
    Shape(
        "Datadog",
        ("input_data", "expected_output"),
        {
            "name": "id",
            "input": "input_data",
            "expected": "expected_output",
            "metadata": "metadata",
            "tags": "tags",
        },
    ),
    Shape(
        "rows",
        ("input", "expected_output"),
        {"name": "id", "input": "input", "expected": "expected_output", "metadata": "metadata", "tags": "tags"},
    ),
    Shape(
        "Braintrust",
        ("input",),
        {"name": "id", "input": "input", "expected": "expected", "metadata": "metadata", "tags": "tags"},
    ),
    Shape("rows", ("question", "answer"), {"name": "id", "input": "question", "expected": "answer"}),
    Shape("rows", ("prompt",), {"name": "id", "input": "prompt", "expected": "completion", "metadata": "metadata"}),
    Shape("rows", ("question",), {"name": "id", "input": "question", "expected": "expected", "metadata": "metadata"}),
)


def rows_of(tree: Source) -> list[Source]:
    """Return the rows of a document: a list of mappings, or one under a usual key; nothing if it has none."""
    if not tree.is_list:
        tree = next((found for key in WRAPPERS if (found := tree.get(key)) is not None and found.is_list), tree)
    return [row for row in tree.elements() if row.is_mapping]


def shape_of(rows: list[Source]) -> Shape | None:
    """Return the shape that the first rows have; a row may lack what it need not have."""
    for shape in SHAPES:
        first = list(islice(rows, LOOKED_AT))
        if first and all(any(row.find(path) is not None for row in first) for path in shape.has):
            return shape
    return None


def check_parts(mapping: Mapping[str, str]) -> None:
    """Check the parts of a case that a user names.

    Raises:
        SetupError: one is unknown.
    """
    for part in mapping:
        if part not in PARTS:
            raise SetupError(f"--map {part}=… is unknown; {nearest(part, PARTS)}")


def chosen_paths(rows: list[Source], mapping: Mapping[str, str]) -> Mapping[str, str]:
    """Return where the parts of a case are; what the user says comes before the shape.

    Raises:
        SetupError: a part is unknown, no row has a path, or nothing says what the agent is asked.
    """
    check_parts(mapping)
    for part, path in mapping.items():
        if not any(row.find(path) is not None for row in rows):
            columns = ", ".join(dict.fromkeys(key for row in rows[:LOOKED_AT] for key, _ in row.items()))
            raise SetupError(f"no row has {path!r} (--map {part}={path}); the rows have {columns[:400]}.")
    shape = shape_of(rows)
    paths: dict[str, str] = {**(shape.paths if shape else {})} | {**mapping}
    if "input" in mapping:
        paths.pop("task", None) if "task" not in mapping else None
    if not {"input", "task"} & paths.keys():
        columns = ", ".join(dict.fromkeys(key for row in rows[:LOOKED_AT] for key, _ in row.items()))
        raise SetupError(
            "nothing says what the agent is asked: add --map input=PATH (and --map expected=PATH); "
            f"the rows have {columns[:400]}."
        )
    return paths

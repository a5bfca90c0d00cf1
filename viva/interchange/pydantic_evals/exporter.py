"""Writes cases as a dataset of pydantic-evals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from viva.interchange.pydantic_evals.checks import evaluators_of
from viva.interchange.pydantic_evals.specs import OURS, written
from viva.interchange.source import Source

WITHOUT = "a case of pydantic-evals has inputs, an expected output, metadata and evaluators"


def export(cases: Sequence[tuple[str, Source]]) -> dict[str, Any]:
    """Return the document of a dataset.

    Args:
        cases: Names and trees.
    """
    common: list[Any] = []
    made = [_case(name, case, common) for name, case in cases]
    names = {name for _, name in made if name}
    document: dict[str, Any] = {"name": names.pop()} if len(names) == 1 else {}
    document["cases"] = [case for case, _ in made]
    if common:
        document["evaluators"] = common
    return document


def _case(name: str, tree: Source, common: list[Any]) -> tuple[dict[str, Any], str]:
    kept = tree.get("metadata")
    ours: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    for key, value in kept.items() if kept is not None else ():
        if key == OURS and value.is_mapping:
            ours = value.express("fields of the dataset")
        else:
            metadata[key] = value.take()
    case: dict[str, Any] = {}
    if "name" in ours or OURS not in (kept.peek() if kept is not None else {}):
        case["name"] = ours.get("name", name)
    case["inputs"] = _inputs(tree, ours)
    given = ours.get("metadata", metadata)
    if given:
        case["metadata"] = given
    if "expected_output" in ours:
        case["expected_output"] = ours["expected_output"]
    own: list[Any] = []
    for point in (tree.get("scoring_points") or tree).elements():
        for evaluator, arguments, of_all in evaluators_of(point):
            spec = written(evaluator, arguments)
            target = common if of_all else own
            if not of_all or spec not in target:
                target.append(spec)
    if own:
        case["evaluators"] = own
    return case, str(ours.get("dataset", ""))


def _inputs(tree: Source, ours: dict[str, Any]) -> Any:
    script, opening, task = tree.get("script"), tree.get("opening"), tree.get("task_description")
    said = [line for line in (script.peek() if script is not None else []) if isinstance(line, str)]
    if script is not None and task is not None and said and said[0] in str(task.peek()):
        task.express("inputs")
    if "max_rounds" in tree.peek() and tree.peek()["max_rounds"] == max(1, len(said)):
        rounds = tree.get("max_rounds")
        assert rounds is not None
        rounds.express("inputs")
    background = tree.get("background")
    if background is not None and "expected_output" in ours:
        background.express("expected_output")
    if script is not None and len(said) == len(script.peek()) and said:
        script.express("inputs")
        if "inputs" in ours and said == [json.dumps(ours["inputs"], ensure_ascii=False)]:
            return ours["inputs"]
        return said[0] if len(said) == 1 else said
    for source in (opening, task):
        if source is not None:
            return source.take()
    return ""

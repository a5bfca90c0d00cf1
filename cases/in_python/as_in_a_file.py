"""Writes a Case in the form of a case file, for the reader that checks those of files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from viva.cases.case import READER, Case, ScoringPoint, ScriptLine
from viva.cases.person import UserFact
from viva.cases.points.as_in_a_file import point_as_in_a_file, points_as_in_a_file


def as_in_a_file(case: Case) -> dict[Any, Any]:
    """Return the fields that a case has, as a case file would state them; short forms stay as they are.

    Raises:
        CaseError: a point is in a group that the case does not have, or in another place than the group.
    """
    told = [field for field in fields(Case) if READER in field.metadata and not _is_default(case, field)]
    data = {field.name: _plain(getattr(case, field.name)) for field in told}
    points = case.scoring_points
    return {**data, "scoring_points": points_as_in_a_file(case) if has_whole_points(case) else _plain(points)}


def has_whole_points(case: Case) -> bool:
    """Return whether all scoring points are objects, none of them in a short form."""
    points: Any = case.scoring_points
    return isinstance(points, list | tuple) and all(isinstance(point, ScoringPoint) for point in points)


def _is_default(case: Case, field: Field[Any]) -> bool:
    value = getattr(case, field.name)
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    # Compared by type, too: an empty list is a mistake where an empty tuple stands for nothing.
    return type(value) is type(default) and bool(value == default)


def _plain(value: Any) -> Any:
    """Return a value as YAML would give it."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, ScoringPoint):
        return point_as_in_a_file(value, named=True)
    if isinstance(value, ScriptLine):
        return _script_line(value)
    if isinstance(value, UserFact):
        return {"says": value.says, "when": {"step": value.step} if value.when == "step" else value.when}
    if is_dataclass(value) and not isinstance(value, type):
        told = ((field.name, getattr(value, field.name)) for field in fields(value))
        return {name: _plain(each) for name, each in told if each is not None}
    return value


def _script_line(line: ScriptLine) -> dict[str, object]:
    data: dict[str, object] = {"say": line.say}
    if line.first is not None:
        data["for"] = f"{line.counter} in {line.first}..{line.last}"
    if line.if_agent_says is not None:
        data["if_agent_says"] = line.if_agent_says
    return data

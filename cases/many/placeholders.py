"""Puts the columns of a row into a case: `{{ column }}` in a text becomes the value, and no code runs.

A text that is nothing but a placeholder becomes the value as it is: a number, a list, a mapping. Inside other text, a
value is written as text. In `eval_code`, a placeholder becomes a Python literal, so that no row can change the code.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from viva.cases.text import describe

CODE = "eval_code"
FIXED = ("version", "app_dir", "dependencies", "pre_command", "verbose", "mcp", "check_limits")
"""The keys of a case that no row can set: they say what runs on this machine, and where."""
_PLACEHOLDER = re.compile(r"\{\{[ \t]*([^{}\n]{1,200}?)[ \t]*\}\}")
_STAND_IN = "viva_column_value"
_WHOLE_POINT = "the whole point"
"""Stands for a point that is nothing but a placeholder, until it is known whether its value is a statement."""
_NUMBERS = (
    "weight", "threshold", "max_rounds", "timeout", "round", "number", "tolerance", "percent", "min", "max", "words",
    "steps", "step", "times", "patience", "at_least", "distance_at_most",
    "rounds_at_most", "seconds_at_most", "cost_at_most",
)  # fmt: skip
"""The keys of a case and of its checks whose value, if it is no mapping, is a number."""
_TEXTS = (
    "task_description", "script", "say", "if_agent_says", "opening", "background", "insist", "tags", "score_point",
    "contains", "not_contains", "starts_with", "ends_with", "regex", "pattern", "similar", "to", "text",
)  # fmt: skip
"""The keys of a case and of its checks whose value, if it is no mapping, is a text or a list of texts."""
_OF_DATA = ("metadata", "config_var", "state", "arguments", "schema")
"""The keys of mappings whose own keys mean nothing to Viva."""
_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d{0,30})(?P<rest>(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?)")

Path = tuple[str | int, ...]


class RowMistake(ValueError):
    """A value of a row does not fit where it is to stand. `path` says where."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


def names_in(value: Any, path: Path = ()) -> Iterator[tuple[str, Path]]:
    """Yield each column that plain data names, and where."""
    if isinstance(value, str):
        for match in _PLACEHOLDER.finditer(value):
            yield match[1], path
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from names_in(each, (*path, str(key)))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from names_in(each, (*path, index))


def key_mistakes(value: Any, path: Path = ()) -> Iterator[tuple[str, Path]]:
    """Yield the keys that hold a placeholder, which would stay as it is."""
    if isinstance(value, dict):
        for key, each in value.items():
            if isinstance(key, str) and (found := _PLACEHOLDER.search(key)) is not None:
                words = f"{found[0]} is in a key, and only values are replaced; a column may hold the whole mapping"
                yield words, (*path, key)
            yield from key_mistakes(each, (*path, str(key)))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from key_mistakes(each, (*path, index))


def code_mistakes(data: Mapping[Any, Any]) -> Iterator[tuple[str, Path]]:
    """Yield what is wrong with the placeholders of checks: one in quotes would not be replaced by a value."""
    for code, path in _codes(data.get("scoring_points"), ("scoring_points",)):
        names = _PLACEHOLDER.findall(code)
        try:
            tree = ast.parse(_PLACEHOLDER.sub(_STAND_IN, code))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # the reader of scoring points says what is wrong
        used = sum(isinstance(node, ast.Name) and node.id == _STAND_IN for node in ast.walk(tree))
        if used < len(names):
            words = f"eval_code has {{{{ {names[0]} }}}} inside a text or a comment: it becomes a Python value"
            yield f"{words}, with quotes of its own, so write it without quotes", path


def filled(value: Any, row: Mapping[str, Any], path: Path = ()) -> Any:
    """Return plain data with the values of a row in place of placeholders.

    Raises:
        RowMistake: a value does not fit.
    """
    if isinstance(value, str):
        return _text(value, row, path) if "{{" in value else value
    if isinstance(value, dict):
        return {key: filled(each, row, (*path, str(key))) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, row, (*path, index)) for index, each in enumerate(value)]
    return value


def with_ids(points: Any) -> Any:
    """Return scoring points in which each that names a column has an id, made from the text without values.

    A point is thus the same point in each row, and its verdicts can be counted over rows.
    """
    seen: Counter[str] = Counter()
    return _named(points, seen) if isinstance(points, list) else points


def whole_points(points: Any) -> Any:
    """Return the scoring points of a row with those unpacked that are nothing but the value of a column."""
    if not isinstance(points, list):
        return points
    return [_whole_point(each) if isinstance(each, dict) else each for each in points]


def _whole_point(point: dict[Any, Any]) -> Any:
    if isinstance(point.get("points"), list):
        return {**point, "points": whole_points(point["points"])}
    if _WHOLE_POINT not in point:
        return point
    value, named = point[_WHOLE_POINT], {"id": point["id"]}
    if isinstance(value, dict):
        return {**named, **value}
    return {**named, "score_point": value} if isinstance(value, str) else value


def _named(points: list[Any], seen: Counter[str]) -> list[Any]:
    found = []
    for point in points:
        key = _WHOLE_POINT if isinstance(point, str) and _PLACEHOLDER.fullmatch(point.strip()) else "score_point"
        whole = {key: point} if isinstance(point, str) else point
        if not isinstance(whole, dict):
            found.append(point)
            continue
        each: dict[Any, Any] = dict(whole)
        if isinstance(inner := each.get("points"), list):
            each["points"] = _named(inner, seen)
        own = {key: each[key] for key in (_WHOLE_POINT, "score_point", "check") if each.get(key) is not None}
        if each.get("id") is None and any(True for _ in names_in(own)):
            words = json.dumps(own, sort_keys=True, default=str)
            digest = hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:8]
            seen[digest] += 1
            each["id"] = f"p-{digest}" if seen[digest] == 1 else f"p-{digest}-{seen[digest]}"
        found.append(each)
    return found


def _codes(points: Any, path: Path) -> Iterator[tuple[str, Path]]:
    for index, point in enumerate(points if isinstance(points, list) else ()):
        if isinstance(point, dict):
            if isinstance(code := point.get(CODE), str) and _PLACEHOLDER.search(code):
                yield code, (*path, index, CODE)
            yield from _codes(point.get("points"), (*path, index, "points"))


def _text(text: str, row: Mapping[str, Any], path: Path) -> Any:
    if path and path[-1] == CODE:
        return _PLACEHOLDER.sub(lambda match: repr(_value(match[1], row, path)), text)
    if (whole := _PLACEHOLDER.fullmatch(text.strip())) is not None:
        value = _value(whole[1], row, path)
        return _fitted(value, path)
    return _PLACEHOLDER.sub(lambda match: _in_text(match[1], row, path), text)


def _fitted(value: Any, path: Path) -> Any:
    """Return a value as the text or the number that alone can stand at a place of a case."""
    keys = [each for each in path if isinstance(each, str)]
    if not keys or any(each in _OF_DATA for each in keys) or ("json" in keys and "equals" in keys):
        return value
    is_number = keys[-1] in _NUMBERS or keys[-2:] == ["number", "equals"]
    if isinstance(value, str):
        return _number_of(value) if is_number else value
    # What `contains` finds all or any of.
    is_text = keys[-1] in _TEXTS or keys[-1] == "equals" or keys[-2:] in (["contains", "all"], ["contains", "any"])
    return json.dumps(value) if is_text and not is_number and isinstance(value, bool | int | float) else value


def _number_of(text: str) -> Any:
    """Return the number that a text is; any other text stays, for the reader of cases to report."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return text
    return float(text) if found["rest"] else int(text)


def _in_text(name: str, row: Mapping[str, Any], path: Path) -> str:
    value = _value(name, row, path)
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    words = f"the column {name!r} is {describe(value)}, which cannot stand inside a text"
    raise RowMistake(words, path)


def _value(name: str, row: Mapping[str, Any], path: Path) -> Any:
    if name not in row:
        raise RowMistake(f"this row has no column {name!r}", path)
    return row[name]

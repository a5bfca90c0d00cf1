"""What all cases of a file have in common, which is written once, as `defaults`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

OWN = ("script", "task_description", "for_each")
"""Fields that stay with a case, even if all have the same."""
LISTS = ("scoring_points", "tags")
"""Fields of defaults that are added to those of a case."""
MAPPINGS = ("metadata", "config_var")
"""Fields of defaults whose keys are added to those of a case."""


def with_defaults(documents: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the defaults of several cases, and what is left of each case."""
    if len(documents) < 2:
        return {}, [dict(each) for each in documents]
    defaults: dict[str, Any] = {}
    for key in documents[0]:
        if key not in OWN and all(key in each for each in documents):
            common = _common(key, [each[key] for each in documents])
            if common not in (None, [], {}) and "{{" not in _canonical(common):
                defaults[key] = common
    return defaults, [_rest(each, defaults) for each in documents]


def _common(key: str, values: Sequence[Any]) -> Any:
    first, *others = values
    if key in LISTS and all(isinstance(value, list) for value in values):
        words = [[_canonical(entry) for entry in value] for value in values]
        return [
            entry for entry, word in zip(first, words[0], strict=True) if all(each.count(word) == 1 for each in words)
        ]
    if key in MAPPINGS and all(isinstance(value, dict) for value in values):
        return {name: inner for name, inner in first.items() if all(_is_same(name, inner, each) for each in others)}
    wanted = _canonical(first)
    return first if all(_canonical(value) == wanted for value in others) else None


def _is_same(name: str, inner: Any, other: Mapping[str, Any]) -> bool:
    return name in other and _canonical(other[name]) == _canonical(inner)


def _rest(document: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    rest: dict[str, Any] = {}
    for key, value in document.items():
        if key not in defaults:
            rest[key] = value
        elif key in LISTS and isinstance(value, list):
            shared = {_canonical(entry) for entry in defaults[key]}
            rest[key] = [entry for entry in value if _canonical(entry) not in shared]
        elif key in MAPPINGS and isinstance(value, dict):
            rest[key] = {name: inner for name, inner in value.items() if name not in defaults[key]}
    return {key: value for key, value in rest.items() if value not in ([], {})}


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)

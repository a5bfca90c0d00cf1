"""Says whether two JSON values are the same."""

from __future__ import annotations

import json
from typing import Any


def same_json(one: Any, other: Any) -> bool:
    """Return whether two JSON values are the same: 1 and 1.0 are, true and 1 are not, the order of keys is nothing."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict):
        if not isinstance(other, dict) or len(one) != len(other):
            return False
        return all(key in other and same_json(item, other[key]) for key, item in one.items())
    if isinstance(one, list | tuple):
        if not isinstance(other, list | tuple) or len(one) != len(other):
            return False
        return all(same_json(item, each) for item, each in zip(one, other, strict=True))
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return type(one) is type(other) and bool(one == other)


def canonical_json(value: Any) -> str:
    """Return a text that only the same JSON values share."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value

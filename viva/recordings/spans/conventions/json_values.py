"""Reads and writes the JSON texts that attributes hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def read_json(value: Any) -> Any:
    """Return what a JSON text says; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def read_object(value: Any) -> Mapping[str, Any]:
    """Return the object that a JSON text says, or an empty one."""
    read = read_json(value)
    return read if isinstance(read, Mapping) else {}


def read_list(value: Any) -> list[Any]:
    """Return the list that a JSON text says, or an empty one."""
    read = read_json(value)
    return read if isinstance(read, list) else []


def to_text(value: Any) -> str:
    """Return a text as it is, and anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

"""Writes answers as JSON that every browser reads."""

from __future__ import annotations

import json
import math


def to_json(value: object) -> str:
    """Return compact JSON. Numbers that JSON does not have (a stranger's journal may hold them) become null.

    Lone surrogates, which UTF-8 does not have, become question marks.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def to_script(value: object) -> str:
    """Return JSON for a script element of data: no text in it looks like markup, which could end the element."""
    return to_json(value).replace("<", "\\u003c")


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value

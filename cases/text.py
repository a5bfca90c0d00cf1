"""Small pure functions on texts of a case: ids of scoring points, and values in error messages."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import Any

_MADE = re.compile(r"p-[0-9a-f]{8}(-[0-9]+)?")


def point_ids(statements: list[str]) -> list[str]:
    """Return an id for each scoring point: a digest of its statement, with a count where a statement repeats."""
    seen: Counter[str] = Counter()
    ids = []
    for statement in statements:
        digest = hashlib.sha256(" ".join(statement.split()).encode("utf-8", "replace")).hexdigest()[:8]
        seen[digest] += 1
        ids.append(f"p-{digest}" if seen[digest] == 1 else f"p-{digest}-{seen[digest]}")
    return ids


def is_made(identity: str) -> bool:
    """Return whether an id is one that `point_ids` made, which says nothing to a reader."""
    return _MADE.fullmatch(identity) is not None


def describe(value: Any) -> str:
    """Return a value as it is shown in an error message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def number_text(value: float) -> str:
    """Return a number as its author would write it: `1234567`, `0.25`."""
    if isinstance(value, int) or (abs(value) < 1e15 and value == int(value)):
        return str(int(value))
    return f"{value:.12g}"

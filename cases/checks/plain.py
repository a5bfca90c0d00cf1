"""Reads the plain parts of a check: texts, numbers, flags and JSON values, with the place of every mistake."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from datetime import date
from typing import Any

from viva.cases.checks.data import CheckRange
from viva.cases.plain_fields import MAX_NUMBER, nearest
from viva.cases.text import describe, number_text

Path = tuple[str | int, ...]

MOST_TEXTS = 100
"""Maximum number of texts in one check."""
LONGEST_TEXT = 10_000
"""Maximum number of characters of a text in a check."""
MOST_LEVELS = 20
"""Maximum depth of a JSON value in a check."""


class CheckParts:
    """Reads parts of checks, and collects mistakes with the path of each within the check."""

    def __init__(self) -> None:
        self.faults: list[tuple[str, Path]] = []

    def fault(self, message: str, *path: str | int) -> None:
        """Note a mistake."""
        self.faults.append((message, path))

    def keys(self, mapping: Mapping[Any, Any], known: Collection[str], path: Path) -> None:
        """Report every key that is not known here, with the nearest one that is."""
        for key in mapping:
            if key not in known:
                self.fault(f"unknown key {describe(key)}; {nearest(str(key), known)}", *path, str(key))

    def text(self, value: Any, path: Path) -> str | None:
        """Read a text that is not empty."""
        name = _name(path)
        if not isinstance(value, str):
            self.fault(f"{name} must be text, not {describe(value)}; put it in quotes", *path)
        elif not value:
            self.fault(f"{name} is empty", *path)
        elif len(value) > LONGEST_TEXT:
            self.fault(f"{name} is longer than {LONGEST_TEXT:,} characters, the maximum", *path)
        else:
            return value
        return None

    def texts(self, value: Any, path: Path) -> tuple[str, ...]:
        """Read a text, or a list of texts."""
        if not isinstance(value, list):
            found = self.text(value, path)
            return () if found is None else (found,)
        if not value or len(value) > MOST_TEXTS:
            self.fault(f"{_name(path)} must be a list of 1 to {MOST_TEXTS} texts", *path)
            return ()
        each = [self.text(item, (*path, index)) for index, item in enumerate(value)]
        return tuple(item for item in each if item is not None)

    def flag(self, mapping: Mapping[Any, Any], key: str, path: Path, default: bool = False) -> bool:
        """Read true or false."""
        value = mapping.get(key)
        if value is not None and not isinstance(value, bool):
            self.fault(f"{key} must be true or false, not {describe(value)}", *path, key)
        return default if value is None else value is True

    def number(self, mapping: Mapping[Any, Any], key: str, path: Path, *, least: float = -MAX_NUMBER) -> float | None:
        """Read a number, which may be missing."""
        value = mapping.get(key)
        if value is None or is_plain_number(value, least):
            return None if value is None else float(value)
        low = f" from {number_text(least)}" if least > -MAX_NUMBER else ""
        self.fault(f"{key} must be a number{low}, not {describe(value)}", *path, key)
        return None

    def count(self, mapping: Mapping[Any, Any], key: str, path: Path) -> int | None:
        """Read a whole number from 0, which may be missing."""
        value = mapping.get(key)
        if value is None or (isinstance(value, int) and is_plain_number(value, 0)):
            return value
        self.fault(f"{key} must be a whole number from 0, not {describe(value)}", *path, key)
        return None

    def counts(self, value: Any, path: Path) -> CheckRange | None:
        """Read a number of times: a whole number, or a mapping with `min`, `max` or both."""
        if isinstance(value, Mapping):
            self.keys(value, ("min", "max"), path)
            return self.between(self.count(value, "min", path), self.count(value, "max", path), path)
        if not isinstance(value, int) or not is_plain_number(value, 0):
            words = "must be a whole number from 0, or a mapping with min and max"
            self.fault(f"{_name(path)} {words}, not {describe(value)}", *path)
            return None
        return CheckRange(value, value)

    def between(self, least: float | None, most: float | None, path: Path) -> CheckRange | None:
        """Return a range, unless it has no end or holds nothing."""
        if least is None and most is None:
            self.fault(f"{_name(path)} needs min, max or both", *path)
            return None
        if least is not None and most is not None and least > most:
            self.fault(f"{_name(path)} can never be: min {number_text(least)} is above max {number_text(most)}", *path)
        return CheckRange(least, most)

    def json(self, value: Any, path: Path, level: int = 0) -> Any:
        """Return a value as JSON would hold it: dates become text."""
        if level > MOST_LEVELS:
            self.fault(f"is nested deeper than {MOST_LEVELS} levels", *path)
            return None
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str):
                    self.fault(f"a key must be text, not {describe(key)}; put it in quotes", *path, str(key))
            return {str(key): self.json(item, (*path, str(key)), level + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.json(item, (*path, index), level + 1) for index, item in enumerate(value)]
        if isinstance(value, date):
            return value.isoformat()
        if isinstance(value, str | bool) or value is None or (isinstance(value, int | float) and math.isfinite(value)):
            return value
        self.fault(f"{_name(path)} is {describe(value)}, which JSON cannot hold; put it in quotes", *path)
        return None


def is_plain_number(value: Any, least: float = -MAX_NUMBER) -> bool:
    """Return whether a value is a number that a check can be about; NaN and infinity are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= MAX_NUMBER


def _name(path: Path) -> str:
    """Return the key that a mistake is about."""
    return next((part for part in reversed(path) if isinstance(part, str)), "the check")

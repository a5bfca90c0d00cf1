"""Reads plain kinds of fields (text, numbers, lists, flags, mappings), and collects mistakes instead of stopping."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from datetime import date
from itertools import islice
from math import isfinite
from typing import Any

from viva.cases.errors import Mistake
from viva.cases.text import describe
from viva.cases.yaml.lines import LineNumbers

MAX_NUMBER = 1e15
"""The largest number that any field takes. It keeps sums finite."""
MOST_NAMED = 40
"""The maximum number of names in a hint."""


class PlainReader:
    """Reads plain fields of one mapping. What a method returns may be used only if `mistakes` is empty afterwards."""

    def __init__(self, data: dict[Any, Any], lines: LineNumbers) -> None:
        self.data = data
        self.lines = lines
        self.mistakes: list[Mistake] = []

    def text(self, key: str, *, required: bool = False) -> str | None:
        """Read text that is not blank."""
        value = self.data.get(key)
        if value is None and not required:
            return None
        if value is None:
            self.add_mistake(f"{key} is missing" if key not in self.data else f"{key} is empty", key)
            return ""
        if not isinstance(value, str):
            self.add_mistake(f"{key} must be text, not {describe(value)}; put it in quotes", key)
            return ""
        if not value.strip():
            self.add_mistake(f"{key} is empty", key)
        return value

    def texts(self, key: str, *, or_one: bool = False) -> tuple[str, ...]:
        """Read a list of texts; with `or_one`, a single text counts as a list of one."""
        return tuple(self.indexed_texts(key, or_one=or_one).values())

    def indexed_texts(self, key: str, *, or_one: bool = False) -> dict[int, str]:
        """Read a list of texts, and return the valid ones by their index."""
        value = self.data.get(key)
        if value is None:
            return {}
        if or_one and isinstance(value, str) and value.strip():
            return {0: value}
        if not isinstance(value, list):
            self.add_mistake(f"{key} must be a list, not {describe(value)}", key)
            return {}
        texts = {}
        for index, item in enumerate(value):
            if isinstance(item, str) and item.strip():
                texts[index] = item
            else:
                self.add_mistake(f"{key} holds {describe(item)}; each entry must be text", key, index)
        return texts

    def number(self, key: str, *, unit: str = "") -> float | None:
        """Read a number above 0."""
        value = self.data.get(key)
        if value is None:
            return None
        if not is_number(value):
            words = f"a number above 0 ({unit})" if unit else "a number above 0"
            self.add_mistake(f"{key} must be {words}, not {describe(value)}", key)
            return None
        return float(value)

    def whole_number(self, key: str) -> int | None:
        """Read a whole number above 0."""
        value = self.data.get(key)
        if value is None:
            return None
        if not is_number(value) or not isinstance(value, int):
            self.add_mistake(f"{key} must be a whole number above 0, not {describe(value)}", key)
            return None
        return value

    def flag(self, key: str) -> bool:
        """Read true or false; a missing field is false."""
        value = self.data.get(key)
        if value is not None and not isinstance(value, bool):
            self.add_mistake(f"{key} must be true or false, not {describe(value)}", key)
        return value is True

    def mapping(self, key: str) -> dict[Any, Any] | None:
        """Read a mapping with any keys."""
        value = self.data.get(key)
        if value is not None and not isinstance(value, dict):
            self.add_mistake(f"{key} must be a mapping, not {describe(value)}", key)
            return None
        return value

    def fraction(self, key: str) -> float | None:
        """Read a number from 0 to 1."""
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self.add_mistake(f"{key} must be a number from 0 to 1, not {describe(value)}", key)
            return None
        return float(value)

    def metadata(self, key: str) -> dict[str, Any]:
        """Read a mapping of data that JSON can hold."""
        return self.json_mapping(self.data.get(key), key)

    def json_mapping(self, value: Any, *path: str | int, most_levels: int = 100) -> dict[str, Any]:
        """Return a mapping as JSON would hold it: dates become text; an empty one where it is missing or wrong.

        Args:
            value: The mapping.
            path: Where it stands.
            most_levels: Maximum depth of its values.
        """
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.add_mistake(f"{path[-1]} must be a mapping, not {describe(value)}", *path)
            return {}
        plain: dict[str, Any] = self._json_data(value, path, most_levels)
        return plain

    def _json_data(self, value: Any, path: tuple[str | int, ...], levels: int) -> Any:
        if levels < 0:
            self.add_mistake(f"{path[0]} is nested too deeply", *path)
            return None
        if isinstance(value, dict):
            for name in value:
                if not isinstance(name, str):
                    words = f"a key of {path[0]} must be text, not {describe(name)}; put it in quotes"
                    self.add_mistake(words, *path, str(name))
            return {str(name): self._json_data(each, (*path, str(name)), levels - 1) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self._json_data(each, (*path, index), levels - 1) for index, each in enumerate(value)]
        if isinstance(value, date):
            return value.isoformat()
        sound = value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and isfinite(value))
        if not sound:
            where = ".".join(map(str, path))
            self.add_mistake(f"{where} is {describe(value)}, which JSON cannot hold; put it in quotes", *path)
            return None
        return value

    def check_keys(self, mapping: dict[Any, Any], known: Collection[str], *path: str | int) -> None:
        """Report every key that is not known here, with the nearest one that is."""
        for key in mapping:
            if key in known:
                continue
            self.add_mistake(f"unknown key {describe(key)}; {nearest(str(key), known)}", *path, str(key))

    def add_mistake(self, message: str, *path: str | int) -> None:
        """Note a mistake, with the line of what `path` leads to."""
        self.mistakes.append(Mistake(message, self.lines.of(*path)))


def nearest(name: str, known: Collection[str]) -> str:
    """Return a hint at the name that was probably meant, or else all those that are known."""
    near = difflib.get_close_matches(name, known, 1, 0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    shown = ", ".join(islice(known, MOST_NAMED))
    return f"known here: {shown}{', …' if len(known) > MOST_NAMED else ''}"


def is_number(value: Any) -> bool:
    """Return whether a value is a number above 0. The upper limit also refuses infinity, and NaN is in no range."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MAX_NUMBER

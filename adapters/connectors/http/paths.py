"""Paths into the JSON of an answer: `data.choices[0].text`, and the structure of an answer where one matches nothing.

A path language of its own, and not a library's: JSONPath and JMESPath return nothing where a path is wrong, and the
user must be told how far it led and what is there instead. Two forms are enough for answers of APIs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from viva.records.text import one_line

_PART = re.compile(r"\.?(?P<name>[^.\[\]]+)|\[(?P<index>-?\d+|\*)\]|\[(?P<quote>['\"])(?P<quoted>.*?)(?P=quote)\]")
_INDEX = re.compile(r"-?\d+")
MOST_NAMES = 12
"""Maximum number of keys that are shown of one object."""
LONGEST_SHAPE = 400


class NotThere(LookupError):
    """A path matches nothing; the message says how far it matched, and what is there."""


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path: keys after dots, indexes of lists in brackets (from 0; -1 is the last), and `[*]` for all of a list."""

    text: str
    parts: tuple[str | int, ...]
    """`*` is every element of a list."""

    @classmethod
    def parse(cls, text: str) -> JsonPath:
        """Read a path; `.` alone is the whole answer.

        Raises:
            ValueError: it is no path.
        """
        if text.strip() in (".", "$"):
            return cls(text, ())
        rest = text.strip().removeprefix("$.")
        parts: list[str | int] = []
        while rest:
            found = _PART.match(rest)
            if found is None or (parts == [] and rest.startswith(".")):
                raise ValueError(f"is not a path: {text!r}. Write keys and indexes, as in data.choices[0].text")
            if found["index"] is not None:
                parts.append("*" if found["index"] == "*" else int(found["index"]))
            else:
                parts.append(found["name"] if found["quoted"] is None else found["quoted"])
            rest = rest[found.end() :]
        if not parts:
            raise ValueError("is an empty path")
        return cls(text, tuple(parts))

    def find(self, value: Any) -> Any:
        """Return what the path leads to; a list if it has a `[*]`.

        Raises:
            NotThere: it matches nothing.
        """
        return _find(value, self.parts, "")

    def find_or_none(self, value: Any) -> Any:
        """Return what the path leads to, or None."""
        try:
            return self.find(value)
        except NotThere:
            return None


def _find(value: Any, parts: tuple[str | int, ...], led: str) -> Any:
    for position, part in enumerate(parts):
        if part == "*" and isinstance(value, list):
            return [_find(each, parts[position + 1 :], f"{led}[{index}]") for index, each in enumerate(value)]
        is_index = isinstance(part, int) or _INDEX.fullmatch(part) is not None
        if isinstance(value, list) and is_index:
            index = int(part)
            if not -len(value) <= index < len(value):
                raise NotThere(f"there is no element {index} in {_at(led)}, which is {shape(value)}")
            value, led = value[index], f"{led}[{index}]"
        elif isinstance(value, Mapping) and str(part) in value:
            value, led = value[str(part)], f"{led}.{part}" if led else str(part)
        else:
            raise NotThere(f"there is no {str(part)!r} in {_at(led)}, which is {shape(value)}")
    return value


def _at(led: str) -> str:
    return one_line(led, 200) or "the answer"


def shape(value: Any) -> str:
    """Return what JSON looks like: keys and kinds of values, but no texts, which may be secrets or very long."""
    return one_line(_shape(value, 3), LONGEST_SHAPE)


def _shape(value: Any, depth: int) -> str:
    if isinstance(value, Mapping):
        if not depth:
            return "{…}"
        names = list(value)
        shown = [f"{one_line(str(name), 40)}: {_shape(value[name], depth - 1)}" for name in names[:MOST_NAMES]]
        return "{" + ", ".join([*shown, *(["…"] if len(names) > MOST_NAMES else [])]) + "}"
    if isinstance(value, list):
        return f"[{len(value)} of {_shape(value[0], depth - 1)}]" if value and depth else f"[{len(value)} elements]"
    kinds = {str: "text", bool: "true or false", int: "number", float: "number", type(None): "null"}
    return kinds.get(type(value), type(value).__name__)

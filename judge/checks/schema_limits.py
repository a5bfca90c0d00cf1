"""The keywords of a JSON Schema that inspect a value and at nothing inside of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sized
from fractions import Fraction
from typing import Any

from viva.cases.checks.patterns import compiled, looked_at
from viva.cases.text import number_text
from viva.judge.checks.same import same_json

SHOWN = 60
PlainKeyword = Callable[[Any, Any], str | None]
"""Takes what the schema gives and the value; returns what is wrong with the value."""


class SchemaTooMuch(ValueError):
    """A value is too large for its schema; the message says why."""


def is_json_number(value: Any) -> bool:
    """Return whether a JSON value is a number; true is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _type(given: Any, value: Any) -> str | None:
    kinds = given if isinstance(given, list) else [given]
    return None if any(_is_of_type(kind, value) for kind in kinds) else f"is not of the type {' or '.join(kinds)}"


def _is_of_type(kind: str, value: Any) -> bool:
    if kind == "integer":
        return is_json_number(value) and (isinstance(value, int) or value.is_integer())
    return is_json_number(value) if kind == "number" else isinstance(value, _TYPES[kind])


_TYPES: dict[str, type] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def _enum(given: Any, value: Any) -> str | None:
    return None if any(same_json(each, value) for each in given) else "is none of the allowed values"


def _const(given: Any, value: Any) -> str | None:
    return None if same_json(given, value) else "is not the one allowed value"


def _pattern(given: Any, value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    return None if matches(given, value) else f"does not match /{given[:SHOWN]}/"


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches somewhere in a text.

    Raises:
        SchemaTooMuch: the text is too long for it.
    """
    if len(text) > looked_at(pattern):
        raise SchemaTooMuch("with a text that is too long for a pattern")
    return compiled(pattern)(text)


def _multiple(given: Any, value: Any) -> str | None:
    if not is_json_number(value) or not math.isfinite(value) or len(str(value)) > SHOWN:
        return None
    return None if Fraction(str(value)) % Fraction(str(given)) == 0 else f"is not a multiple of {number_text(given)}"


def _of_number(fails: Callable[[Any, Any], bool], words: str) -> PlainKeyword:
    return lambda given, value: (
        f"{words} {number_text(given)}" if is_json_number(value) and fails(value, given) else None
    )


def _of_size(kind: type[Sized], fails: Callable[[int, int], bool], words: str) -> PlainKeyword:
    def keyword(given: Any, value: Any) -> str | None:
        return f"{words} {number_text(given)}" if isinstance(value, kind) and fails(len(value), given) else None

    return keyword


PLAIN_KEYWORDS: dict[str, PlainKeyword] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "pattern": _pattern,
    "multipleOf": _multiple,
    "minimum": _of_number(lambda value, given: value < given, "is below"),
    "maximum": _of_number(lambda value, given: value > given, "is above"),
    "exclusiveMinimum": _of_number(lambda value, given: value <= given, "is not above"),
    "exclusiveMaximum": _of_number(lambda value, given: value >= given, "is not below"),
    "minLength": _of_size(str, lambda size, given: size < given, "has fewer characters than"),
    "maxLength": _of_size(str, lambda size, given: size > given, "has more characters than"),
    "minItems": _of_size(list, lambda size, given: size < given, "has fewer items than"),
    "maxItems": _of_size(list, lambda size, given: size > given, "has more items than"),
    "minProperties": _of_size(dict, lambda size, given: size < given, "has fewer keys than"),
    "maxProperties": _of_size(dict, lambda size, given: size > given, "has more keys than"),
}

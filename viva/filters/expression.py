"""The tree of a filter expression, and how it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from viva.errors import SetupError

KEYWORDS = frozenset({"and", "or", "not"})
NONE = "none"
"""The word for a missing value; in quotes, it is text."""
_PLAIN_VALUE = re.compile(r"[^\s()\"'=<>!~][^\s()\"']*")
_PLAIN_KEY = re.compile(r"[^\s()\"'=<>!~]+")


class FilterError(SetupError):
    """A filter expression is not valid. The message has the column, and the expression with a mark below it."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One field compared with one value."""

    name: str
    """The field."""
    operator: str
    value: str | None
    """None stands for a missing value (`none`)."""
    key: str | None = None
    """What follows the field's name and a dot, such as the KEY of `metadata.KEY`."""
    column: int = field(default=0, compare=False)
    """Where the field's name begins, from 1."""


@dataclass(frozen=True, slots=True)
class Not:
    """True where its part is not."""

    part: Expression


@dataclass(frozen=True, slots=True)
class And:
    """True where all of its parts are; there are at least two."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True where at least one of its parts is; there are at least two."""

    parts: tuple[Expression, ...]


Expression = Comparison | Not | And | Or


def comparisons(expression: Expression) -> Iterator[Comparison]:
    """Yield the comparisons of an expression, from left to right."""
    if isinstance(expression, Comparison):
        yield expression
    elif isinstance(expression, Not):
        yield from comparisons(expression.part)
    else:
        for part in expression.parts:
            yield from comparisons(part)


def written(expression: Expression) -> str:
    """Return an expression as text, which parses to an equal one."""
    if isinstance(expression, Comparison):
        key = "" if expression.key is None else f".{_quoted(expression.key, _PLAIN_KEY)}"
        value = NONE if expression.value is None else _quoted(expression.value, _PLAIN_VALUE)
        return f"{expression.name}{key}{expression.operator}{value}"
    if isinstance(expression, Not):
        return f"not {_inner(expression.part, And | Or)}"
    if isinstance(expression, And):
        return " and ".join(_inner(part, And | Or) for part in expression.parts)
    return " or ".join(_inner(part, Or) for part in expression.parts)


def _inner(part: Expression, kinds: object) -> str:
    return f"({written(part)})" if isinstance(part, kinds) else written(part)  # type: ignore[arg-type]


def _quoted(text: str, plain: re.Pattern[str]) -> str:
    if plain.fullmatch(text) and text.lower() not in {*KEYWORDS, NONE}:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

"""Enums whose unknown values are kept: a file of a newer version, or of another tool, may know more of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Self

_UNFIT = re.compile(r"^\W|[^\w .:/+-]")


class OpenEnum(StrEnum):
    """A `StrEnum` that takes any text. What is not one of its members is equal to its own text, and to no member.

    An unknown value is written again as it was read. Its `value`, which is what reports show, has only letters, digits
    and a few marks: a journal may come from a stranger, and a value is not expected to be hostile.
    """

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        # Not kept in a table: whoever writes a journal could fill it.
        unknown = str.__new__(cls, value)
        unknown._name_ = unknown._value_ = _UNFIT.sub("?", value[:60]) or "?"
        return unknown

    @property
    def known(self) -> bool:
        """Whether it is one of the members."""
        return self in type(self).__members__.values()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (str.__str__(self),)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        """In a file, the text itself."""
        schema = handler(source)
        schema["serialization"] = {"type": "function-plain", "function": _text, "return_schema": {"type": "str"}}
        return schema


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is no value of an enum")
    return str.__str__(value)

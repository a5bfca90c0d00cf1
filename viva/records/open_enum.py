"""Enums that keep unknown values, because a file of a newer version or of another tool may contain more values."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Self

_UNFIT = re.compile(r"^\W|[^\w .:/+-]")


class OpenEnum(StrEnum):
    """A `StrEnum` that accepts any text. A value that is not a member is equal to its own text, and to no member.

    An unknown value is written as it was read. Its `value`, which reports show, has only letters, digits and a few
    other characters, because a journal may be untrusted and reports do not expect a hostile value.
    """

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        # Not cached in a table, which the author of a journal could fill.
        unknown = str.__new__(cls, value)
        unknown._name_ = unknown._value_ = _UNFIT.sub("?", value[:60]) or "?"
        return unknown

    @property
    def known(self) -> bool:
        """Return whether the value is a member."""
        return type(self)._member_map_.get(self._name_) is self

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (str.__str__(self),)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Read and write the text itself."""
        schema = handler(source)
        schema["serialization"] = {"type": "function-plain", "function": _text, "return_schema": {"type": "str"}}
        return schema


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is not a value of an enum")
    return str.__str__(value)

"""Says what is wrong with a call of `viva.Case(…)` itself: a name that it does not know, or a missing one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

from viva.cases.errors import CaseError
from viva.cases.plain_fields import nearest

T = TypeVar("T")
NAMELESS = "a case without a name"


def with_case_errors(kind: type[T]) -> type[T]:
    """Return a dataclass whose constructor refuses wrong names of fields by `CaseError`, with the nearest right one."""
    make: Callable[..., None] = vars(kind)["__init__"]

    @functools.wraps(make)
    def construct(self: T, *values: Any, **named: Any) -> None:
        try:
            make(self, *values, **named)
        except TypeError:
            known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
            where = str((values or (named.get("name"),))[0] or NAMELESS)
            if unknown := [name for name in named if name not in known]:
                raise CaseError(where, [f"unknown field {unknown[0]!r}; {nearest(unknown[0], known)}"]) from None
            if not values and "name" not in named:
                raise CaseError(where, ["name is missing"]) from None
            raise

    type.__setattr__(kind, "__init__", construct)
    return kind

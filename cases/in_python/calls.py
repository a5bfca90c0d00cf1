"""Says what is wrong with a call of `viva.Case(…)` itself: a name that it does not know, or a missing one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from viva.cases.errors import CaseError
from viva.cases.many.references import SUFFIXES
from viva.cases.plain_fields import nearest
from viva.cases.text import describe

T = TypeVar("T")
OF_FILES = ("for_each", "group_by", "cases", "defaults")
"""The keys of a case file that make several cases."""
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
            if family := [name for name in named if name in OF_FILES]:
                raise CaseError(where, [f"{family[0]} is for case files: in Python, make a Case of each row"]) from None
            if unknown := [name for name in named if name not in known]:
                raise CaseError(where, [f"unknown field {unknown[0]!r}; {nearest(unknown[0], known)}"]) from None
            if not values and "name" not in named:
                raise CaseError(where, ["name is missing"]) from None
            raise

    type.__setattr__(kind, "__init__", construct)
    return kind


def given_file(name: object, file: object, digest: object) -> Path:
    """Return the path of a case's file that was given as text.

    Raises:
        CaseError: what was given is no case file, such as a task that was meant for another field.
    """
    if isinstance(digest, str) and isinstance(file, str | Path) and Path(file).suffix.lower() in SUFFIXES:
        return Path(file)
    words = f"file must be the path of a YAML file, and hash text, not {describe(file)} and {describe(digest)}"
    raise CaseError(str(name), [f"{words}; give task_description=, script= and scoring_points= by name"])

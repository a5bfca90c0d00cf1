"""Declares how a field of the options of an exam appears on a command line, and when it may change.

It imports nothing of Viva, because pytest loads this module whenever Viva is installed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

OPTION = "option"
"""Metadata key of a field that is an option of the command line."""
MAY_CHANGE = "may_change"
"""Metadata key of a field that changes no exam, so that work can be resumed with another value: here, and only here, it
is decided for the command line, Python and stored requests."""
MAY_REPLACE = "may_replace"
"""Metadata key of a field that names a model: if it was given, work can be resumed with another one, because the record
of each run names the models that took part in it. A model cannot be added or left out: others would then examine."""


class Value(StrEnum):
    """The kind of value that an option takes."""

    TEXT = "text"
    TEXTS = "texts"
    """Names separated by commas; the option can be repeated."""
    MODELS = "models"
    """The name of a model; the option can be repeated. One is a text, several are a tuple."""
    COUNT = "count"
    """A whole number, at least 1 or `least`."""
    SECONDS = "seconds"
    """A number above 0."""
    FLAG = "flag"


class Part(StrEnum):
    """The part of an exam that an option belongs to. A command offers the options of its parts."""

    JUDGE = "judge"
    EXAMINER = "examiner"
    AGENT = "agent"
    SUITE = "suite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """How a field of `Options` appears on a command line."""

    flag: str
    """`--max-rounds`; the pytest plugin has `--viva-max-rounds`."""
    help: str
    part: Part
    value: Value = Value.TEXT
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    least: int = 1
    default_words: str | None = None
    """The default in words, if the value alone does not explain it."""


def option(
    default: Any,
    flag: str,
    part: Part,
    help_: str,
    *,
    may_change: bool = False,
    may_replace: bool = False,
    **more: Any,
) -> Any:
    """Declare a field of `Options` that is an option of the command line.

    Args:
        default: The value if the option is not given.
        flag: The option's name.
        part: The part of an exam that it belongs to.
        help_: One sentence for the user.
        may_change: Whether work may be resumed with another value, because the value changes no exam.
        may_replace: Whether work may be resumed with another value if one was given.
        more: Further fields of `Option`.
    """
    declared = Option(flag=flag, part=part, help=help_, **more)
    return field(default=default, metadata={OPTION: declared, MAY_CHANGE: may_change, MAY_REPLACE: may_replace})


def changeable(default: Any) -> Any:
    """Declare a field that is no shared option, and that may have another value when work is resumed."""
    return field(default=default, metadata={MAY_CHANGE: True})

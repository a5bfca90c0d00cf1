"""Reads options from keyword arguments: the fields of `Options`, with the same limits as on the command line."""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from viva.api.arguments import call_of, shown
from viva.errors import SetupError
from viva.exam.option_declaration import OPTION, Part, Value
from viva.exam.options import Options, one_or_several

PARAMETERS = frozenset({"agent", "evaluators"})
"""Fields of `Options` that are separate parameters here, because they may be objects."""
JUDGING = (
    frozenset(
        {
            *(field.name for field, _ in Options.declared(Part.JUDGE)),
            *("concurrency", "sandboxes", "judgings", "model_calls"),
        }
    )
    - PARAMETERS
)
"""The fields of `Options` that concern judging."""
ALL = Options.names() - PARAMETERS - {"workspaces", "cases"}
"""The fields of `Options` that an exam has; commands alone set the folders of stored runs."""


def options_from(
    function: Callable[..., Any], said: Mapping[str, Any], known: Iterable[str] = ALL, **defaults: Any
) -> Options:
    """Return the options of a call.

    Args:
        function: The function that was called; if a keyword is unknown, its own parameters are suggested too.
        said: The keyword arguments that are options.
        known: The fields of `Options` that the function uses.
        defaults: Defaults that differ from those of `Options`.

    Raises:
        SetupError: a keyword is unknown, or its value is invalid.
    """
    known = set(known)
    for name in said:
        if name not in known:
            raise SetupError(_unknown(function, name, known))
    values = {**defaults, **said}
    for field in fields(Options):
        if field.name in values:
            values[field.name] = _checked(field.name, values[field.name], field.default, field.metadata.get(OPTION))
    return Options(**values)


def _check_count(name: str, value: object, least: int = 1) -> None:
    """Check that a value is a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise SetupError(f"{name} must be a whole number, at least {least}, not {shown(value)}.")


def _check_seconds(name: str, value: object) -> None:
    """Check that a value is a number above 0."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        raise SetupError(f"{name} must be a number above 0, not {shown(value)}.")


def _checked(name: str, value: Any, default: Any, option: Any) -> Any:
    if value is None and default is None:
        return None
    if option is None or option.value is Value.COUNT:
        _check_count(name, value, 1 if option is None else option.least)
    elif option.value is Value.SECONDS:
        _check_seconds(name, value)
    elif option.value is Value.FLAG:
        if not isinstance(value, bool):
            raise SetupError(f"{name} must be True or False, not {shown(value)}.")
    elif option.value is Value.TEXTS:
        value = _texts(name, value)
    elif option.value is Value.MODELS:
        value = one_or_several(_texts(name, value))
    elif option.choices:
        if value not in option.choices:
            raise SetupError(f"{name} must be one of {', '.join(option.choices)}, not {shown(value)}.")
    else:
        value = _text(name, value)
    return value


def _text(name: str, value: object) -> str:
    """Return a text, as which a path object is accepted."""
    if not isinstance(value, str | os.PathLike):
        raise SetupError(f"{name} must be a text or a path, not {shown(value)}.")
    return str(value)


def _texts(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str | os.PathLike):
        return (str(value),)
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
        raise SetupError(f"{name} must be a text or several in a list, not {shown(value)}.")
    return tuple(_text(f"each of {name}", each) for each in value)


def _unknown(function: Callable[..., Any], name: str, known: set[str]) -> str:
    parameters = inspect.signature(function).parameters.values()
    own = [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
    near = difflib.get_close_matches(name, [*own, *sorted(known)], 1, 0.5)
    hint = f"Did you mean {near[0]!r}?" if near else f"It takes {', '.join([*own, *sorted(known)])}."
    return f"{call_of(function)} has no option {name!r:.80}. {hint}"

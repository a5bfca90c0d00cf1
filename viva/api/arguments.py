"""Checks the arguments of public functions by their annotations, and names a wrong one before anything begins."""

from __future__ import annotations

import functools
import inspect
import os
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, cast

from viva.errors import SetupError
from viva.records.text import one_line

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The numbers that a parameter accepts besides being of its type."""

    words: str
    fits: Callable[[float], bool]


Count = Annotated[int, Bounds("a whole number, at least 1", lambda value: value >= 1)]
Amount = Annotated[float, Bounds("a number above 0", lambda value: value > 0)]
Share = Annotated[float, Bounds("a number from 0 to 1", lambda value: 0 <= value <= 1)]

_PLAIN = frozenset({type(None), str, bytes, bytearray, bool, int, float, complex, list, tuple, set, frozenset, dict})
"""Types that are never those of a part of the user's (a Protocol, a callable). An object of any other type, also of a
class derived from one of these, is left to what uses the part, whose message knows what it lacks."""
_WORDS: dict[object, str] = {
    str: "a text",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    datetime: "a datetime",
    types.NoneType: "None",
}


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function with a check of its arguments, which raises SetupError before the function is called.

    Args:
        function: A public function or method, plain or async, whose parameters are annotated.
    """
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            bound = _bound(function, args, kwargs)
            return await function(*bound.args, **bound.kwargs)

        return cast("Callable[P, T]", call_async)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        bound = _bound(function, args, kwargs)
        return function(*bound.args, **bound.kwargs)

    return call


def call_of(function: Callable[..., Any]) -> str:
    """Return how a user calls a public function: `viva.examine()`."""
    return f"viva.{function.__qualname__.removesuffix('.__init__').removesuffix('_async')}()"


def shown(value: object) -> str:
    """Return a value in a message, even if its own `__repr__` fails."""
    try:
        return one_line(repr(value), 80)
    except Exception:
        return f"an object of type {type(value).__name__}"


def _bound(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
    try:
        bound = _signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise SetupError(f"{call_of(function)}: {error}.") from None
    kinds = _kinds(function)
    for name, kind in kinds.items():
        if name not in bound.arguments:
            continue
        value = bound.arguments[name]
        if isinstance(value, Iterator) and _repeats(kind):
            bound.arguments[name] = value = tuple(value)
        if isinstance(value, str) and "\0" in value:  # no file name, no name and no address contains one
            raise SetupError(f"{call_of(function)}: {name} contains a null character: {shown(value)}.")
        if not _fits(kind, value):
            raise SetupError(f"{call_of(function)}: {name} must be {_words(kind)}, not {shown(value)}.")
    return bound


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


@functools.cache
def _kinds(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of the parameters, except of `**options`, which are checked as fields of `Options`."""
    hints = typing.get_type_hints(function, include_extras=True)
    variable = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = _signature(function).parameters.values()
    return {each.name: hints[each.name] for each in parameters if each.kind not in variable and each.name in hints}


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)


def _repeats(kind: Any) -> bool:
    return any(typing.get_origin(each) is Iterable for each in _alternatives(kind))


def _fits(kind: Any, value: object) -> bool:
    if kind is Any or kind is object:
        return True
    if len(several := _alternatives(kind)) > 1:
        return any(_fits(each, value) for each in several)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return _fits(inner[0], value) and all(each.fits(value) for each in inner[1:])
    if origin is Literal:
        return value in inner
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_fits(inner[0], k) and _fits(inner[1], v) for k, v in value.items())
    if origin is Iterable:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            return False
        return not isinstance(value, Collection) or all(_fits(inner[0], each) for each in value)
    return _is_a(origin or kind, value)


def _is_a(kind: Any, value: object) -> bool:
    if kind is None:
        return value is None
    if kind in (int, float):  # bool is an int for Python, but no number for a user
        return isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
    if kind is os.PathLike:
        return isinstance(value, os.PathLike) and isinstance(os.fspath(value), str)
    if kind is Callable or getattr(kind, "_is_protocol", False):
        return type(value) not in _PLAIN and not isinstance(value, os.PathLike)
    return isinstance(value, kind)


def _words(kind: Any) -> str:
    """Return what a parameter accepts: `a Case, a text or a path, or several of these`."""
    one, several, mapping = [], False, False
    for each in _alternatives(kind):
        origin = typing.get_origin(each)
        several |= origin is Iterable
        mapping |= origin is Mapping
        if origin not in (Iterable, Mapping):
            one.append(_word(each))
        elif len(_alternatives(kind)) == 1:
            return f"a list of {_plural(typing.get_args(each)[0])}"
    words = _either(dict.fromkeys(one))
    words += ", or several of these" if several else ""
    return f"{words}, or a mapping of names to these" if mapping else words


def _either(words: Iterable[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _plural(kind: Any) -> str:
    return {str: "texts"}.get(kind, f"objects, each {_word(kind)}")


def _word(kind: Any) -> str:
    origin = typing.get_origin(kind)
    if origin is Annotated:
        return str(typing.get_args(kind)[1].words)
    if origin is Literal:
        return _either(repr(each) for each in typing.get_args(kind))
    plain = origin or kind
    if plain is os.PathLike:
        return "a path"
    if plain is Callable:
        return "a callable (class or function)"
    if plain in _WORDS:
        return _WORDS[plain]
    name = plain.__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"

"""Makes and copies frozen dataclasses several times as fast as their own `__init__` and `dataclasses.replace` do.

A frozen dataclass sets its fields by `object.__setattr__`, one call for each. Here, they are set while the object is
one of a twin: a class with the same slots, which is not frozen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

_set = object.__setattr__


def changed(record: T, **fields: Any) -> T:
    """Return a copy of a record with other values of some fields, as they are: `__post_init__` is not called.

    Args:
        record: An instance of a dataclass, also of a frozen one.
        fields: The new values.
    """
    kind: Any = type(record)
    copy: T = _copier(kind)(record)
    for name, value in fields.items():
        _set(copy, name, value)
    return copy


def make_quickly(*kinds: type) -> None:
    """Give frozen dataclasses with slots an `__init__` that sets the same fields in a third of the time.

    It takes 0.1 ms for each kind, so it is called where many records will be made. Calling it again costs nothing.

    Args:
        kinds: The dataclasses. Those with fields that `__init__` does not take stay as they are, and so do subclasses.
    """
    for kind in kinds:
        _make_quickly(kind)


@cache
def _make_quickly(kind: Any) -> None:
    fields, twin, slow = dataclasses.fields(kind), _twin(kind), kind.__init__
    if twin is None or not all(field.init for field in fields):
        return
    names = [field.name for field in fields]
    makers = {f"_{field.name}": field.default_factory for field in fields if _is_made(field)}
    known = {"_kind": kind, "_twin": twin, "_slow": slow, "_set": _set, "_factory": _FACTORY, **makers}
    asked = ", ".join(
        [field.name for field in fields if not field.kw_only]
        + ["*"] * any(field.kw_only for field in fields)
        + [field.name for field in fields if field.kw_only]
    )
    given = ", ".join(f"{field.name}={field.name}" if field.kw_only else field.name for field in fields)
    lines = [
        f"def __init__(self, {asked}):",
        f" if self.__class__ is not _kind: return _slow(self, {given})",
        " _set(self, '__class__', _twin)",
        *(
            f" self.{name} = _{name}() if {name} is _factory else {name}"
            if f"_{name}" in makers
            else f" self.{name} = {name}"
            for name in names
        ),
        " self.__class__ = _kind",
        *([" self.__post_init__()"] if hasattr(kind, "__post_init__") else []),
    ]
    _run(lines, known)
    quick: Any = known["__init__"]
    quick.__defaults__, quick.__kwdefaults__ = slow.__defaults__, slow.__kwdefaults__
    quick.__annotations__, quick.__module__ = slow.__annotations__, slow.__module__
    quick.__qualname__, quick.__doc__ = slow.__qualname__, slow.__doc__
    kind.__init__ = quick


@cache
def _copier(kind: Any) -> Callable[[Any], Any]:
    """Return what copies a record of a kind."""
    names, twin = [field.name for field in dataclasses.fields(kind)], _twin(kind)
    if twin is None:
        return lambda record: _copied(record, names)
    return copier_from(kind)


def copier_from(kind: Any, given: Sequence[str] = (), **constants: Any) -> Callable[..., Any]:
    """Return what makes a dataclass of another object with the same attributes; `__post_init__` is not called.

    Args:
        kind: The dataclass, frozen and with slots.
        given: The fields whose values the function gets behind the object, in this order.
        constants: The values of further fields.
    """
    known: dict[str, Any] = {"_new": object.__new__, "_twin": _twin(kind), "_kind": kind}
    known |= {f"_{name}": value for name, value in constants.items()}
    values = {name: name for name in given} | {name: f"_{name}" for name in constants}
    names = [field.name for field in dataclasses.fields(kind)]
    lines = [
        f"def make({', '.join(('record', *given))}):",
        " made = _new(_twin)",
        *(f" made.{name} = {values.get(name, f'record.{name}')}" for name in names),
        " made.__class__ = _kind",
        " return made",
    ]
    _run(lines, known)
    maker: Callable[..., Any] = known["make"]
    return maker


def _copied(record: Any, names: list[str]) -> Any:
    kind: Any = type(record)
    copy = kind.__new__(kind)
    for name in names:
        _set(copy, name, getattr(record, name))
    return copy


def _run(lines: list[str], known: dict[str, Any]) -> None:
    # As `dataclasses` makes its own functions; the names of fields are all that is put into them.
    exec("\n".join(lines), known)  # noqa: S102


@cache
def _twin(kind: Any) -> type | None:
    """Return a class with the slots of a frozen dataclass that is not frozen; None if an object cannot change over."""
    slots = vars(kind).get("__slots__")
    if kind.__bases__ != (object,) or set(slots or ()) != {field.name for field in dataclasses.fields(kind)}:
        return None
    return type(kind.__name__, (), {"__slots__": slots})


def _is_made(field: dataclasses.Field[Any]) -> bool:
    return field.default_factory is not dataclasses.MISSING


_FACTORY: Any = dataclasses._HAS_DEFAULT_FACTORY  # type: ignore[attr-defined]
"""What the `__init__` of a dataclass has as the default of a field that it makes."""

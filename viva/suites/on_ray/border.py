"""The border between the driver and the nodes: only plain data crosses it, and everything else is refused here."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Protocol, TypeVar

from viva.records.codec import decode, encode, loads

T = TypeVar("T")
Plain = Any
"""None, a truth value, a number, text, bytes, or lists and dicts of these."""
_ATOMS = frozenset({type(None), bool, int, float, str, bytes})


class NotPlain(TypeError):
    """Something other than plain data was about to be sent to another process."""


class LinkLost(Exception):
    """The worker is gone: its process, its node or the connection to it."""


class Link(Protocol):
    """The driver's connection to one worker."""

    async def call(self, method: str, *arguments: Plain) -> Plain:
        """Call a method of the worker and return its result; both are plain data.

        Raises:
            LinkLost: the worker is gone.
        """
        ...

    def kill(self) -> None:
        """End the worker's process at once."""
        ...


def require_plain(value: object, where: str = "the value") -> None:
    """Check that a value consists of plain data only. Subclasses (an enum that is a `str`) are refused too.

    Raises:
        NotPlain: some part of it is not; the message says which.
    """
    kind = type(value)
    if kind in _ATOMS:
        return
    if kind is list:
        for index, item in enumerate(value):  # type: ignore[arg-type, var-annotated]
            require_plain(item, f"{where}[{index}]")
    elif kind is dict:
        for key, item in value.items():  # type: ignore[attr-defined]
            if type(key) is not str:
                raise NotPlain(f"{where} has the key {key!r:.80}: only text may be a key of what is sent to a node.")
            require_plain(item, f"{where}[{key!r:.80}]")
    else:
        raise NotPlain(f"{where} is {kind.__name__}: only plain data may be sent to another process.")


def pack(value: object) -> bytes:
    """Return a record as JSON in UTF-8, from which `unpack` makes an equal record.

    Raises:
        NotPlain: a field holds an object that JSON cannot carry.
    """
    _require_record(value, type(value).__name__)
    return encode(value)


def unpack(kind: type[T], content: bytes) -> T:
    """Make a record from the bytes that `pack` returned.

    Raises:
        ValueError: the bytes do not describe a record of this kind.
    """
    return decode(kind, loads(content))


def _require_record(value: object, where: str) -> None:
    if type(value) in _ATOMS or isinstance(value, Path) or (isinstance(value, Enum) and isinstance(value, str)):
        return
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            _require_record(getattr(value, field.name), f"{where}.{field.name}")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _require_record(key, f"a key of {where}")
            _require_record(item, f"{where}[{key!r:.80}]")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _require_record(item, f"{where}[{index}]")
    else:
        raise NotPlain(f"{where} is {type(value).__name__}: only plain data may be sent to another process.")

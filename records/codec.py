"""Turns records into JSON bytes and back, leniently in reading: unknown fields are ignored, missing ones defaulted."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, to_jsonable_python

from records.text import storable

T = TypeVar("T")


_ADAPTERS: dict[type, TypeAdapter[Any]] = {}


def _adapter(kind: type) -> TypeAdapter[Any]:
    adapter = _ADAPTERS.get(kind)
    if adapter is None:
        adapter = _ADAPTERS[kind] = TypeAdapter(kind)
    return adapter


def encode(value: object) -> bytes:
    """One line of JSON, fields at their default left out."""
    try:
        return _adapter(type(value)).dump_json(value, exclude_defaults=True)
    except PydanticSerializationError:
        return json.dumps(_plain(value)).encode()


def to_plain(value: object) -> Any:
    """The same as `encode`, as dicts, lists and strings."""
    return json.loads(encode(value))


def decode(kind: type[T], data: Any) -> T:
    """Build a record from what `json.loads` gave.

    Raises:
        ValueError: the data does not have the shape of `kind`.
    """
    return _adapter(kind).validate_python(data)  # type: ignore[no-any-return]


def _plain(value: object) -> Any:
    """For what pydantic refuses: lone surrogates, and objects in `attributes` that JSON does not know."""
    dumped = _adapter(type(value)).dump_python(value, exclude_defaults=True)
    return _clean(dumped)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return to_jsonable_python(value, fallback=lambda item: storable(repr(item)))

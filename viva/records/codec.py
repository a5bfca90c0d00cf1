"""Converts records to JSON and back, leniently: any content of a record can be written and read again."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from enum import Enum
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, to_jsonable_python

from viva.records.text import storable
from viva.records.transcript import LEFT_OUT, NO_USAGE
from viva.records.verdict import Label

T = TypeVar("T")

MAX_DEPTH = 100
"""Maximum depth of lists and mappings in objects that pydantic refuses; deeper values become text."""

_ADAPTERS: dict[type, TypeAdapter[Any]] = {}
_SCAN: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
"""Parses one value from a position; returns it and its end. Raises StopIteration where no value begins there."""


def _adapter(kind: type) -> TypeAdapter[Any]:
    adapter = _ADAPTERS.get(kind)
    if adapter is None:
        adapter = _ADAPTERS[kind] = TypeAdapter(kind)
    return adapter


def prepare(*kinds: type) -> None:
    """Build the converters of these types in advance; otherwise, the first use of each takes up to 4 ms longer."""
    for kind in kinds:
        _adapter(kind)


def encode(value: object) -> bytes:
    """Return one line of JSON without the fields that have their default values; infinities and NaN become null."""
    adapter = _adapter(type(value))
    try:
        # Its serializer, without the twelve options that the adapter passes on at each call.
        return adapter.serializer.to_json(value, exclude_defaults=True, warnings="error")
    except Exception:
        # An adapter may put anything into a Step: lone surrogates, objects that JSON does not support or that raise
        # exceptions, fields of the wrong type. The round must not be lost because of it.
        plain = _plain(value)
        try:
            adapter.validate_python(plain)
        except ValidationError as error:
            for fault in error.errors(include_url=False, include_context=False):
                _mend(plain, fault)
        return json.dumps(plain).encode()


def to_plain(value: object, *, full: bool = False) -> Any:
    """Return the same as `encode` as dicts, lists and strings; `full` keeps fields that have their default values."""
    plain = loads(encode(value))
    if not full:
        return plain
    # Whatever the value was, its encoded form is valid.
    return _adapter(type(value)).dump_python(decode(type(value), plain), mode="json")


def to_plain_decoded(value: object) -> Any:
    """Return the same as `to_plain(value, full=True)` for a value from `decode`, which is valid, in less time."""
    return _adapter(type(value)).dump_python(value, mode="json")


def loads(line: bytes | str) -> Any:
    """Parse a line of JSON; a whole number with more digits than Python accepts stays text.

    Raises:
        ValueError: the line is not JSON in UTF-8.
        RecursionError: the line is nested too deeply.
    """
    # Decoded here, because json would guess UTF-16 or UTF-32 from NUL bytes.
    text = line if isinstance(line, str) else line.decode("utf-8")
    try:
        # As json.loads does it, which spends a third of its time around this call; whatever is odd is left to it.
        value, end = _SCAN(text, 0)
        return value if end == len(text) or not text[end:].strip(" \t\n\r") else json.loads(text)
    except StopIteration:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) <= 4000 else digits)


def has_doubled_key(text: str) -> bool:
    """Return whether an object in this JSON has a duplicate key, of which readers would silently use the last value.

    Line breaks inside of strings are accepted, as they are in the answers of models.

    Raises:
        ValueError: the text is not JSON.
        RecursionError: the text is nested too deeply.
    """
    doubled = False

    def see(pairs: list[tuple[str, Any]]) -> None:
        nonlocal doubled
        doubled = doubled or len({key for key, _ in pairs}) < len(pairs)

    json.loads(text, object_pairs_hook=see, strict=False)
    return doubled


def decode(kind: type[T], data: Any) -> T:
    """Build a record from parsed JSON. Unknown fields are ignored; missing fields and invalid nulls get their defaults.

    Raises:
        ValueError: the data does not have the shape of `kind`.
    """
    adapter = _adapter(kind)
    try:
        return adapter.validate_python(data)  # type: ignore[no-any-return]
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False)
        if any(fault["input"] is not None or fault["type"] == "missing" for fault in faults):
            raise
        for fault in faults:
            _mend(data, fault)
    return adapter.validate_python(data)  # type: ignore[no-any-return]


def checked(kind: type[T], value: T) -> T:
    """Return a record as it will be read after it was written; fields that can hold anything become JSON values.

    Raises:
        ValueError: a field has a value of the wrong type; the message names it.
    """
    from viva.records.quick.lines import write_line  # here, because few commands judge what others return

    adapter = _adapter(kind)
    with contextlib.suppress(Exception):  # lone surrogates, objects that raise, values of the wrong type
        # Nearly all are sound: written and read by native code.
        if (line := write_line(value)) is not None:
            return adapter.validator.validate_json(line)  # type: ignore[no-any-return]
        if not _is_lost_by_trying(value):
            text = adapter.serializer.to_json(value, exclude_defaults=True, warnings="error")
            return adapter.validator.validate_json(text)  # type: ignore[no-any-return]
    plain = _plain(value)
    try:
        return adapter.validate_python(plain)  # type: ignore[no-any-return]
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False)[0]
        raise ValueError(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}") from error


def decode_json(kind: type[T], text: str | bytes) -> T:
    """Build a record from JSON, as `decode` does from what `loads` returns, without the objects in between.

    Raises:
        ValueError: the text is not JSON, or does not have the shape of `kind`.
        RecursionError: the text is nested too deeply.
    """
    try:
        return _adapter(kind).validator.validate_json(text)  # type: ignore[no-any-return]
    except ValidationError:
        # Lone surrogates, huge numbers, invalid nulls: everything that is read more leniently than pydantic does.
        return decode(kind, loads(text))


def _mend(data: Any, fault: ErrorDetails) -> None:
    """Convert the value that pydantic refused to the right type, or remove it so that the default applies."""
    *parents, last = fault["loc"] or ("",)
    try:
        for part in parents:
            data = data[part]
        if fault["type"] == "string_type" and data[last] is not None:
            data[last] = json.dumps(data[last])
        elif last == "cost":
            data[last] = None  # unknown; if it were left out, it would be 0
        else:
            del data[last]
    except (KeyError, IndexError, TypeError):
        return


def _is_lost_by_trying(value: Any, depth: int = 0) -> bool:
    """Return whether native code would lose a part: of an iterator, which is read only once, or of some odd keys."""
    kind = type(value)
    if kind in _SIMPLE:
        return False
    if depth >= MAX_DEPTH or isinstance(value, Iterator):
        return True
    parts: Iterable[Any] = ()
    if kind in _CONTAINERS and kind is not dict:
        parts = value
    elif isinstance(value, Mapping):
        if any(isinstance(key, str) and not key.isascii() and storable(key) != key for key in value):
            return True  # pydantic replaces lone surrogates in keys, so that several keys become one
        parts = value.values()
    elif isinstance(value, list | tuple | Set):
        parts = value
    elif dataclasses.is_dataclass(value):
        parts = _fields_of(kind)(value)  # type: ignore[arg-type]
    for part in parts:
        # Most parts are none, of which nothing can be lost.
        if type(part) in _SIMPLE or part is NO_USAGE or (type(part) in _CONTAINERS and not part):
            continue
        if _is_lost_by_trying(part, depth + 1):
            return True
    return False


_SIMPLE = frozenset({str, int, float, bool, type(None), Label})
_CONTAINERS = frozenset({tuple, list, dict})


@lru_cache(maxsize=256)
def _fields_of(kind: type) -> Callable[[Any], tuple[Any, ...]]:
    """Return what reads all fields of a dataclass, in native code; it raises AttributeError where one was never set."""
    names = [field.name for field in dataclasses.fields(kind)]
    # The first is read twice, because `attrgetter` returns no tuple for one name.
    return attrgetter(names[0], *names) if names else lambda _: ()


def _plain(value: Any, depth: int = 0) -> Any:
    """Convert any object to JSON values as far as possible; never raises an exception."""
    if isinstance(value, str):
        # The text itself, also of an enum, whose displayed form may be shorter.
        return storable(str.__str__(value))
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        # Python accepts no decimal numbers of more than 4,300 digits.
        return int(value) if abs(value) < 10**4000 else hex(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if depth >= MAX_DEPTH:
        return _words(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value, depth)
    try:
        if isinstance(value, Mapping):
            return {_key(key): _plain(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple | Set):
            return [_plain(item, depth + 1) for item in value]
        return _plain(to_jsonable_python(value, fallback=_words), depth + 1)
    except Exception:
        return _words(value)


def _fields(value: Any, depth: int) -> dict[str, Any]:
    shown = {}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name, None)
        if item is not field.metadata.get(LEFT_OUT, field.default):
            shown[field.name] = _plain(item, depth + 1)
    return shown


def _key(key: object) -> str:
    return storable(key) if isinstance(key, str) else str(_plain(key, MAX_DEPTH))


def _words(value: object) -> str:
    try:
        return storable(repr(value))[:1000]
    except Exception:
        return f"<{type(value).__name__}>"

"""Reads the values of spans: times, ids, and attributes, flat or nested or in OTLP's typed form."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from viva.records.text import storable

_HEX = re.compile(r"[0-9a-fA-F]+")
_FRACTION = re.compile(r"\.(\d+)")
_PLAIN_TIME = re.compile(r"-?\d+")
MOST_KEY = 1_000
"""Characters of a dotted key, beyond which an object is kept whole: long keys in each other would grow without end."""
LAST_SECOND = 253_402_300_799
"""The end of the year 9999. A time beyond it is not a time."""


def read_time(value: Any) -> int | None:
    """Return nanoseconds since the epoch.

    Args:
        value: Nanoseconds as an integer or as text (OTLP), an ISO 8601 text (Phoenix), seconds as a float, or anything.

    Returns:
        None for what is not a time: NaN, a negative number, 0 (OTLP's unset), a year beyond 9999.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, float):
        return int(value * 1e9) if math.isfinite(value) and 0 < value <= LAST_SECOND else None
    if isinstance(value, str):
        text = value.strip()
        if _PLAIN_TIME.fullmatch(text) and len(text) < 30:
            return _sound(int(text))
        return _read_iso(text)
    return _sound(value) if isinstance(value, int) else None


def _sound(nanoseconds: int) -> int | None:
    return nanoseconds if 0 < nanoseconds <= LAST_SECOND * 10**9 else None


def _read_iso(text: str) -> int | None:
    fraction = _FRACTION.search(text)
    plain = _FRACTION.sub("", text, count=1)
    try:
        moment = datetime.fromisoformat(plain.replace("Z", "+00:00"))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        digits = (fraction[1] if fraction else "")[:9].ljust(9, "0")
        return _sound(int(moment.timestamp()) * 10**9 + int(digits))
    except (ValueError, OverflowError, OSError):
        return None


def read_id(value: Any, length: int) -> str | None:
    """Return the id of a trace (32 hexadecimal digits) or span (16): as it is, or from the base64 of protobuf's JSON.

    Returns:
        None for an id that is missing, empty, or all zero, which OpenTelemetry calls invalid.
    """
    if type(value) is str and len(value) == length and _HEX.fullmatch(value):
        return value.lower() if value.strip("0") else None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip("0 "):
        return None
    # Ids are sorted in a database, which takes no lone surrogate.
    text = storable(value.strip().removeprefix("0x"))
    if len(text) == (length * 4 // 6 + 3) // 4 * 4 and not _HEX.fullmatch(text):
        try:
            decoded = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return text
        return decoded.hex() if len(decoded) * 2 == length else text
    return text.lower() if _HEX.fullmatch(text) and len(text) == length else text


def loaded(value: Any) -> Any:
    """Return the object or list that a JSON text says; anything else as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def flatten(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with dotted keys: objects within them, and lists that hold objects, are taken apart."""
    if _NESTING.isdisjoint(map(type, attributes.values())) or not any(map(_holds_more, attributes.values())):
        return dict(attributes)
    flat: dict[str, Any] = {}
    waiting: list[tuple[str, Any]] = [(str(key), value) for key, value in reversed(list(attributes.items()))]
    while waiting:
        key, value = waiting.pop()
        if len(key) > MOST_KEY:
            flat[key] = value
        elif isinstance(value, dict) and value:
            waiting += [(f"{key}.{inner}", each) for inner, each in reversed(list(value.items()))]
        elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
            waiting += [(f"{key}.{place}", each) for place, each in reversed(list(enumerate(value)))]
        else:
            flat[key] = value
    return flat


_NESTING = frozenset({dict, list})


def _holds_more(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(each, dict) for each in value))


def from_pairs(given: Any) -> dict[str, Any]:
    """Read OTLP's list of keys and typed values."""
    pairs = [pair for pair in listed(given) if isinstance(pair, dict) and "key" in pair]
    return flatten({str(pair["key"]): otlp_value(pair.get("value")) for pair in pairs})


def otlp_value(value: Any) -> Any:
    """Read one typed value of OTLP's JSON; integers come as text (int64 in protobuf's JSON)."""
    if not isinstance(value, dict):
        return value
    for key, inner in value.items():
        if key == "stringValue":
            return inner
        if key in ("intValue", "int_value"):
            return int(inner) if isinstance(inner, str) and _PLAIN_TIME.fullmatch(inner) and len(inner) < 30 else inner
        if key in ("arrayValue", "array_value"):
            return [otlp_value(each) for each in listed(inner.get("values") if isinstance(inner, dict) else None)]
        if key in ("kvlistValue", "kvlist_value"):
            pairs = listed(inner.get("values") if isinstance(inner, dict) else None)
            return {str(pair.get("key")): otlp_value(pair.get("value")) for pair in pairs if isinstance(pair, dict)}
        if key in ("doubleValue", "double_value") and isinstance(inner, str):
            return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(inner, inner)
        return inner
    return None


def listed(value: Any) -> list[Any]:
    """Return a list as it is, and an empty one for anything else."""
    return value if isinstance(value, list) else []

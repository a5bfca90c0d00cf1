"""Reads the values of filter expressions: what a field may be compared with."""

from __future__ import annotations

import math
from datetime import datetime
from difflib import get_close_matches

from viva.exam.durations import seconds_in
from viva.filters.fields import FIELDS, FieldKind, FilterField

YES_NO = {"yes": True, "true": True, "no": False, "false": False}


def read_value(field: FilterField, operator: str, text: str) -> str | float | bool:
    """Return the value with which a field is compared.

    Raises:
        ValueError: the field cannot be compared with it; the message says why.
    """
    if field.kind is FieldKind.NUMBER:
        return read_number(text.removeprefix("$") if field.name == "cost" else text)
    if field.kind is FieldKind.SECONDS:
        try:
            return seconds_in(text)
        except ValueError:
            raise ValueError("is not a duration; write seconds (90), or 90s, 5m or 1h") from None
    if field.kind is FieldKind.YES_NO:
        if text.lower() not in YES_NO:
            raise ValueError("is neither yes nor no")
        return YES_NO[text.lower()]
    if field.kind is FieldKind.CHOICE:
        return _choice(field, text)
    if field.kind is FieldKind.MOMENT:
        return read_moment(text)
    if field.kind is FieldKind.ANY and operator not in ("=", "!=", "~"):
        return read_number(text)
    return text


def read_number(text: str) -> float:
    """Return a finite number.

    Raises:
        ValueError: the text is none.
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("is not a number")
    return number


def read_moment(text: str) -> float:
    """Return a date, or a date and time, in seconds since the epoch; without an offset, it is local time.

    Raises:
        ValueError: the text is neither.
    """
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise ValueError("is neither a date nor a time; write 2026-11-23, or 2026-11-23T10:30") from None


def _choice(field: FilterField, text: str) -> str:
    if text in field.values:
        return text
    if field.name == "status" and text in FIELDS["outcome"].values:
        raise ValueError(f"is an outcome; write outcome={text}")
    near = get_close_matches(text.lower(), field.values, 1)
    meant = f"; did you mean {near[0]}?" if near else ""
    raise ValueError(f"is no {field.name}; there are {', '.join(field.values)}{meant}")

"""Reads durations as they are typed: seconds, or a number with its unit, such as `90s`, `5m` or `1h30m`."""

from __future__ import annotations

import re

UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_PARTS = re.compile(r"(?:(?P<h>[\d.]+)h)?(?:(?P<m>[\d.]+)m(?:in)?)?(?:(?P<s>[\d.]+)s)?")


def seconds_in(text: str) -> float:
    """Return the seconds of a duration.

    Raises:
        ValueError: the text is no duration.
    """
    text = text.strip().lower()
    parts = _PARTS.fullmatch(text)
    if text and parts is not None:
        value = sum(float(number) * UNITS[unit] for unit, number in parts.groupdict().items() if number)
    else:
        value = float(text)
    if not value >= 0:  # also where it is not a number
        raise ValueError(text)
    return value

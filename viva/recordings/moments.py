"""Reads points in time as users write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from viva.errors import SetupError


def read_moment(text: str) -> datetime:
    """Read a time as users write it: `2026-11-22`, `2026-11-22T10:00`, with a zone or in UTC; or `2h`, `3d` ago.

    Raises:
        SetupError: the text is not a time.
    """
    units = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
    plain = text.strip()
    try:
        if plain[-1:] in units and plain[:-1].isascii() and plain[:-1].isdigit():
            return datetime.now(UTC) - timedelta(**{units[plain[-1]]: int(plain[:-1])})
        moment = datetime.fromisoformat(plain)
    except (ValueError, OverflowError) as error:
        example = "2026-11-22, 2026-11-22T10:00+01:00, 30m, 24h or 7d"
        raise SetupError(f"{text!r} is not a time; write it as in {example}.") from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)

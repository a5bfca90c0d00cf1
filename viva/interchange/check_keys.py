"""Reads a check of a case for an exporter, which must not lose a part of it without a word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def keys_of(value: Any, short: str, *others: str) -> Mapping[str, Any] | None:
    """Return the keys of a kind of check; None if it has one that the exporter does not translate.

    Args:
        value: What the case says under the kind's name. A plain value stands for `short`.
        short: The key for which a plain value stands.
        others: The other keys that the exporter translates.
    """
    keys = value if isinstance(value, dict) else {short: value}
    return None if set(keys) - {short, *others} else keys

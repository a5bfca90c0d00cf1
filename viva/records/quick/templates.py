"""Lines that most runs of a case have in common: they are written once, around what differs from run to run."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection
from operator import attrgetter
from typing import Any

from viva.records.run_record import Timing

MOST_TEMPLATES, LONGEST_TEMPLATE = 256, 16 * 1024
"""Maximum number of templates of a kind, and of the bytes of one."""


class Templates:
    """The parts of lines of one kind of record that repeat, by a key that the caller chooses."""

    def __init__(self, kind: type, differing: Collection[str], cut: Callable[[Any], tuple[bytes, ...] | None]) -> None:
        """Args:
        kind: The dataclass.
        differing: The fields in which the records of one template differ.
        cut: Writes a record, and returns the parts of its line around those fields; None if it cannot be cut.
        """
        self._same = attrgetter(*(field.name for field in dataclasses.fields(kind) if field.name not in differing))
        self._cut = cut
        self._known: dict[object, tuple[tuple[Any, ...], tuple[bytes, ...] | None]] = {}

    def parts_of(self, key: object, record: object) -> tuple[bytes, ...] | None:
        """Return the parts of a record's line; None if the last record with this key differed in other fields, too.

        Args:
            key: Records with the same key are likely to be alike. It has to be hashable.
            record: The record.
        """
        same, known = self._same(record), self._known.get(key)
        if known is not None and known[0] == same:
            if known[1]:
                return known[1]
            if known[1] is None:  # the second of its kind: there will be more
                parts = self._cut(record) or ()
                if sum(map(len, parts)) <= LONGEST_TEMPLATE:
                    self._known[key] = same, parts
                return parts or None
            return None
        if len(self._known) >= MOST_TEMPLATES:
            self._known.clear()
        self._known[key] = same, None
        return None


def line_of_timing(timing: Timing) -> bytes | None:
    """Return the JSON of a timing; None if a value is not a number that JSON has."""
    seconds = _seconds(timing)
    if not _FLOAT.issuperset(map(type, seconds)) or not math.isfinite(sum(seconds)):
        return None
    return _TIMING % seconds  # JSON writes numbers as Python shows them


_names = [field.name for field in dataclasses.fields(Timing)]
_seconds, _FLOAT = attrgetter(*_names), frozenset({float})
_TIMING = b"{%b}" % ",".join(f'"{name}":%r' for name in _names).encode()

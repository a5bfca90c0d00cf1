"""Groups runs by a column of their rows or an entry of their cases' metadata, for figures of each value."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from viva.errors import SetupError
from viva.filters.columns import ROW, refuse_unknown_names
from viva.filters.stored_cases import CaseFacts
from viva.records.text import one_line

OPTION = "--by"
METADATA = "metadata"
SHOWN = 60
"""Characters of a value that name a group."""


@dataclass(frozen=True, slots=True)
class GroupedBy:
    """What runs are grouped by."""

    part: str
    """`row` or `metadata`."""
    key: str

    def tags(self, facts: CaseFacts) -> Iterator[str]:
        """Yield the tag of a run of this case: `city=Rome`, as `group_by` names it; none where it has no value."""
        values = facts.columns if self.part == ROW else facts.metadata
        if self.key in values:
            name = self.key if self.part == ROW else f"{self.part}.{self.key}"
            yield f"{name}={_word(values[self.key])}"

    def check(self, columns: Collection[str], keys: Collection[str]) -> None:
        """Check that any case has such a value.

        Args:
            columns: The columns of all rows.
            keys: The keys of all metadata.

        Raises:
            SetupError: none has.
        """
        if self.part == ROW:
            refuse_unknown_names([self.key], columns, OPTION)
        elif self.key not in keys:
            near = get_close_matches(self.key, keys, 1, 0.5)
            hint = f"; did you mean {one_line(near[0], 60)!r}?" if near else "."
            raise SetupError(f"{OPTION}: no case has {one_line(self.key, 60)!r} in its metadata{hint}")


def grouped_by(text: str) -> GroupedBy:
    """Return what `row.COLUMN` or `metadata.KEY` stands for.

    Raises:
        SetupError: it is neither.
    """
    part, dot, key = text.partition(".")
    if part not in (ROW, METADATA) or not dot or not key:
        raise SetupError(f"{OPTION} takes row.COLUMN or metadata.KEY, not {one_line(text, 60)!r}.")
    return GroupedBy(part, key)


def _word(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return one_line(text, SHOWN)

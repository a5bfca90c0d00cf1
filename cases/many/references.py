"""How a case is named that shares its file with others: `FILE#NAME`, and a row of a family `FILE#NAME[ROW]`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = (".yaml", ".yml")
PLAIN_STEMS = ("case", "cases")
"""Names of files that say nothing, so that the folder's name is the name."""
MOST_MARKS = 100


@dataclass(frozen=True, slots=True)
class Reference:
    """A case, or all cases of a file."""

    path: Path
    """The file, or a folder."""
    entry: str | None = None
    """The name of the case in its file; None for all of them."""
    row: str | None = None
    """The id of the row of a family; None for all of them."""


def split_reference(text: str) -> Reference:
    """Return what a text refers to: the longest part of it that exists is the path. The ending may be left out."""
    if os.path.exists(text):
        return Reference(Path(text))
    marks = [index for index, letter in enumerate(text) if letter in "#["][:MOST_MARKS]
    for index in reversed(marks):
        found = next((each for each in _written(text[:index]) if os.path.exists(each)), None)
        if found is not None:
            entry, row = _parts(text[index:])
            return Reference(Path(found), entry, row)
    return Reference(Path(text))


def joined(base: str, entry: str | None, row: str | None) -> str:
    """Return the name of a case: that of its file, its own, and the id of its row."""
    return f"{base}{f'#{entry}' if entry else ''}{f'[{row}]' if row else ''}"


def base_name(file: Path, *, shared: bool) -> str:
    """Return the first part of the name of each case in a file.

    Args:
        file: The case file.
        shared: Whether several cases share it. A case of its own has the name of its folder.
    """
    return file.stem if shared and file.stem.lower() not in PLAIN_STEMS else file.parent.resolve().name


def _written(path: str) -> list[str]:
    return [path, *(f"{path}{suffix}" for suffix in SUFFIXES)] if path else []


def _parts(rest: str) -> tuple[str | None, str | None]:
    """Return name and row of `#NAME`, `[ROW]` or `#NAME[ROW]`."""
    row = None
    if rest.endswith("]") and "[" in rest:
        rest, _, row = rest[:-1].partition("[")
    return rest.removeprefix("#") or None, row

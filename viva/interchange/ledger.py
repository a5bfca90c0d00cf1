"""Accounts for every leaf of a source: its value is in a case, decides the form of one, or is in the report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Path = tuple[str | int, ...]


class Gap(StrEnum):
    """Why a value of the source is in no case."""

    NO_HOME = "no home"
    """Viva's cases have nothing like it."""
    REFUSED = "refused"
    """It is left out on purpose: code that would run, a service that would be called, a file outside the folder."""
    NEEDS_A_PERSON = "needs a person"
    """It was imported as far as possible; the rest is a decision."""
    NOT_READ = "not read"
    """The importer does not know this field."""


@dataclass(frozen=True, slots=True)
class Note:
    """One value of the source that is in no case, and why."""

    kind: Gap
    why: str


@dataclass(slots=True)
class Leaf:
    """A value without values of its own, and what became of it."""

    document: str
    path: Path
    value: Any
    taken: bool = False
    """Whether a reader says that the value itself is in a case."""
    expressed: str = ""
    """What the value decided, if it is expressed by the form of a case."""
    notes: list[Note] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to import."""
        return self.value is None or self.value in ("", [], {})

    @property
    def is_accounted_for(self) -> bool:
        """Return whether a reader has said what became of it."""
        return self.taken or bool(self.expressed or self.notes)


class Ledger:
    """The leaves of all documents of one import."""

    def __init__(self) -> None:
        self._leaves: dict[tuple[str, Path], Leaf] = {}
        self.remarks: list[tuple[str, Note]] = []
        """Notes about more than one value, with what they are about."""

    def add(self, document: str, path: Path, value: Any) -> None:
        """Add a leaf that nothing is known about yet."""
        self._leaves[document, path] = Leaf(document, path, value)

    def leaf(self, document: str, path: Path) -> Leaf:
        """Return the leaf at a path."""
        return self._leaves[document, path]

    def __iter__(self) -> Iterator[Leaf]:
        return iter(self._leaves.values())

    def __len__(self) -> int:
        return len(self._leaves)

    def close(self, written: Iterable[Any]) -> None:
        """Note every leaf that no reader accounted for, and every one that is said to be in a case and is not.

        Args:
            written: The documents of the cases, as plain data.
        """
        cases = _Written(written)
        for leaf in self:
            if leaf.taken and not leaf.is_empty and not cases.holds(leaf.value):
                leaf.taken = False
                if not leaf.expressed and not leaf.notes:
                    leaf.notes.append(Note(Gap.NOT_READ, "the importer read it, but it is not in any case"))
            if not leaf.is_accounted_for and not leaf.is_empty:
                leaf.notes.append(Note(Gap.NOT_READ, "the importer does not know this field"))


class _Written:
    """The scalars of all cases: whole, and as text that a value may be a part of."""

    def __init__(self, documents: Iterable[Any]) -> None:
        whole: dict[str, None] = {}
        for document in documents:
            for value in scalars(document):
                whole[canonical(value)] = None
                if isinstance(value, str):
                    whole[value] = None
        self._whole = whole
        self._text = "\n".join(whole)
        self._last = 0

    def holds(self, value: Any) -> bool:
        """Return whether a value is in a case, whole or as part of a text."""
        text = value if isinstance(value, str) else canonical(value)
        if text in self._whole:
            return True
        # Cases come in the order of the source: what is looked for is nearly always close behind what was found last.
        found = self._text.find(text, self._last)
        if found < 0:
            found = self._text.find(text)
        if found < 0:
            return False
        self._last = found
        return True


def canonical(value: Any) -> str:
    """Return a scalar as text that tells `1` from `true`, and is the same for `1` and `1.0`."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value


def scalars(value: Any) -> Iterator[Any]:
    """Yield the keys and the scalars of plain data."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from scalars(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from scalars(inner)
    else:
        yield value


def shown_path(document: str, path: Path) -> str:
    """Return a path as a reader would write it: `tests[0].vars.city`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step and all(character.isalnum() or character in "_-$" for character in step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return f"{document}: {text}" if document else text or "(the whole file)"

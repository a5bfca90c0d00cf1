"""The tree of a source: what a format's importer reads, so that the ledger knows what became of every leaf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from viva.interchange.ledger import Gap, Ledger, Note, Path, shown_path


class Source:
    """One value of a source, with its path.

    An importer accounts for each value in one of three ways: `take` (the value itself goes into a case), `express` (it
    decides the form of a case, as `type: contains` does) or `report` (it goes into the report, with the reason). What
    none of them was called for is reported by the frame. `peek` reads a value without accounting for it.
    """

    __slots__ = ("_ledger", "_value", "document", "path")

    def __init__(self, value: Any, path: Path, ledger: Ledger, document: str) -> None:
        self._value = value
        self.path = path
        self._ledger = ledger
        self.document = document

    @classmethod
    def root(cls, value: Any, ledger: Ledger, document: str = "") -> Source:
        """Return the tree of plain data, all leaves of which are added to the ledger.

        Args:
            value: Mappings with text as keys, lists and scalars.
            ledger: Accounts for the leaves.
            document: The name of the file, if it is not the one that the user named.
        """
        tree = cls(value, (), ledger, document)
        for leaf in tree.leaves():
            ledger.add(document, leaf.path, leaf.peek())
        return tree

    def peek(self) -> Any:
        """Return the plain value. Nothing is noted: call `take`, `express` or `report` as well."""
        return self._value

    def get(self, *steps: str | int) -> Source | None:
        """Return the value at a path below this one; None if there is none, or it is null."""
        node = self
        for step in steps:
            value = node._value
            if isinstance(value, dict) and isinstance(step, str) and step in value:
                node = node._child(step, value[step])
            elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
                node = node._child(step % len(value), value[step])
            else:
                return None
        return None if node._value is None else node

    def find(self, dotted: str) -> Source | None:
        """Return the value at a dotted path, `inputs.messages.0`; keys may themselves have dots in them."""
        if not dotted:
            return self
        steps = dotted.split(".")
        for end in range(len(steps), 0, -1):
            name = ".".join(steps[:end])
            found = self.get(name)
            if found is None and end == 1 and name.lstrip("-").isdecimal():
                found = self.get(int(name))
            if found is not None:
                return found.find(".".join(steps[end:]))
        return None

    def items(self) -> Iterator[tuple[str, Source]]:
        """Yield the keys and values of a mapping; nothing for any other value."""
        if isinstance(self._value, dict):
            for key, value in self._value.items():
                yield key, self._child(key, value)

    def elements(self) -> Iterator[Source]:
        """Yield the elements of a list; nothing for any other value."""
        if isinstance(self._value, list):
            for index, value in enumerate(self._value):
                yield self._child(index, value)

    def leaves(self) -> Iterator[Source]:
        """Yield every value without values of its own at or below this one. An empty list or mapping is one."""
        if not isinstance(self._value, list | dict) or not self._value:
            yield self
            return
        for child in (*(child for _, child in self.items()), *self.elements()):
            yield from child.leaves()

    def take(self) -> Any:
        """Return the plain value, all leaves of which go into a case as they are. The frame checks that they do."""
        for leaf in self.leaves():
            self._ledger.leaf(self.document, leaf.path).taken = True
        return self._value

    def express(self, words: str) -> Any:
        """Return the plain value, which decides the form of a case.

        Args:
            words: What it becomes, such as `check: contains`.
        """
        for leaf in self.leaves():
            self._ledger.leaf(self.document, leaf.path).expressed = words
        return self._value

    def report(self, kind: Gap, why: str) -> Any:
        """Return the plain value, each leaf of which goes into the report."""
        note = Note(kind, why)
        for leaf in self.leaves():
            noted = self._ledger.leaf(self.document, leaf.path).notes
            if note not in noted:
                noted.append(note)
        return self._value

    def remark(self, kind: Gap, why: str) -> None:
        """Add a note to the report about this place, without accounting for its leaves."""
        remark = (str(self), Note(kind, why))
        if remark not in self._ledger.remarks:
            self._ledger.remarks.append(remark)

    @property
    def is_mapping(self) -> bool:
        """Return whether it is a mapping."""
        return isinstance(self._value, dict)

    @property
    def is_list(self) -> bool:
        """Return whether it is a list."""
        return isinstance(self._value, list)

    @property
    def is_text(self) -> bool:
        """Return whether it is text that is not blank."""
        return isinstance(self._value, str) and bool(self._value.strip())

    def __str__(self) -> str:
        return shown_path(self.document, self.path)

    def _child(self, step: str | int, value: Any) -> Source:
        return Source(value, (*self.path, step), self._ledger, self.document)

"""Collects text and counts its size; rows of a table that do not fit are left out and counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

HEAD = 2
"""Number of lines of a table's head."""


@dataclass(slots=True)
class BoundedText:
    """Collects text."""

    parts: list[str] = field(default_factory=list)
    size: int = 0
    """Size in bytes."""
    lines: int = 0

    def add(self, text: str) -> None:
        """Add text, whatever its size."""
        self.parts.append(text)
        self.size += len(text.encode())
        self.lines += text.count("\n")

    def table(self, what: str, lines: Iterator[str], limit: int, rows: int) -> None:
        """Add as many rows of a table as fit, after its head.

        Args:
            what: What the rows are, in the plural.
            lines: The head and the rows.
            limit: Maximum size of the whole text in bytes.
            rows: Maximum number of rows.
        """
        left = 0
        for number, line in enumerate(lines):
            if number < HEAD or (not left and number < HEAD + rows and self.size + len(line.encode()) < limit):
                self.add(line)
            else:
                left += 1
        self.add(f"\n{left} more {what} are left out here.\n\n" if left else "\n")

    def items(self, texts: Sequence[str], *, size: int, lines: int, fewest: int) -> int:
        """Add texts of a line each until the whole text has this size or number of lines; return how many were added.

        Args:
            texts: The texts.
            size: Maximum size of the whole text in bytes.
            lines: Maximum number of lines of the whole text.
            fewest: How many texts are added whatever their size.
        """
        for number, text in enumerate(texts):
            if number >= fewest and (self.lines >= lines or self.size + len(text.encode()) > size):
                return number
            self.add(text)
        return len(texts)

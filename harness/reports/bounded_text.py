"""Collects text up to a maximum size; what does not fit is left out and counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class BoundedText:
    """Collects text up to a limit."""

    limit: int
    """Maximum size in bytes."""

    parts: list[str] = field(default_factory=list)
    size: int = 0
    left_out: int = 0

    def always(self, text: str) -> None:
        """Add text without checking its size."""
        self.parts.append(text)
        self.size += len(text.encode())

    def table(self, what: str, lines: Iterator[str], limit: int) -> None:
        """Add as many lines of a table as fit; the first two lines are its head."""
        left = 0
        for row, line in enumerate(lines):
            if row < 2 or (not left and self.size + len(line.encode()) < limit):
                self.always(line)
            else:
                left += 1
        self.always(f"\n{left} more {what} are left out here.\n\n" if left else "\n")

    def item(self, text: str) -> None:
        """Add text if it fits; after the first text that does not fit, all further texts are left out too."""
        # Half a kilobyte stays free for the closing sentence.
        if self.left_out or self.size + len(text.encode()) > self.limit - 500:
            self.left_out += 1
        else:
            self.always(text)

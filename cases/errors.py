"""The errors of case files: what is wrong, and in which line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing to correct in a case file."""

    message: str
    line: int | None = None
    """The line, counted from 1; None if the mistake is not in a line."""


class CaseError(Exception):
    """A case cannot be used. `mistakes` holds everything that is wrong with it, and not only the first thing."""

    def __init__(self, where: Path | str, mistakes: Sequence[Mistake | str]) -> None:
        self.where = str(where)
        self.mistakes = tuple(item if isinstance(item, Mistake) else Mistake(item) for item in mistakes)
        super().__init__(
            "\n".join(
                f"{self.where}:{item.line}: {item.message}" if item.line else f"{self.where}: {item.message}"
                for item in self.mistakes
            )
        )

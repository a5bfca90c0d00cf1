"""Limits what the items of a labelled set stand for: a few lines that repeat each other could fill the memory."""

from __future__ import annotations

from dataclasses import dataclass

from viva.records.text import counted

MOST_REPEATS = 10_000
"""Maximum number of times that a part is repeated: a mistyped number must not fill the memory."""
MOST_CHARACTERS = 4 * 1024 * 1024
"""Maximum number of characters of one item; a judge is shown 400,000 of a transcript."""
MOST_TURNS = 20_000
"""Maximum number of rounds and steps of one item."""
MOST_OF_SET = 128 * 1024 * 1024
"""Maximum number of characters of all items."""
MOST_TURNS_OF_SET = 500_000
"""Maximum number of rounds and steps of all items."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much a part of a set stands for."""

    characters: int = 0
    turns: int = 0
    """Rounds and steps."""

    def __add__(self, other: Extent) -> Extent:
        """Return the extent of both."""
        return Extent(self.characters + other.characters, self.turns + other.turns)

    def times(self, number: int) -> Extent:
        """Return the extent of a part that is repeated."""
        return Extent(self.characters * number, self.turns * number)

    def fault(self, characters: int, turns: int) -> str:
        """Return what is too much, with the limit; empty if nothing is."""
        if self.characters > characters:
            return f"{counted(self.characters, 'character')}, and may have {characters:,}"
        if self.turns > turns:
            return f"{counted(self.turns, 'round and step', 'rounds and steps')}, and may have {turns:,}"
        return ""


@dataclass(slots=True)
class TextBudget:
    """The number of characters that the texts of one item may still have before its parts are repeated."""

    item: str
    left: int = MOST_CHARACTERS

    def take(self, characters: int) -> None:
        """Count a text before it is made.

        Raises:
            ValueError: the item has too many characters.
        """
        self.left -= characters
        if self.left < 0:
            over = Extent(MOST_CHARACTERS - self.left).fault(MOST_CHARACTERS, MOST_TURNS)
            raise ValueError(f"item {self.item[:100]!r} has {over} up to here; shorten or split it")

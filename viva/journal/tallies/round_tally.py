"""Counts the rounds of a conversation by their numbers, to detect missing rounds."""

from __future__ import annotations

from dataclasses import dataclass

from viva.records.text import counted

MOST_NUMBER = 10**9 - 1
"""Maximum number of a round, or of rounds: nine digits, as the patterns of `lines` have it. Readers keep numbers in
four bytes, and no conversation comes near."""


def number_of(value: object, least: int = 1) -> int | None:
    """Return a value from a file as a round number or a number of rounds; None if it is invalid."""
    return value if type(value) is int and least <= value <= MOST_NUMBER else None


@dataclass(slots=True)
class RoundTally:
    """The rounds of a conversation that were found; small, because a journal may hold many conversations."""

    upto: int = 0
    """All rounds from 1 to this one were found."""
    beyond: set[int] | None = None
    """The rounds after a gap."""

    def see(self, number: int) -> None:
        """Note that a round was found. A round that is found twice counts once."""
        if number == self.upto + 1:
            self.upto = number
            while self.beyond and self.upto + 1 in self.beyond:
                self.beyond.remove(self.upto + 1)
                self.upto += 1
        elif number > self.upto:
            if self.beyond is None:
                self.beyond = set()
            self.beyond.add(number)

    def gap(self, count: int | None = None) -> str | None:
        """Return which rounds are missing, in words; None if the conversation is whole.

        Args:
            count: The number of rounds at the end; None if it is not known.
        """
        last = max(self.beyond) if self.beyond else self.upto
        if count is not None and last > count:
            return f"it ended with {counted(count, 'round')}, but has a round {last:,}"
        total = last if count is None else count
        missing = total - self.upto - len(self.beyond or ())
        if not missing:
            return None
        if missing == 1:
            return f"round {self.upto + 1:,} of {total:,} is missing"
        return f"{missing:,} of {total:,} rounds are missing, the first of them round {self.upto + 1:,}"

"""How much of what an agent wrote a check looks at, and what one text brings about."""

from __future__ import annotations

from dataclasses import dataclass

from viva.records.verdict import Label

MOST_CHARACTERS = 100_000
"""Characters that one check looks at, over all rounds and all checks inside of it. It bounds the time that any reply
can take; what is beyond is said in the verdict, which is then `unsure` unless the rest does not matter."""
SHOWN = 200
"""Maximum number of characters of what the agent wrote that a verdict shows."""
AROUND = 60
"""Characters that are shown before and after what was found."""


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text of the agent's."""

    text: str
    whole: bool = True
    """Whether the agent wrote no more than this."""


@dataclass(frozen=True, slots=True)
class FoundInText:
    """What a check found in one text."""

    label: Label
    """`hit`, `miss`, or `unsure` if not enough was inspected."""
    got: str
    """What there is, in words or as an excerpt."""
    quote: str = ""
    """Exact words of the text that show it; empty if none do."""


class Allowance:
    """Counts how many characters a check may still inspect."""

    def __init__(self, left: float = MOST_CHARACTERS) -> None:
        self._left = left
        self.cut = False
        """Whether anything was left out so far."""

    @property
    def is_used_up(self) -> bool:
        """Whether nothing more may be inspected."""
        return self._left <= 0

    def spend(self, characters: int) -> bool:
        """Count what takes as long as so many characters; return whether there was room for it."""
        self._left -= characters
        self.cut = self.cut or self._left < 0
        return self._left >= 0

    def look(self, given: WrittenText, cost: float = 1.0, most: int = MOST_CHARACTERS) -> tuple[str, bool]:
        """Return the beginning of a text that may be inspected, and whether that is all of it.

        Args:
            given: The text.
            cost: What a character counts.
            most: Maximum number of characters that may be inspected.
        """
        room = max(0, min(most, int(self._left / cost)))
        shown = given.text if len(given.text) <= room else given.text[:room]
        self._left -= len(shown) * cost
        whole = given.whole and shown is given.text
        self.cut = self.cut or not whole
        return (shown if shown.isascii() else _encodable(shown)), whole


def _encodable(text: str) -> str:
    """Return a text in which lone surrogates, which no engine of patterns takes, are question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def excerpt(text: str, start: int = 0, end: int = 0) -> str:
    """Return the surroundings of a place in a text, or its beginning."""
    if not end:
        return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    first, last = max(0, start - AROUND), min(len(text), max(end + AROUND, start + SHOWN - 2 * AROUND))
    last = min(last, first + 2 * SHOWN)
    return f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"


def quoted(text: str) -> str:
    """Return an excerpt as `got` shows it; of an empty text, words."""
    return repr(excerpt(text)) if text.strip() else "an empty text"


def decided(fulfilled: bool, *, whole: bool, final: bool) -> Label:
    """Return the label of a check of a text.

    Args:
        fulfilled: Whether what was inspected fulfils it.
        whole: Whether all of the text was inspected.
        final: Whether nothing in the rest could change that.
    """
    if not whole and not final:
        return Label.UNSURE
    return Label.HIT if fulfilled else Label.MISS

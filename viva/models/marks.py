"""Random marks in prompts. A transcript lies between marks that nobody in it can know, and an answer repeats one.

The same question has other marks each time it is asked. Where answers are kept, the marks that were drawn are
remembered, so that a question is recognized, and its answer gets the marks of the present question.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping

MOST_REMEMBERED = 100_000
"""Maximum number of marks that are remembered. A question whose mark was forgotten is only asked again."""
_HEXADECIMAL = re.compile(r"(?<![0-9a-f])[0-9a-f]{8,32}(?![0-9a-f])")
Pieces = list[str | int]
"""A text in which each mark is replaced by its number, from 0 in the order of the marks' first occurrences."""


class _Drawn:
    """The marks that were drawn, the oldest first; none are remembered before somebody needs them."""

    def __init__(self) -> None:
        self.wanted = False
        self.marks: dict[str, None] = {}


_drawn = _Drawn()


def new_mark(size: int) -> str:
    """Return a random mark of so many bytes, as hexadecimal digits."""
    mark = secrets.token_hex(size)
    if _drawn.wanted:
        _drawn.marks[mark] = None
        if len(_drawn.marks) > MOST_REMEMBERED:
            del _drawn.marks[next(iter(_drawn.marks))]
    return mark


def remember_marks() -> None:
    """Remember the marks that are drawn from now on."""
    _drawn.wanted = True


def without_marks(text: str, numbers: dict[str, int], *, known: bool = False) -> Pieces:
    """Split a text at its marks.

    Args:
        text: The text.
        numbers: The numbers of marks so far, to which those of this text are added.
        known: Whether only the marks that have a number are replaced.
    """
    pieces: Pieces = []
    start = 0
    for found in _HEXADECIMAL.finditer(text):
        mark = found.group()
        if mark not in numbers:
            if known or mark not in _drawn.marks:
                continue
            numbers[mark] = len(numbers)
        pieces += [text[start : found.start()], numbers[mark]]
        start = found.end()
    return [*pieces, text[start:]]


def with_marks(pieces: Pieces, numbers: Mapping[str, int]) -> str:
    """Return a text with the marks of the present question.

    Raises:
        LookupError: it has a mark without a number.
    """
    marks = {number: mark for mark, number in numbers.items()}
    return "".join(piece if isinstance(piece, str) else marks[piece] for piece in pieces)

"""Cuts a text at the edges of the quotes that stand in it, so that a page can mark them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from judge.quotes import Text

Segment = str | tuple[str, list[int]]
"""Plain words, or words with the numbers of the verdicts that quote them."""


def segments(text: str, quotes: Sequence[tuple[int, str]]) -> tuple[list[Segment], set[int]]:
    """Cut a text at the edges of the quotes that stand in it.

    Quotes are looked for as the judge's are: what it was believed is marked, and nothing else.

    Args:
        text: Where to look.
        quotes: Verdict number and words.

    Returns:
        The text in pieces, whose words in order are the text itself; and the verdicts of which a quote was found.
    """
    words = Text(text)
    spans = [(start, end, number) for number, quote in quotes for start, end in words.find(quote)]
    if not spans:
        return ([text] if text else []), set()
    edges = sorted({0, len(text), *(start for start, _, _ in spans), *(end for _, end, _ in spans)})
    pieces: list[Segment] = []
    for start, end in pairwise(edges):
        inside = sorted({number for first, last, number in spans if first <= start and end <= last})
        pieces.append((text[start:end], inside) if inside else text[start:end])
    return pieces, {number for _, _, number in spans}

"""Splits a text at the edges of the quotes that it contains, so that a page can mark them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from viva.judge.quotes import Text

Segment = str | tuple[str, list[int]]
"""Plain text, or text with the numbers of the verdicts that quote it."""


def segments(text: str, quotes: Sequence[tuple[int, str]]) -> tuple[list[Segment], set[int]]:
    """Split a text at the edges of the quotes that it contains.

    Quotes are matched in the same way as a judge's quotes are verified, so exactly the accepted quotes are marked.

    Args:
        text: The text to search.
        quotes: The number of each verdict, and its quote.

    Returns:
        The segments, which together are the whole text, and the numbers of the verdicts whose quotes were found.
    """
    if not quotes:
        return ([text] if text else []), set()
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

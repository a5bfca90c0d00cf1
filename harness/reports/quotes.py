"""Finds where a judge's quotes stand in a text, and cuts the text at their edges so that a page can mark them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

Segment = str | tuple[str, list[int]]
"""Plain words, or words with the numbers of the verdicts that quote them."""

_GAP = re.compile(r"\s*(?:\u2026|\.\.\.|\[\u2026\]|\[\.\.\.\])\s*")
_MARKS = str.maketrans({"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u00a0": " "})


def segments(text: str, quotes: Sequence[tuple[int, str]]) -> tuple[list[Segment], set[int]]:
    """Cut a text at the edges of the quotes that stand in it.

    Quotes are looked for as `judge.evidence` does: whatever the white space and the kind of quotation marks, with an
    ellipsis for anything between.

    Args:
        text: Where to look.
        quotes: Verdict number and words.

    Returns:
        The text in pieces, whose words in order are the text itself; and the verdicts of which a quote was found.
    """
    folded = cache(lambda: _fold(text))  # once, and only where a quote does not stand there to the letter
    spans = [(start, end, number) for number, quote in quotes for start, end in _find(text, quote, folded)]
    if not spans:
        return ([text] if text else []), set()
    edges = sorted({0, len(text), *(start for start, _, _ in spans), *(end for _, end, _ in spans)})
    pieces: list[Segment] = []
    for start, end in pairwise(edges):
        inside = sorted({number for first, last, number in spans if first <= start and end <= last})
        pieces.append((text[start:end], inside) if inside else text[start:end])
    return pieces, {number for _, _, number in spans}


def find(text: str, quote: str) -> list[tuple[int, int]]:
    """Start and end of each part of a quote in a text; empty where not all parts stand there in order."""
    return _find(text, quote, lambda: _fold(text))


def _find(text: str, quote: str, fold: Callable[[], tuple[str, list[int]]]) -> list[tuple[int, int]]:
    quote = quote.strip()
    at = text.find(quote)
    if quote and at >= 0:
        return [(at, at + len(quote))]
    parts = [_fold(part)[0].strip(" ") for part in _GAP.split(quote)]
    folded, places = fold()
    for wanted in (parts, [part.strip("\"' ") for part in parts]):
        spans = _in_order(folded, [part for part in wanted if part])
        if spans:
            return [(places[start], places[end - 1] + 1) for start, end in spans]
    return []


def _in_order(folded: str, parts: Sequence[str]) -> list[tuple[int, int]]:
    spans, position = [], 0
    for part in parts:
        start = folded.find(part, position)
        if start < 0:
            return []
        position = start + len(part)
        spans.append((start, position))
    return spans


def _fold(text: str) -> tuple[str, list[int]]:
    """The text with one kind of quotation mark and single blanks, and where each of its characters came from."""
    folded: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text.translate(_MARKS)):
        for plain in unicodedata.normalize("NFKC", character) if not character.isascii() else character:
            if not plain.isspace():
                folded.append(plain)
            elif folded and folded[-1] == " ":
                continue
            else:
                folded.append(" ")
            places.append(place)
    return "".join(folded), places

"""Finds where a judge's quotes stand in a text, for whoever believes them and for whoever marks them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property, lru_cache

Span = tuple[int, int]
"""Start and end in the text as it was said."""

_MARKS = str.maketrans({"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u00a0": " "})
_GAP = re.compile(r"\s*(?:\u2026|\.\.\.|\[\u2026\]|\[\.\.\.\])\s*")
_NUMBER_BEFORE = re.compile(r"(?:\d[.,]?|(?<!\w)[-\u2212])$")
_NUMBER_AFTER = re.compile(r"[.,]?\d")
_WORD = re.compile(r"\S+")


class Text:
    """Words to look for quotes in; folded once, and only where a quote does not stand there to the letter.

    A quote counts as found where the same words stand, whatever the white space and the kind of quotation marks; an
    ellipsis stands for anything between, and neither a number nor a word stands in a longer one. A quote without a
    letter or digit is none.
    """

    def __init__(self, words: str) -> None:
        self.words = words

    def find(self, quote: str) -> list[Span]:
        """Where each part of a quote stands; empty where not all parts stand there in order."""
        quote = quote.strip()
        parts = _parts(quote)
        if not any(character.isalnum() for part in parts for character in part):
            return []
        start = _place_of(quote, self.words, 0)
        end = start + len(quote)
        # Beside anything but ASCII it may be part of a letter, or of a word, that is written otherwise.
        if start >= 0 and (self.words[max(0, start - 1) : start] + self.words[end : end + 1]).isascii():
            return [(start, end)]
        folded, spans = self._folded
        for wanted in (parts, [part.strip("\"' ") for part in parts]):
            found = _in_order(folded, [part for part in wanted if part])
            if found:
                return [(spans[first][0], spans[last - 1][1]) for first, last in found]
        return []

    @cached_property
    def _folded(self) -> tuple[str, list[Span]]:
        return fold(self.words)


@lru_cache(maxsize=16)
def _parts(quote: str) -> list[str]:
    """Kept, because one quote is looked for in every turn of a conversation."""
    return [fold(part)[0] for part in _GAP.split(quote)]


def fold(text: str) -> tuple[str, list[Span]]:
    """The text in NFKC with one kind of quotation mark and single blanks, and where each character came from."""
    text = text.translate(_MARKS)
    folded: list[str] = []
    spans: list[Span] = []
    last = 0
    for word in _WORD.finditer(text):
        start, end = word.span()
        if folded and folded[-1] != " ":
            folded.append(" ")
            spans.append((last, start))
        last = end
        if word[0].isascii():
            folded.extend(word[0])
            spans.extend((place, place + 1) for place in range(start, end))
            continue
        for first, after in _clusters(text, start, end):
            for plain in unicodedata.normalize("NFKC", text[first:after]):
                if not plain.isspace():
                    folded.append(plain)
                elif folded and folded[-1] != " ":
                    folded.append(" ")
                else:
                    continue
                spans.append((first, after))
    if folded and folded[-1] == " ":
        folded.pop()
        spans.pop()
    return "".join(folded), spans


def _clusters(text: str, start: int, end: int) -> list[Span]:
    """A word cut before each character that does not combine with what comes before it."""
    edges = [place for place in range(start + 1, end) if not _combines(text[place])]
    return list(zip([start, *edges], [*edges, end], strict=True))


def _combines(character: str) -> bool:
    return unicodedata.combining(character) != 0 or "\u1160" <= character <= "\u11ff"  # Hangul vowels and finals


def _in_order(text: str, parts: Sequence[str]) -> list[Span]:
    spans, position = [], 0
    for part in parts:
        start = _place_of(part, text, position)
        if start < 0:
            return []
        position = start + len(part)
        spans.append((start, position))
    return spans


def _place_of(part: str, text: str, start: int) -> int:
    """Where `part` begins in `text`, or -1: "55" is not found in "1,550" or "-55", nor "hit" in "white"."""
    while (start := text.find(part, start)) >= 0:
        end = start + len(part)
        if not (_one(text[max(0, start - 2) : start], part[:1]) or _one(part[-1:], text[end : end + 2])):
            return start
        start += 1
    return -1


def _one(left: str, right: str) -> bool:
    """Whether a word or a number goes on from the end of `left` to the beginning of `right`."""
    if right[:1].isdigit() and _NUMBER_BEFORE.search(left):
        return True
    if left[-1:].isdigit() and _NUMBER_AFTER.match(right):
        return True
    return _lettered(left[-1:]) and _lettered(right[:1])


def _lettered(character: str) -> bool:
    # Latin, Greek and Cyrillic part their words by blanks; Chinese, say, does not.
    return character.isalpha() and character < "\u0590"

"""Matches a judge's quotes against a text, to verify them and to mark them in reports."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property, lru_cache

Span = tuple[int, int]
"""Start and end in the original text."""

_MARKS = str.maketrans({"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u00a0": " "})
_GAP = re.compile(r"\s*(?:\u2026|\.\.\.|\[\u2026\]|\[\.\.\.\])\s*")
_NUMBER_BEFORE = re.compile(r"(?:\d[.,]?|(?<!\w)[-\u2212])$")
_NUMBER_AFTER = re.compile(r"[.,]?\d")
_WORD = re.compile(r"\S+")


class Text:
    """A text to search for quotes; it is folded once, and only if a quote does not match exactly.

    A quote matches the same words, whatever the white space and the kind of quotation marks. An ellipsis matches
    anything, and neither a number nor a word matches inside a longer one. A quote without a letter or digit never
    matches.
    """

    def __init__(self, words: str) -> None:
        self.words = words

    def find(self, quote: str) -> list[Span]:
        """Return the span of each part of a quote; empty unless all parts match, in order."""
        quote = quote.strip()
        parts = _parts(quote)
        if not any(character.isalnum() for part in parts for character in part):
            return []
        start = _position_of(quote, self.words, 0)
        end = start + len(quote)
        # Next to a character outside ASCII it may be part of a letter or word that is written differently.
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


class LongText:
    """A text in which quotes are found as in `Text`, without their places, so that megabytes are searched quickly."""

    def __init__(self, words: str) -> None:
        self._words = words
        self._folded = " ".join(unicodedata.normalize("NFKC", words.translate(_MARKS)).split())

    def holds(self, quote: str) -> bool:
        """Return whether all parts of a quote are in the text, in order."""
        quote = quote.strip()
        if _position_of(quote, self._words, 0) >= 0:
            return True
        parts = _parts(quote)
        tries = (parts, [part.strip("\"' ") for part in parts])
        return any(bool(_in_order(self._folded, [part for part in wanted if part])) for wanted in tries)


@lru_cache(maxsize=16)
def _parts(quote: str) -> list[str]:
    """Split a quote at its ellipses. Cached, because one quote is looked up in every turn of a conversation."""
    return [fold(part)[0] for part in _GAP.split(quote)]


def fold(text: str) -> tuple[str, list[Span]]:
    """Return the text in NFKC with one kind of quotation mark and single blanks, and the origin of each character."""
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
            spans.extend((position, position + 1) for position in range(start, end))
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
    """Split a word before each character that does not combine with what comes before it.

    NFKC of the word is then NFKC of its clusters: nothing is composed or reordered across a boundary.
    """
    edges = [place for place in range(start + 1, end) if not _combines(text[place])]
    return list(zip([start, *edges], [*edges, end], strict=True))


@lru_cache(maxsize=4096)
def _combines(character: str) -> bool:
    """Return whether NFKC may join the character to what comes before it, or move it in front of that.

    It may if the character is the second half of a composed letter, whatever its combining class: vowel signs of Indic
    scripts have class 0. A compatibility form, such as a half-width voicing mark, is decided by its decomposition.
    """
    first = unicodedata.normalize("NFKD", character)[0]
    return (
        unicodedata.category(first).startswith("M")  # every character with a combining class is such a mark, too
        or "\u1160" <= first <= "\u11ff"  # Hangul vowels and finals
        or first == "\U00016d67"  # a vowel of Kirat Rai, since Unicode 16; a letter by its category
    )


def _in_order(text: str, parts: Sequence[str]) -> list[Span]:
    spans, position = [], 0
    for part in parts:
        start = _position_of(part, text, position)
        if start < 0:
            return []
        position = start + len(part)
        spans.append((start, position))
    return spans


def _position_of(part: str, text: str, start: int) -> int:
    """Return where `part` begins in `text`, or -1: "55" is not found in "1,550" or "-55", nor "hit" in "white"."""
    while (start := text.find(part, start)) >= 0:
        end = start + len(part)
        if not (_continues(text[max(0, start - 2) : start], part[:1]) or _continues(part[-1:], text[end : end + 2])):
            return start
        start += 1
    return -1


def _continues(left: str, right: str) -> bool:
    """Return whether a word or a number continues from the end of `left` to the beginning of `right`."""
    if right[:1].isdigit() and _NUMBER_BEFORE.search(left):
        return True
    if left[-1:].isdigit() and _NUMBER_AFTER.match(right):
        return True
    return _lettered(left[-1:]) and _lettered(right[:1])


def _lettered(character: str) -> bool:
    # Latin, Greek and Cyrillic separate words by blanks; Chinese, for example, does not.
    return character.isalpha() and character < "\u0590"

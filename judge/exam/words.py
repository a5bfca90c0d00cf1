"""Splits texts into what can be compared in any language: stems of words, and specifics such as numbers.

A *specific* is a token that is compared as a whole: a number, an identifier, a file name, an address. Languages without
spaces are compared by pairs of characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import filterfalse
from typing import NamedTuple, cast

from viva.judge.exam.common_words import common_words
from viva.judge.exam.stems import stem

_TOKEN = re.compile(r"\w+(?:(?:[.@/:'\u2019-]|(?<=\d),(?=\d))\w+)*")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese."""
_NUMBER = re.compile(r"(\d+(?:[.,:]\d+)*)[^\W\d_]{0,2}")
"""A number with a unit or an ending of at most two letters: `11am`, `20th`, `5kg`."""
_FILE = re.compile(r"[\w-]+(?:[/.][\w-]+)*\.[a-z][a-z0-9]{0,4}")
LONGEST = 3_000
"""Maximum number of characters of one message that are compared: its beginning and its end."""
_MOST_REMEMBERED = 20_000
_LONGEST_REMEMBERED = 40
_NOTHING = ""
_ENDS = ".,;:!?"


class _Part(NamedTuple):
    """What a part of a text between spaces consists of."""

    tokens: tuple[str, ...]
    stems: tuple[str, ...]
    specifics: tuple[str, ...]


_seen: dict[str, _Part] = {}
"""Parts of texts that were split before, without those below: most words are seen often."""
_token_of: dict[str, str | None] = {}
"""The token of each part that consists of one, which is a word."""
_stem_of: dict[str | None, str] = {}
"""The stem of each such token; empty if it says nothing about the text."""
_NO_STEMS = frozenset((None, ""))


@dataclass(slots=True)  # made for each message, and a frozen one takes three times as long
class Words:
    """What a text consists of, in lower case."""

    tokens: frozenset[str]
    stems: frozenset[str]
    """Stems of its content words; pairs of characters in languages without spaces."""
    specifics: frozenset[str]


def words_of(text: str) -> Words:
    """Split a text into its words; of a very long text, only the beginning and the end."""
    text = _shortened(text)
    lower = text.casefold()
    plain = lower.isascii()
    if not plain:
        lower = _UNSPACED.sub(r" \g<0> ", lower.replace("\u2019", "'"))  # numbers and names stand between the signs
    words = lower.split()
    # Each step is a loop in C, because every message of every exam is taken apart here.
    tokens = set(map(_token_of.get, words))
    stems = set(map(_stem_of.get, tokens))
    specifics: set[str] = set()
    if None in tokens:
        for word in filterfalse(_token_of.__contains__, words):
            part = _seen.get(word) or _taken_apart(word)
            tokens.update(part.tokens)
            stems.update(part.stems)
            specifics.update(part.specifics)
    stems -= _NO_STEMS
    tokens.discard(None)
    if not plain:
        for run in _UNSPACED.findall(text):
            stems.update(run[at : at + 2] for at in range(len(run) - 1))
    return Words(frozenset(cast("set[str]", tokens)), frozenset(cast("set[str]", stems)), frozenset(specifics))


def sequence_of(text: str) -> tuple[str, ...]:
    """Return the tokens of a text in order; of a very long one those of the beginning and the end."""
    lower = _shortened(text).casefold().replace("\u2019", "'")
    return tuple(_TOKEN.findall(lower))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} {text[-LONGEST // 2 :]}"


def spelling(text: str, part: str) -> str:
    """Return the first word of a text with this stem or specific, as the text has it.

    In languages without spaces, where a stem is a pair of characters, the pair is returned.
    """
    words = (found[0] for found in _TOKEN.finditer(text))
    return next((word for word in words if _key(word.casefold())[1:] == part), part)


def specifics_of(text: str) -> Iterator[str]:
    """Yield the specifics of a text in lower case, however long; those without a digit only if they are addresses."""
    end = 0
    for found in (_WITH_DIGIT if text.isascii() else _WITH_ANY_DIGIT).finditer(text):
        begin = found.start()
        if begin < end:
            continue
        while begin > end and not text[begin - 1].isspace():
            begin -= 1
        end = found.end()
        word = text[begin:end]
        part = _seen.get(word) or _taken_apart(word if word.isascii() else _UNSPACED.sub(" ", word))
        yield from part.specifics


_WITH_DIGIT, _WITH_ANY_DIGIT = re.compile(r"[0-9@]\S*"), re.compile(r"[\d@]\S*")
"""The part of a word from its first digit on."""


def _taken_apart(word: str) -> _Part:
    if word.isdecimal() and word.isascii() and len(word) <= _LONGEST_REMEMBERED:
        # Numbers are seldom seen again, so they are not remembered.
        return _Part((word,), (), (str(int(word)),))
    if len(_seen) + len(_token_of) >= _MOST_REMEMBERED:
        for remembered in (_seen, _token_of, _stem_of):
            remembered.clear()
    plain = word.rstrip(_ENDS)
    if plain.isalpha() and plain.isascii():  # nearly all words; what follows takes five times as long
        short = _stem_of_word(plain)
        if len(word) <= _LONGEST_REMEMBERED:
            _stem_of[plain], _token_of[word] = short, plain
        return _Part((plain,), (short,), ())
    part = _parts_of(word)
    if len(word) <= _LONGEST_REMEMBERED:
        _seen[word] = part
    return part


def _parts_of(word: str) -> _Part:
    tokens = tuple(_TOKEN.findall(word))
    keys = [_key(token) for token in tokens]
    stems = tuple(key[1:] for key in keys if key.startswith("w"))
    return _Part(tokens, stems, tuple(key[1:] for key in keys if key.startswith("s")))


def _key(token: str) -> str:
    if any(sign.isdigit() for sign in token):
        return f"s{specific(token)}"
    if _UNSPACED.search(token):
        return _NOTHING
    if "@" in token or "_" in token.strip("_") or _FILE.fullmatch(token):
        return f"s{token}"
    short = _stem_of_word(re.split(r"['\u2019]", token, maxsplit=1)[0])
    return f"w{short}" if short else _NOTHING


def _stem_of_word(word: str) -> str:
    if len(word) < 4 and (word.isascii() or len(word) < 2 or word < "\u1100"):
        return ""  # nearly always a function word; a Korean word may have two letters
    short, common = stem(word), common_words()
    return "" if short in common or word in common else short


def specific(token: str) -> str:
    """Return a specific in the form in which its spellings are equal: `1,275`, `1275` and `1275.0` are one number."""
    found = _NUMBER.fullmatch(token)
    if found is None:
        return token
    digits = found[1]
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits):
        digits = digits.replace(",", "")
    if re.fullmatch(r"\d+[.,]\d+", digits):
        digits = digits.replace(",", ".").rstrip("0").rstrip(".")
    try:
        return str(int(digits))
    except ValueError:
        return digits


def is_small(key: str) -> bool:
    """Return whether a specific is a number that says little by itself: a count, an hour, the number of a list."""
    return key.isdecimal() and len(key) < 3


def joined(parts: Iterable[Words]) -> tuple[frozenset[str], frozenset[str]]:
    """Return all stems and all specifics of several texts."""
    stems: set[str] = set()
    specifics: set[str] = set()
    for part in parts:
        stems |= part.stems
        specifics |= part.specifics
    return frozenset(stems), frozenset(specifics)

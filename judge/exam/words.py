"""Takes texts apart into what can be compared in any language: stems of words, and specifics such as numbers.

A *specific* is a token that stands for itself: a number, an identifier, a file name, an address. Languages without
spaces are compared by pairs of characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

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
LONGEST = 6_000
"""Maximum number of characters of one message that are compared: its beginning and its end."""
_MOST_REMEMBERED = 20_000
_NOTHING = ""
_seen: dict[str, str] = {}
"""Tokens that were sorted before: `w…` is the stem of a content word, `s…` a specific, empty is neither."""


@dataclass(frozen=True, slots=True)
class Words:
    """What a text consists of, in lower case."""

    tokens: tuple[str, ...]
    stems: frozenset[str]
    """Stems of its content words; pairs of characters in languages without spaces."""
    specifics: frozenset[str]


def words_of(text: str) -> Words:
    """Take a text apart; of a very long one only the beginning and the end."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} {text[-LONGEST // 2 :]}"
    lower = text.casefold()
    if not text.isascii():
        lower = _UNSPACED.sub(r" \g<0> ", lower)  # numbers and names stand between the signs
    tokens = _TOKEN.findall(lower)
    stems: list[str] = []
    specifics: list[str] = []
    for token in tokens:
        key = _seen.get(token)
        if key is None:
            key = _sorted(token)
        if key:
            (stems if key[0] == "w" else specifics).append(key[1:])
    if not text.isascii():
        for run in _UNSPACED.findall(text):
            stems += [run[at : at + 2] for at in range(len(run) - 1)]
    return Words(tuple(tokens), frozenset(stems), frozenset(specifics))


def _sorted(token: str) -> str:
    if len(_seen) >= _MOST_REMEMBERED:
        _seen.clear()
    key = _seen[token] = _key(token)
    return key


def _key(token: str) -> str:
    if any(sign.isdigit() for sign in token):
        return f"s{specific(token)}"
    if _UNSPACED.search(token):
        return _NOTHING
    if "@" in token or "_" in token.strip("_") or _FILE.fullmatch(token):
        return f"s{token}"
    word = re.split(r"['\u2019]", token, maxsplit=1)[0]
    if len(word) < 4 and (word.isascii() or len(word) < 2 or word < "\u1100"):
        return _NOTHING  # nearly always a function word; a Korean word may have two letters
    short = stem(word)
    return _NOTHING if short in common_words() or word in common_words() else f"w{short}"


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
    return key.isdigit() and len(key) < 3


def joined(parts: Iterable[Words]) -> tuple[frozenset[str], frozenset[str]]:
    """Return all stems and all specifics of several texts."""
    stems: set[str] = set()
    specifics: set[str] = set()
    for part in parts:
        stems |= part.stems
        specifics |= part.specifics
    return frozenset(stems), frozenset(specifics)

"""Finds the numbers in a text, as people and programs write them: `1,234.50`, `1.234,50`, `-5`, `2e3`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_NUMBERS = 200
"""Maximum number of numbers in one text that are inspected."""
LONGEST_NUMBER = 60
"""Maximum number of characters of a number."""
_SPACES = "'\u2019\u00a0\u202f"
_MINUS = "-\u2212"
_SIGNS = f"+{_MINUS}"
# One token for everything that digits hold together, so that no text takes more than linear time; it begins with a
# digit, because what the engine can look for as a set of characters takes it a tenth of the time.
_TOKEN = re.compile(rf"\d[\d.,{_SPACES}]*(?:[eE][-+]?\d{{1,3}}(?!\w))?")
_PLAIN = re.compile(r"(?:\d+(?:[.,]\d+)?|\.\d+)(?:[eE][-+]?\d+)?")
_GROUPED = re.compile(rf"\d{{1,3}}(?:(?P<sep>[.,{_SPACES}])\d{{3}})(?:(?P=sep)\d{{3}})*(?P<rest>(?!(?P=sep))[.,]\d+)?")
_LIST = re.compile(r"\d+(?:,\d+)+")
_GOES_ON = re.compile(rf"[\w.,{_SPACES}{re.escape(_SIGNS)}]*")
"""What may be in a word or a number, read backwards from where a text was cut."""


@dataclass(frozen=True, slots=True)
class FoundNumber:
    """A number in a text, with the values that it may stand for."""

    start: int
    end: int
    values: tuple[float, ...]
    """Several where a reader cannot tell: `1,234` may be 1234 or 1.234."""


def numbers_in(text: str) -> Iterator[FoundNumber]:
    """Yield the numbers in a text in their order. Parts of words, versions and dates with dots are none."""
    for token in _TOKEN.finditer(text):
        words, start = token.group().rstrip(f".,{_SPACES}"), token.start()
        if len(words) > LONGEST_NUMBER:
            continue
        before = text[start - 1] if start else " "
        if before == "." and not _is_of_word(text, start - 2):
            words, start = f".{words}", start - 1
            before = text[start - 1] if start else " "
        elif before == "." or before == "_" or before.isalnum():
            continue
        if before in _SIGNS and not _is_of_word(text, start - 2):
            words, start = f"{before}{words}", start - 1
        if values := _values(words):
            yield FoundNumber(start, start + len(words), values)


def without_last_word(text: str) -> str:
    """Return a text without the word or number at its end, with which what follows the text might go on."""
    found = _GOES_ON.match(text[::-1])
    return text if found is None else text[: len(text) - found.end()]


def _is_of_word(text: str, place: int) -> bool:
    return place >= 0 and (text[place] == "_" or text[place].isalnum())


def _values(words: str) -> tuple[float, ...]:
    if words.isdigit() and words.isascii():  # most numbers: without a sign, and nothing in them to interpret
        return (float(words),)
    sign, digits = (-1.0 if words[0] in _MINUS else 1.0), words.lstrip(_SIGNS)
    found: list[float] = []
    if _PLAIN.fullmatch(digits):
        found.append(float(digits.replace(",", ".")))
    if (grouped := _GROUPED.fullmatch(digits)) is not None:
        rest = grouped["rest"] or ""
        whole = digits[: len(digits) - len(rest)]
        found.append(float("".join(filter(str.isdigit, whole)) + rest.replace(",", ".")))
    elif not found and _LIST.fullmatch(digits):
        found += [float(each) for each in digits.split(",")]
    return tuple(dict.fromkeys(sign * value for value in found if math.isfinite(value)))

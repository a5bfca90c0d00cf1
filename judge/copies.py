"""Recognises what a judge's model copied from what it was shown: a verdict, a reason, or a mark that is not its own."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cached_property

from viva.records.text import without_invisible

SHORTEST_COPY = 20
"""Minimum number of characters of a reason that counts as copied if it is found in the transcript."""
MOST_BETWEEN = 10
"""Maximum number of words between the word "mark" and what is said to be one."""
COPIED = "it repeats a verdict or a reason from the transcript: give your own"
PLANTED = "planted-verdict"
"""The flag of what counts as missed because the judge repeated a verdict or a mark from the transcript."""
PLANTED_REASON = "the judge repeated a verdict or a mark from the transcript"
_MARK = re.compile(r"(?=.*[0-9])(?=.*[a-f])[0-9a-f]{8}")
"""The form of nearly all marks of questions. Dates and many numbers of orders have eight digits, and no letter."""
_CALLED = r"\bmar(?:k(?:s|e|en|er|ers|ing)?|cas?|ques?)"
"""The word "mark" in several languages, without signs above letters; "March" and "market" are none."""


class Said:
    """What a judge was shown, in the forms in which copies of it are recognised."""

    def __init__(self, text: str = "") -> None:
        self._squeezed = squeeze(text)
        self._letters = letters(text)
        self._text = text

    @cached_property
    def _words(self) -> str:
        return spaced(self._text)

    def holds(self, text: str) -> bool:
        """Return whether what was shown has the letters and digits of a text, one after another."""
        return letters(text) in self._letters

    def plants_mark(self, mark: str, beside: str) -> bool:
        """Return whether a wrong mark was taken from what was shown: then the answer follows somebody else's words.

        A slip of the judge's is none: a word in place of the mark ("none", a date, the number of an order) counts only
        where it is said to be the mark, or has the form of one and is in nobody else's words.

        Args:
            mark: The mark of an answer, which is not the question's.
            beside: What the judge was told beside it, such as the mark of the transcript's beginning and end, and the
                heads of what is shown.
        """
        sought = letters(mark)
        if not sought or sought not in self._letters:
            return False
        if f" {mark.strip()} begins -----\n" in f"{beside}\n":
            return False  # the marker of what is shown, which nobody in it can know
        words = spaced(mark)
        if _MARK.fullmatch(words) and f" {words} " in f" {self._words} " and sought not in letters(beside):
            return True
        between = MOST_BETWEEN if len(sought) > 3 else 1  # short words stand near any other
        return re.search(rf"{_CALLED} (?:\S+ ){{0,{between}}}{words}(?!\S)", self._words) is not None

    def holds_reason(self, reason: str) -> bool:
        """Return whether a reason was copied from what was shown: then the answer is somebody else's."""
        words = letters(reason)
        if len(words) >= SHORTEST_COPY and words in self._letters:
            return True
        # Even a short reason is a copy if the transcript has it as the reason of a verdict, with any quotation marks.
        return bool(words) and f"reason:{_unquoted(squeeze(reason))}" in _unquoted(self._squeezed)


def squeeze(text: str) -> str:
    """Return a text in a form in which differences of white space, case, escapes and invisible characters vanish."""
    plain = unicodedata.normalize("NFKD", without_invisible(_ESCAPE.sub(_unescaped, text)))
    return "".join(without_invisible(plain).split()).casefold()


def letters(text: str) -> str:
    """Return only the letters and digits of a text, as `squeeze` writes them."""
    return "".join(character for character in squeeze(text) if character.isalnum())


def spaced(text: str) -> str:
    """Return the words of a text with one space between them, without signs, in the form of `squeeze`."""
    plain = unicodedata.normalize("NFKD", without_invisible(_ESCAPE.sub(_unescaped, text))).casefold()
    signs = (sign if sign.isalnum() else " " for sign in plain if not unicodedata.combining(sign))
    return " ".join("".join(signs).split())


def _unquoted(text: str) -> str:
    return text.translate(_QUOTES)


_QUOTES = str.maketrans("", "", "\"'`\u2018\u2019\u201c\u201d")


_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\x([0-9a-fA-F]{2})|\\([nrtbf\"/\\])")


def _unescaped(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits is None:
        return match[4] if match[4] in '"/\\' else " "
    return chr(int(digits, 16)) if int(digits, 16) <= sys.maxunicode else match[0]

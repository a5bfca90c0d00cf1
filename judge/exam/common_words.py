"""Frequent words of some languages: they carry no fact of a task, and show which language a text is in."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from viva.judge.exam.stems import stem

LISTS = Path(__file__).parent / "lists"
NO_LANGUAGES = frozenset({"names", "conditions"})
"""Sections of the list of words that are not the frequent words of a language."""


@cache
def listed(file: str) -> dict[str, tuple[str, ...]]:
    """Return the lines of each section of a file in `lists/`."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (LISTS / f"{file}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            lines = sections.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return {name: tuple(each) for name, each in sections.items()}


@cache
def word_list(name: str) -> frozenset[str]:
    """Return the words of a section of `lists/words.txt`."""
    return frozenset(" ".join(listed("words")[name]).split())


@cache
def common_words() -> frozenset[str]:
    """Return the words of all languages, and their stems."""
    words = set().union(*_by_language().values())
    return frozenset(words | {stem(word) for word in words if len(word) > 3})


@cache
def _by_language() -> dict[str, frozenset[str]]:
    return {name: word_list(name) for name in listed("words") if name not in NO_LANGUAGES}


def language_of(words: set[str]) -> str | None:
    """Return the language of a text by its frequent words, or its script; None if that is not clear.

    Args:
        words: Its distinct words in lower case.
    """
    scripts = [found for word in words if (found := _script(word)) is not None]
    if len(scripts) * 2 > len(words):
        return max(set(scripts), key=scripts.count)
    counts = sorted(((len(words & own), name) for name, own in _by_language().items()), reverse=True)
    (most, name), (second, _) = counts[0], counts[1]
    return name if most >= 2 and most > second else None


_SCRIPTS = (
    ("\u0370", "\u03ff", "el"), ("\u0590", "\u05ff", "he"), ("\u0600", "\u06ff", "ar"), ("\u0900", "\u097f", "hi"),
    ("\u0e00", "\u0e7f", "th"), ("\u3040", "\u30ff", "ja"), ("\u3400", "\u9fff", "zh"), ("\uac00", "\ud7af", "ko"),
)  # fmt: skip


def _script(word: str) -> str | None:
    if word.isascii():
        return None
    return next((name for first, last, name in _SCRIPTS for sign in word if first <= sign <= last), None)

"""Shortens words so that their forms compare equal, in any language that inflects at the end."""

from __future__ import annotations

STEM = 5
"""Number of letters that are compared; English, German or Russian endings begin after about so many."""
ENDINGS = frozenset("senyai")
"""Last letters that a word of five letters loses: `files` and `file`, `нужны` and `нужн`."""


def stem(word: str) -> str:
    """Return the beginning of a word in lower case, without what is likely to be its ending."""
    short = word[:STEM]
    return short[:-1] if len(word) == STEM and short[-1] in ENDINGS else short

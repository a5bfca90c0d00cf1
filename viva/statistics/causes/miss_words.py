"""Reduces what judges and checks said of a miss to the words that tell causes apart, whatever the case is about."""

from __future__ import annotations

import re
from functools import lru_cache

MOST_TEXT = 500
"""Maximum number of characters of a reason or statement; the rest is not read."""
MOST_WORDS = 40

# Quoted values, addresses, paths, and everything with a digit differ from case to case; so do names.
_QUOTED = re.compile(r""""[^"\n]{1,80}"|“[^”\n]{1,80}”|`[^`\n]{1,80}`|(?<!\w)'[^'\n]{1,80}'(?!\w)""")
# What a check adds to the message of an assertion that failed.
_LINE = re.compile(r"\(line \d{1,9} of the check\)")
_IN_VALUES = re.compile(r"[\d/@]")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+(?:\.? [A-Z][a-z]+)*")
_WORD = re.compile(r"[^\W\d_]{2,}")
_FUNCTION_WORDS = frozenset(
    """
    about above after again agent all also although am an and any are as asked assert assertionerror assistant
    at be because been before being both but by can could customer did do does doing done during each either
    else error even ever every examiner fail failed fails few for from further gave give given gives had has
    have having he her here him his how however if in instead into is it its itself just made make makes may
    me might miss missed missing more most much must neither never no none nor not nothing now of off on once
    one only onto or other our out over own point replied reply response round rounds run said say says see
    seems shall she should since so some still such than that the their them then there these they this those
    though through thus to told too turn turns under until up upon user users very was we were what when where
    whether which while who whom whose why will with within without would wrong yet you your
    """.split()  # noqa: SIM905 - a list literal would take 170 lines
)
"""Words that say nothing of a cause, and those that every verdict has."""
_ENDINGS = (
    *("ifications", "ification", "ications", "ication", "izations", "ization", "ations", "ation", "itions", "ition"),
    *("ements", "ement", "ments", "ment", "ances", "ance", "ences", "ence", "ively", "ingly", "edly", "tions", "tion"),
    *(
        "sions",
        "sion",
        "ions",
        "ings",
        "ably",
        "able",
        "ive",
        "ing",
        "ies",
        "ied",
        "ion",
        "ely",
        "ed",
        "es",
        "ly",
        "er",
    ),
    *("al", "s", "e", "y"),
)


@lru_cache(maxsize=4096)
def miss_words(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that are neither values, names nor function words.

    Args:
        text: What a judge or a check said: hostile text, of at most `MOST_TEXT` characters.
    """
    words = _QUOTED.sub(" ", _LINE.sub(" ", text)).split()
    plain = _NAME.sub(" ", " ".join([word for word in words if _IN_VALUES.search(word) is None]))
    found: dict[str, None] = {}
    for word in _WORD.findall(plain.lower()):
        if word not in _FUNCTION_WORDS:
            found[stem(word)] = None
            if len(found) == MOST_WORDS:
                break
    return frozenset(found)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return a word without its ending, so that *confirmed* and *confirmation* are one."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiou":
        word = word[:-1]
    return word.rstrip("eiy") if len(word) > 4 else word

r"""Makes a check of the right letters of a multiple-choice question.

Inspect's `multiple_choice` takes the letters of the last line `ANSWER: …` (`parse_answers` in
`inspect_ai/solver/_multiple_choice.py`), and its scorer `choice` wants exactly the right ones. So a reply that
names one letter after the other answers with the last of them, and one that names several in a line answers with none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations
from typing import Any

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789"
"""The letters of choices in their order, as Inspect gives them."""
MOST_ORDERS = 3
"""Letters whose every order is accepted; of more, only that of the alphabet: a check is no longer than a page."""
_MARKS = r"\s*_`"
"""Characters around a word that make it bold, or code."""
_BETWEEN = r"[\s,]*(?:and\s+)?"
_NO_ANSWER = rf"(?:\n[{_MARKS}>#-]*(?:[^{_MARKS}>#a-].*|a(?:[^n\n].*|n(?:[^s\n].*)?)?)?)*"
"""Lines of which none begins as `ANSWER:` does; the engine of checks has no look-ahead."""


def letters_of(texts: Sequence[str], number: int) -> str:
    """Return the letters that targets name; empty if they name something else.

    Args:
        texts: The targets: a letter each, or several in one text.
        number: Of the choices.
    """
    named = "".join(text.upper() if len(text) == 1 else re.sub(r"[\s,]", "", text) for text in texts)
    return "".join(dict.fromkeys(named)) if set(named) <= set(LETTERS[:number]) else ""


def letter_check(letters: str, number: int) -> dict[str, Any]:
    """Return the check that the last line `ANSWER: …` of a reply names these letters and no others.

    Args:
        letters: The right ones.
        number: Of the choices.
    """
    inner = sorted(letters, key=LETTERS.index)
    orders = permutations(inner) if len(inner) <= MOST_ORDERS else [tuple(inner)]
    named = "|".join(_BETWEEN.join(order) for order in orders)
    words = rf"(?-i:[.):](?:[^A-{_last(number)}\n]|[A-{_last(number)}][\w'])*)?"
    line = rf"[{_MARKS}>#-]*answer[{_MARKS}]*:[{_MARKS}$(]*(?:{named})[{_MARKS}$).]*{words}"
    pattern = rf"(?:\A|\n){line}{_NO_ANSWER}\s*\z"
    written = dict.fromkeys(joint.join(inner) for joint in ("", ",", ", "))
    lines = (
        form.format(each)
        for each in written
        for form in ("ANSWER: {}", "ANSWER: {}.", "ANSWER: ({})", "ANSWER: ${}$", "ANSWER: **{}**", "**ANSWER: {}**")
    )
    # A pattern is looked for in the first few thousand characters of a reply; how it ends, in all of it.
    ending = {"text": [f"\n{line}" for line in lines], "ignore_case": True}
    return {"any": [{"regex": {"pattern": pattern, "ignore_case": True}}, {"ends_with": ending}]}


def _last(number: int) -> str:
    return LETTERS[min(number, 26) - 1]

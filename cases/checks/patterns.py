"""Compiles the regular expressions of checks with an engine that takes linear time, whatever the agent wrote.

It is the one of the Rust package `regex`, which pydantic contains. It has no look-around and no references to groups:
these are what makes other engines take exponential time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

LONGEST_PATTERN = 1_000
"""Maximum number of characters of a pattern."""
MOST_PARTS = 500
"""Maximum of `parts_of` a pattern."""
FEWEST_LOOKED_AT, MOST_LOOKED_AT = 4_000, 100_000
"""Characters of a reply in which a pattern is looked for: the more parts it has, the fewer."""
_PARTS_TIMES_CHARACTERS = 100_000
_WIDE = 5
"""What a class of thousands of characters (`\\w`) counts."""
_TOKEN = re.compile(
    r"\\[pP]\{[^}]*\}|\\.|\[(?:\\.|\[:\w+:\]|[^\]\\])*\]|\{(?P<least>\d{1,9})(?P<range>,(?P<most>\d{0,9}))?\}|.", re.S
)


class PatternFault(ValueError):
    """A pattern cannot be used; the message says why."""


def compiled(pattern: str, ignore_case: bool = False, whole: bool = False) -> Callable[[str], bool]:
    """Return a function that tells whether a text without lone surrogates matches.

    Raises:
        PatternFault: it is not a regular expression of this engine, or too large.
    """
    return _compiled(pattern, ignore_case, whole)


@lru_cache(maxsize=1024)
def _compiled(pattern: str, ignore_case: bool, whole: bool) -> Callable[[str], bool]:
    # Here, because most cases have no pattern.
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    if len(pattern) > LONGEST_PATTERN:
        raise PatternFault(f"it is longer than {LONGEST_PATTERN:,} characters, the maximum")
    if parts_of(pattern) > MOST_PARTS:
        raise PatternFault(f"it repeats too much: written out, it has more than {MOST_PARTS} parts")
    flags = "(?i)" if ignore_case else ""
    try:
        # On its own first: its closing brackets must not end the group around it.
        core = [core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")]
        SchemaValidator(core[0])
        written = (
            rf"{flags}\A(?:{pattern}" + "\n" * ("x" in _flags_at_start(pattern)) + r")\z" if whole else flags + pattern
        )
        found: Callable[[str], bool] = SchemaValidator(
            core_schema.str_schema(pattern=written, regex_engine="rust-regex")
        ).isinstance_python
    except SchemaError as error:
        raise PatternFault(_why(str(error))) from error
    return found


def looked_at(pattern: str) -> int:
    """Return how many characters of a reply a pattern is looked for in."""
    return max(FEWEST_LOOKED_AT, min(MOST_LOOKED_AT, _PARTS_TIMES_CHARACTERS // parts_of(pattern)))


@lru_cache(maxsize=1024)
def parts_of(pattern: str) -> int:
    """Return how many parts a pattern has that can be under way at the same time, with repetitions written out.

    Classes, alternatives and quantifiers are parts, and what is repeated counts as often as it is repeated.
    """
    open_groups: list[int] = []
    total = last = 0
    for token in _TOKEN.finditer(pattern):
        text = token.group()
        if text == "(":
            open_groups.append(total)
            total, last = 0, 0
        elif text == ")" and open_groups:
            last = total
            total += open_groups.pop()
        elif token["least"] is not None:
            times = max(1, int(token["most"] or token["least"]))
            # What is repeated has been counted once.
            total += max(1, last) * times - last
            last = max(1, last) * times
        elif text in "*+?|":
            total += 1
            last += 1
        else:
            last = (
                _WIDE
                if text[:2] in (r"\w", r"\W", r"\p", r"\P", r"\b", r"\B")
                else int(text == "." or text[0] in "[\\")
            )
            total += last
        if total > MOST_PARTS * 1000:
            break
    return max(1, total + sum(open_groups))


def _flags_at_start(pattern: str) -> str:
    found = re.match(r"\(\?([a-zA-Z]+)", pattern)
    return found[1] if found else ""


def _why(words: str) -> str:
    if "look-around" in words:
        words = "it has look-around ((?=, (?!, (?<=, (?<!), which takes more than linear time"
        return f"{words}; combine checks with all and not"
    if "backreferences" in words:
        return "it refers back to a group, which takes more than linear time"
    if "size limit" in words:
        return "it repeats too much"
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return next((line.removeprefix("error: ") for line in lines if line.startswith("error:")), lines[-1])[:200]

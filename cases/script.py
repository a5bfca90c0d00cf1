"""The `script` of a case: the examiner's messages when no model examines."""

from __future__ import annotations

import re
import warnings
from typing import Any

from viva.cases.case import ScriptLine
from viva.cases.text import describe

SCRIPT_KEYS = ("say", "for", "if_agent_says")
# More rounds than any exam has. A typo such as 1..5000000000 must not fill the memory.
MAX_REPEATS = 100_000
_LOOP = re.compile(r"\s*([A-Za-z_]\w*)\s+in\s+(-?\d{1,9})\s*\.\.\s*(-?\d{1,9})\s*")


class ScriptMistake(ValueError):
    """One script line is wrong. `key` names the part that is, if that is known."""

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


def read_script_line(item: Any) -> ScriptLine:
    """Read one entry of `script`: plain text, or a mapping with `say` and optionally `for` and `if_agent_says`.

    Raises:
        ScriptMistake: it is neither.
    """
    if isinstance(item, str):
        return ScriptLine(_message(item))
    if not isinstance(item, dict):
        raise ScriptMistake(
            f"a script line is text, or has the keys {', '.join(SCRIPT_KEYS)}; this is {describe(item)}"
        )
    say = _message(item.get("say"))
    pattern = item.get("if_agent_says")
    if pattern is not None:
        _pattern(pattern)
    if item.get("for") is None:
        return ScriptLine(say, if_agent_says=pattern)
    counter, first, last = _loop(item["for"])
    return ScriptLine(say, first, last, counter, pattern)


def _message(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ScriptMistake(f"a script line needs a message in 'say', not {describe(value)}", "say")
    return value


def _pattern(value: Any) -> None:
    if not isinstance(value, str):
        raise ScriptMistake(f"if_agent_says must be text, not {describe(value)}; put it in quotes", "if_agent_says")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(value, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise ScriptMistake(
            f"if_agent_says must be a regular expression, not {describe(value)}: {error}", "if_agent_says"
        ) from error


def _loop(value: Any) -> tuple[str, int, int]:
    match = _LOOP.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ScriptMistake(f"for must look like 'n in 1..50', not {describe(value)}", "for")
    first, last = int(match[2]), int(match[3])
    if not first <= last < first + MAX_REPEATS:
        raise ScriptMistake(f"for counts upwards, {MAX_REPEATS:,} times at most; {describe(value)} does not", "for")
    return match[1], first, last

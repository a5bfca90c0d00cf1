"""Evaluates the checks of JSON: whether a text is or contains some, what is at a path, and whether values agree."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from viva.cases.checks.data import JsonCheck
from viva.cases.checks.json_paths import value_at, written
from viva.judge.checks.json_schemas import schema_fault
from viva.judge.checks.looked_at import SHOWN, Allowance, FoundInText, WrittenText, decided, excerpt, quoted
from viva.judge.checks.same import same_json
from viva.judge.checks.schema_limits import SchemaTooMuch
from viva.records.verdict import Label

_PARSED = 2.0
"""What a character counts that is parsed."""
MOST_FOUND = 20
"""Maximum number of JSON values in one text that are inspected."""
MOST_BROKEN = 100
"""Maximum number of brackets in one text that begin no JSON."""
MOST_LEVELS = 60
"""Maximum depth of JSON."""
LONGEST_TOKEN = 16
"""What is broken at most so many characters before a cut may be whole without it: an escape of two parts has twelve."""
_FENCED = re.compile(r"```[A-Za-z0-9]{0,20}[ \t]*\n(.*?)\n?[ \t]*```", re.S)
_BEGINS = re.compile(r'[{\[](?=\s*["{}\[\]\-0-9tfn])')
_MAY_BE_INFINITE = re.compile(r"[eE]\+?\d{3}|\d{300}")
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.S)


class JsonTooMuch(ValueError):
    """A text holds more than is inspected; the message says what."""


def check_json(check: JsonCheck, given: WrittenText, allowance: Allowance) -> FoundInText:
    """Return what a check finds in a text that is, or contains, JSON."""
    shown, whole = allowance.look(given, _PARSED)
    fault, got = "", f"no JSON: {quoted(shown)}"
    try:
        values = _values_inside(shown, whole=whole) if check.inside else _whole_value(shown)
        for value in values:
            fault = value_fault(check, value)
            if not fault:
                return FoundInText(decided(True, whole=whole, final=check.inside), value_words(value, check))
            got = fault
    except (JsonTooMuch, SchemaTooMuch) as error:
        return FoundInText(Label.UNSURE, f"JSON {error}")
    except RecursionError:
        return FoundInText(Label.UNSURE, "JSON that is nested too deeply")
    return FoundInText(decided(False, whole=whole, final=False), got)


def value_fault(check: JsonCheck, value: Any) -> str:
    """Return why a JSON value does not fulfil a check; empty if it does.

    Raises:
        SchemaTooMuch: it is too large for its schema.
    """
    try:
        found = value_at(value, check.path)
    except (LookupError, TypeError):
        return f"nothing at {written(check.path)} in {_shown(value)}"
    if check.has_value and not same_json(check.value, found):
        return _shown(found)
    if check.schema is not None and (fault := schema_fault(check.schema, found)) is not None:
        return f"{fault}, in {_shown(found)}"
    return ""


def value_words(value: Any, check: JsonCheck) -> str:
    """Return the value that a check is about as it is shown."""
    return _shown(value_at(value, check.path))


def parsed(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is none; NaN and infinity are none either.
        JsonTooMuch: it is nested too deeply, or holds a number that is too large.
    """
    if text.count("[") + text.count("{") > MOST_LEVELS and _levels(text) > MOST_LEVELS:
        raise JsonTooMuch(f"that is nested more than {MOST_LEVELS} levels deep")
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_reader_of_numbers(text))
    except JsonTooMuch:
        raise
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if isinstance(error, _NoConstant):
            raise
        raise JsonTooMuch("with a number of more than 4,300 digits") from error


def _reader_of_numbers(text: str) -> Callable[[str], float] | None:
    # Only numbers like these are too large for Python, and reading each number by a function takes long.
    return _finite if _MAY_BE_INFINITE.search(text) else None


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise JsonTooMuch("with a number above 1.8e308")
    return value


def _whole_value(text: str) -> Iterator[Any]:
    stripped = text.strip()
    fenced = _FENCED.fullmatch(stripped)
    try:
        yield parsed(fenced[1] if fenced else stripped)
    except JsonTooMuch:
        raise
    except ValueError:
        return


def _values_inside(text: str, *, whole: bool) -> Iterator[Any]:
    """Yield the outermost JSON values in a text with words around them: objects and lists.

    Args:
        text: The text.
        whole: Whether it ends here; if not, a value that its end may have cut off ends the search: what is inside of it
            is not an outermost value.
    """
    if text.count("[") + text.count("{") > MOST_LEVELS and _levels(text) > MOST_LEVELS:
        raise JsonTooMuch(f"with brackets more than {MOST_LEVELS} levels deep")
    decoder = json.JSONDecoder(parse_constant=_no_constant, parse_float=_reader_of_numbers(text))
    position = found = broken = 0
    while (begins := _BEGINS.search(text, position)) is not None:
        if found >= MOST_FOUND or broken >= MOST_BROKEN:
            raise JsonTooMuch(f"in more than {MOST_FOUND} places, or with more than {MOST_BROKEN} stray brackets")
        try:
            value, position = decoder.raw_decode(text, begins.start())
        except JsonTooMuch:
            raise
        except ValueError as error:
            if not whole and _may_go_on(error, text):
                return
            broken, position = broken + 1, begins.start() + 1
            continue
        found += 1
        yield value


def _may_go_on(error: ValueError, text: str) -> bool:
    """Return whether JSON may be broken only because its text is cut off."""
    if isinstance(error, _NoConstant):
        return False
    if not isinstance(error, json.JSONDecodeError):
        return True
    return error.msg.startswith("Unterminated string") or error.pos > len(text) - LONGEST_TOKEN


def _levels(text: str) -> int:
    deepest = level = 0
    for found in _STRUCTURE.finditer(text):
        if found.group() in "[{":
            level += 1
            deepest = max(deepest, level)
        elif found.group() in "]}":
            level = max(0, level - 1)
        if deepest > MOST_LEVELS:
            break
    return deepest


class _NoConstant(ValueError):
    pass


def _no_constant(name: str) -> Any:
    raise _NoConstant(f"{name} is not JSON")


def _shown(value: Any) -> str:
    """Return a value as JSON; of a large one, the beginning, without writing all of it."""
    if isinstance(value, str):
        return json.dumps(excerpt(value), ensure_ascii=False)
    words = ""
    for chunk in json.JSONEncoder(ensure_ascii=False).iterencode(value):
        words += chunk
        if len(words) > SHOWN:
            return words[: SHOWN - 1] + "…"
    return words

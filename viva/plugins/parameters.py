"""Reads the parameters that follow the name of a part, as in `file.py:Brevity(words=3)`, and puts them into words."""

from __future__ import annotations

import ast
import hashlib
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from pprint import pformat
from typing import Any

from viva.plugins.import_strings import PluginError
from viva.records.redact import SECRET_NAMES, redact
from viva.records.text import storable

MOST_SHOWN = 100
"""Maximum number of characters of a value that are shown in words."""
_LITERALS = (bool, int, float, complex, str, bytes, type(None))
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "'\""


def split_list(text: str) -> list[str]:
    """Split a list at its commas, but not at those inside parentheses; empty elements are left out."""
    parts, begin, depth, quote, escaped = [], 0, 0, "", False
    for index, character in enumerate(text):
        if quote:
            if escaped or character == "\\":
                escaped = not escaped
            elif character == quote:
                quote = ""
        elif character in _QUOTES:
            quote = character if depth else ""
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth = max(0, depth - 1)
        elif character == "," and not depth:
            parts.append(text[begin:index])
            begin = index + 1
    return [part.strip() for part in (*parts, text[begin:]) if part.strip()]


def split_parameters(spec: str) -> tuple[str, dict[str, Any]]:
    """Split `PART(name=literal, …)` into the part and its parameters; without parentheses there are none.

    Raises:
        PluginError: what is in the parentheses is not a list of named literals.
    """
    fault = None
    for part, call in _calls(spec):
        try:
            parsed = _parsed(call)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            # The parenthesis may be part of a path.
            if fault is None and (":" in part or spec.endswith(")")):
                fault = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
            continue
        return part, _parameters(spec, part, parsed)
    if fault is not None:
        raise _unreadable(spec, f"{fault.partition('.')[0]}.")
    return spec, {}


def parameters_in_words(parameters: Mapping[str, Any]) -> str:
    """Return parameters as `split_parameters` reads them, sorted by name; empty if there are none.

    A value that is long or may be secret is only described, in a form that `split_parameters` refuses.
    """
    return ", ".join(f"{name}={_in_words(name, parameters[name])}" for name in sorted(parameters))


def is_literal(value: object) -> bool:
    """Return whether a value can be written as a literal; sets, which have no order, do not count."""
    if type(value) in (list, tuple):
        return all(is_literal(item) for item in value)  # type: ignore[attr-defined]
    if type(value) is dict:
        return all(is_literal(key) and is_literal(item) for key, item in value.items())
    return type(value) in _LITERALS


def _calls(spec: str) -> Iterator[tuple[str, str]]:
    """Yield what may be the part and the parentheses after it, from left to right."""
    for found in re.finditer(r"(?<=\w)\(", spec):
        yield spec[: found.start()], spec[found.start() :]


def _parsed(parentheses: str) -> ast.Call:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in texts, which are the user's own affair
        call = ast.parse(f"part{parentheses.rstrip()}", mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError("something follows the parentheses")
    return call


def _parameters(spec: str, part: str, call: ast.Call) -> dict[str, Any]:
    short = part.rpartition(":")[2]
    found: dict[str, Any] = {}
    if call.args or any(each.arg is None for each in call.keywords):
        raise _unreadable(spec, f"name each parameter, as in {short}(parameter=3).")
    for each in call.keywords:
        assert each.arg is not None
        if each.arg in found:
            raise _unreadable(spec, f"{each.arg!r} is given twice.")
        try:
            found[each.arg] = value = ast.literal_eval(each.value)
            fits = is_literal(value)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            fits = False
        if not fits:
            known = "a number, a text in quotes, True, False, None, or a list, tuple or dict of these"
            raise _unreadable(spec, f"the value of {each.arg!r} must be {known}.")
    return found


def _unreadable(spec: str, why: str) -> PluginError:
    return PluginError(f"the parameters in {spec!r} cannot be read: {why}")


def _in_words(name: str, value: object) -> str:
    # pformat sorts dicts, so that equal values have equal words.
    text = storable(pformat(value, width=sys.maxsize))
    if redact(text) != text or (isinstance(value, str) and SECRET_NAMES.search(name)):
        return "<redacted>"
    if len(text) > MOST_SHOWN:
        return f"<{len(text):,} characters, SHA-256 {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
    return text

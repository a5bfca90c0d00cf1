"""Fills in the variables of Nunjucks templates: plain ones and a few filters; everything else is left and named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

DEEPEST = 5
"""Times that a value which is itself a template is filled in."""
WHOLE = 1e21
LONGEST = 1_000_000
"""Maximum number of characters of a text that templates produce; values may refer to each other."""
_TAG = re.compile(r"\{\{-?\s*(?P<name>[A-Za-z_][\w.]*)\s*(?:\|\s*(?P<filter>\w+)\s*)?-?\}\}")
_ANY = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.S)
_FILTERS: dict[str, Callable[[Any], Any]] = {
    "dump": lambda value: json.dumps(value, ensure_ascii=False),
    "lower": lambda value: in_words(value).lower(),
    "upper": lambda value: in_words(value).upper(),
    "trim": lambda value: in_words(value).strip(),
    "safe": lambda value: value,
    "string": lambda value: value,
}


def in_words(value: Any) -> str:
    """Return a variable as JavaScript writes it into a text: whole numbers have no decimals."""
    if isinstance(value, float) and value.is_integer() and abs(value) < WHOLE:
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def filled_in(value: Any, variables: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """Return plain data with all variables in its texts filled in, and the parts of templates that were left.

    Args:
        value: Text, or a list or mapping of texts.
        variables: Values by name; a dotted name goes into mappings.
    """
    left: list[str] = []
    return _filled(value, variables, left), list(dict.fromkeys(left))


def is_template(value: Any) -> bool:
    """Return whether a value is, or holds, text with parts of templates in it."""
    if isinstance(value, str):
        return _ANY.search(value) is not None
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(is_template(each) for each in inner)


def names_in(text: str) -> list[str]:
    """Return the names of the variables that a template uses, each once."""
    return list(dict.fromkeys(match["name"].partition(".")[0] for match in _TAG.finditer(text)))


def _filled(value: Any, variables: Mapping[str, Any], left: list[str]) -> Any:
    if isinstance(value, dict):
        return {_filled(key, variables, left): _filled(each, variables, left) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, variables, left) for each in value]
    if not isinstance(value, str):
        return value
    text = value
    for _ in range(DEEPEST):
        before, text = text, _TAG.sub(lambda match: _written(match, variables), text)
        if text == before or len(text) > LONGEST:
            break
    left += [match.group() for match in _ANY.finditer(text[:LONGEST])]
    return text[:LONGEST]


def _written(match: re.Match[str], variables: Mapping[str, Any]) -> str:
    found: Any = variables
    for step in match["name"].split("."):
        if not isinstance(found, Mapping) or step not in found:
            return match.group()
        found = found[step]
    if match["filter"] is None:
        return in_words(found)
    known = _FILTERS.get(match["filter"])
    return match.group() if known is None else in_words(known(found))

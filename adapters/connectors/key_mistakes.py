"""Puts what is wrong with the keys of an agent file into words, with the line of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from viva.cases.errors import Mistake
from viva.cases.plain_fields import nearest
from viva.cases.text import describe
from viva.cases.yaml.lines import LineNumbers

_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
"""What a value must be, by the type of pydantic's error."""


def key_mistakes(
    error: ValidationError, keys: type[BaseModel], data: Mapping[Any, Any], lines: LineNumbers
) -> list[Mistake]:
    """Return a mistake for each thing that is wrong, in the order of the lines."""
    found: dict[tuple[tuple[str | int, ...], str], Mistake] = {}
    for detail in error.errors(include_url=False, include_context=True):
        path = tuple(_in_file(detail["loc"], data))
        words = _words(detail, path, keys)
        found.setdefault((path, words), Mistake(words, lines.of(*path)))
    return sorted(found.values(), key=lambda mistake: mistake.line or 0)


def _words(detail: ErrorDetails, path: tuple[str | int, ...], keys: type[BaseModel]) -> str:
    name = ".".join(map(str, path)) or "the file"
    match detail["type"]:
        case "extra_forbidden":
            known = [each for each in _known(keys, path[:-1]) if each != "connector"]
            return f"unknown key {describe(path[-1])}; {nearest(str(path[-1]), known)}"
        case "missing":
            return f"{'.'.join(map(str, (*path, detail['loc'][-1])))} is missing"
        case "value_error":
            return f"{name} {detail['ctx']['error']}"
        case "literal_error":
            return f"{name} must be {detail['ctx']['expected']}, not {describe(detail['input'])}"
        case kind if kind in _KINDS:
            quotes = "; put it in quotes" if kind == "string_type" and isinstance(detail["input"], int | float) else ""
            return f"{name} must be {_KINDS[kind]}, not {describe(detail['input'])}{quotes}"
        case _:
            words = detail["msg"]
            return f"{name}: {words[:1].lower()}{words[1:]}"


def _in_file(location: tuple[str | int, ...], data: Any) -> Iterator[str | int]:
    """Yield the parts of a location that lead into the file; the others name types."""
    for part in location:
        inside = isinstance(part, int) and part < len(data) if isinstance(data, list) else part in data
        if inside:
            data = data[part]
            yield part
        if not isinstance(data, Mapping | list):
            return


def _known(model: type[BaseModel], path: tuple[str | int, ...]) -> list[str]:
    """Return the keys that are known where a path leads to."""
    models = [model]
    for part in path:
        if isinstance(part, str):
            fields = [each.model_fields[part] for each in models if part in each.model_fields]
            models = [inner for each in fields for inner in _models(each.annotation)] or models
    return list(dict.fromkeys(name for each in models for name in each.model_fields))


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _models(part)]

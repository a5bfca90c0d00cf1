"""Templates of requests: `{{ message }}` and the like in the JSON, paths and headers of an agent file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

NAMES = ("message", "messages", "history", "round", "session_id", "task_description", "app_dir", "config_var")
"""What templates can use."""
_ONE_EXPRESSION = re.compile(r"\{\{(?P<expression>(?:(?!\{\{|\}\}|\{%).)*)\}\}", re.DOTALL)


class TemplateMistake(ValueError):
    """A template cannot be read or filled in; the message says why."""


class _Missing(Exception):
    """A value that is not known yet, so that the key that would hold it is left out."""


def _quoted(value: Any) -> str:
    if value is None or isinstance(value, Undefined):
        raise TemplateMistake("a value in the path is not known yet")
    return quote(str(value), safe="")


_TEXTS = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
_PATHS = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False, finalize=_quoted)


def check(value: Any) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield what is wrong with the templates in a value, with the path to each."""
    for path, text in _texts(value, ()):
        try:
            unknown = meta.find_undeclared_variables(_TEXTS.parse(text)) - set(NAMES)
        except TemplateSyntaxError as error:
            yield path, f"is not a template: {error.message}"
            continue
        for name in sorted(unknown):
            yield path, f"uses {name!r}, which templates do not have; they have {', '.join(NAMES)}"


def uses(value: Any, *names: str) -> bool:
    """Return whether a template in a value, which was checked, uses one of these names."""
    found = (meta.find_undeclared_variables(_TEXTS.parse(text)) for _, text in _texts(value, ()))
    return any(not each.isdisjoint(names) for each in found)


def filled(value: Any, values: Mapping[str, Any]) -> Any:
    """Return a value with its templates filled in.

    A text that is one expression becomes the value itself (a list, say), and its key is left out if that is None.

    Raises:
        TemplateMistake: a template uses something that is not there, such as a key that `config_var` does not have.
    """
    try:
        return _filled(value, values)
    except _Missing:
        return None


def filled_path(text: str, values: Mapping[str, Any]) -> str:
    """Return a path with its templates filled in; what is put into it is percent-encoded.

    Raises:
        TemplateMistake: a template uses something that is not there.
    """
    try:
        return str(_template(_PATHS, text).render(values))
    except TemplateError as error:
        raise TemplateMistake(str(error)) from error


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return _text(value, values)
    if isinstance(value, list):
        return [filled(part, values) for part in value]
    if isinstance(value, Mapping):
        made = {}
        for name, part in value.items():
            try:
                made[str(name)] = _filled(part, values)
            except _Missing:
                continue
        return made
    return value


def _text(text: str, values: Mapping[str, Any]) -> Any:
    if "{" not in text:
        return text
    try:
        whole = _ONE_EXPRESSION.fullmatch(text.strip())
        if whole is None:
            return _template(_TEXTS, text).render(values)
        found = _TEXTS.compile_expression(whole["expression"], undefined_to_none=False)(**values)
    except TemplateMistake:
        raise
    except (TemplateError, TypeError, ValueError, ArithmeticError) as error:
        raise TemplateMistake(f"{text[:80]!r} cannot be filled in: {error}") from error
    if isinstance(found, Undefined):
        raise TemplateMistake(f"{text[:80]!r} cannot be filled in: {found._undefined_message}")
    if found is None:
        raise _Missing
    return found


@lru_cache(maxsize=256)
def _template(environment: ImmutableSandboxedEnvironment, text: str) -> Any:
    return environment.from_string(text)


def _texts(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _texts(part, (*path, str(name)))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _texts(part, (*path, index))

"""Renders the prompts for models, which are files next to the code that uses them; records contain their hashes."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template


def render(file: Path, **values: object) -> str:
    """Render a prompt with values.

    Raises:
        jinja2.UndefinedError: the prompt uses a value that was not given.
    """
    return _template(file).render(**values)


@cache
def digest(file: Path) -> str:
    """Return the first 12 hex digits of the prompt's SHA-256."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


@cache
def _template(file: Path) -> Template:
    # Text for a model, not HTML: escaping would change what the agent said.
    environment = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=False)  # noqa: S701
    return environment.from_string(file.read_text(encoding="utf-8"))

"""Asks for missing values, on a terminal only."""

from __future__ import annotations

import shlex
import sys

import click

from viva.errors import SetupError


def answer(given: str | None, question: str, option: str, default: str) -> str:
    """Return the given value, or ask for it.

    Args:
        given: The value of the option, if there was one.
        question: What is asked on a terminal.
        option: How the option is written, for the error.
        default: What Enter means.

    Raises:
        SetupError: nothing was given, and there is no terminal to ask on.
    """
    if given is not None:
        return given
    if not sys.stdin.isatty():
        example = default if option == option.upper() else f"{option} {shlex.quote(default)}"
        raise SetupError(f"{option} is missing, and there is no terminal to ask on. For example: {example}")
    reply: str = click.prompt(question, default=default, err=True)
    return reply.strip()

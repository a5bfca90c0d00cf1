"""The options by which `viva trace` chooses among recordings, and adds what these do not hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from adapters.readers.given_tools import load_tools
from adapters.readers.moments import read_moment

Command = TypeVar("Command", bound=Callable[..., Any])


def import_options(command: Command) -> Command:
    """Add `--since` and `--tools` to a command; `chosen_imports` reads them."""
    tools = click.option(
        "--tools",
        multiple=True,
        metavar="FILE",
        help="Definitions of the agent's tools: a YAML file, or Python functions (tools.py, tools.py:NAME). "
        "Can be repeated.",
    )
    since = click.option(
        "--since", metavar="TIME", help="Import what began at TIME or later: 2026-11-22, 2026-11-22T10:00, 24h, 7d."
    )
    return since(tools(command))


def chosen_imports(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `Sources` that these options set.

    Raises:
        SetupError: a time or a file cannot be read.
    """
    since = given["since"]
    return {
        "since": None if since is None else read_moment(since).timestamp(),
        "tools": tuple(tool for source in given["tools"] for tool in load_tools(source)),
    }

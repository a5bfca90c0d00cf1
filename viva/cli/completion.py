"""What the shell completes for the arguments of commands; options and commands are completed by click itself."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Leave it to the shell to complete a path; without this, it would complete nothing."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def cases(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the bundled cases; where none begins like that, the shell completes a path."""
    from click.shell_completion import CompletionItem

    from viva.cases import bundled

    names = [CompletionItem(name) for name in bundled() if name.startswith(incomplete)]
    return names or paths(ctx, param, incomplete)  # click's script for bash takes either


def suites(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the suites of the nearest `viva.yaml` and the bundled cases, or a path."""
    from click.shell_completion import CompletionItem

    from viva.cases import CaseError
    from viva.cli.project.used_file import nearest_project
    from viva.errors import SetupError

    named: list[CompletionItem] = []
    with contextlib.suppress(CaseError, SetupError):
        project = nearest_project()
        known = project.suites if project is not None else ()
        named = [CompletionItem(name) for name in known if name.startswith(incomplete)]
    return named + cases(ctx, param, incomplete)

"""What the shell completes for the arguments of commands; options and commands are completed by click itself."""

from __future__ import annotations

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

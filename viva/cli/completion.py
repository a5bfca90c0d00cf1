"""What the shell completes for the arguments of commands; options and commands are completed by click itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from viva.cases.errors import CaseError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Leave it to the shell to complete a path; without this, it would complete nothing."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def cases(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the bundled cases, or those of the file before a `#`; where none begins like that, the shell completes
    a path.
    """
    from click.shell_completion import CompletionItem

    from viva.cases import bundled, load_cases

    file, mark, _ = incomplete.partition("#")
    if mark:
        try:
            found = [case.reference.removeprefix(str(case.file)) for case in load_cases(Path(file))]
        except CaseError:
            return []
        return [CompletionItem(f"{file}{name}") for name in found if f"{file}{name}".startswith(incomplete)]
    names = [CompletionItem(name) for name in bundled() if name.startswith(incomplete)]
    return names or paths(ctx, param, incomplete)  # click's script for bash takes either

"""What the shell completes for the arguments of commands; options and commands are completed by click itself."""

from __future__ import annotations

import contextlib
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


def journals(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the journals under `runs/`, the newest first; where none begins like that, the shell completes a path."""
    from click.shell_completion import CompletionItem

    from viva.journal.paths import RUNS
    from viva.journal.writer import FILE

    if not RUNS.is_dir():
        return paths(ctx, param, incomplete)
    found = sorted((file.parent for file in RUNS.glob(f"*/{FILE}")), reverse=True)  # their names begin with the time
    names = [CompletionItem(str(folder)) for folder in found if str(folder).startswith(incomplete)]
    return names or paths(ctx, param, incomplete)


def filters(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return what can follow in a filter expression: a field, or the words of a field that has a few."""
    from click.shell_completion import CompletionItem

    from viva.filters.fields import FIELDS, OPERATORS

    begin, space, last = incomplete.rpartition(" ")
    before = begin + space
    name, sign, value = last.partition("=")
    if sign:
        known = FIELDS.get(name)
        values = () if known is None else known.values
        return [CompletionItem(f"{before}{name}={each}") for each in values if each.startswith(value)]
    if (known := FIELDS.get(last)) is not None and not known.keyed:
        return [CompletionItem(f"{before}{last}{operator}", help=known.words) for operator in OPERATORS[known.kind]]
    fields = (each for each in FIELDS.values() if each.name.startswith(last))
    return [CompletionItem(f"{before}{each.name}{'.' * bool(each.keyed)}", help=each.words) for each in fields]

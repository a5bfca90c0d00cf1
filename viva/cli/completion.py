"""What the shell completes for the arguments of commands; options and commands are completed by click itself."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
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


def _journals() -> list[str]:
    """Return the journals under `runs/`, the newest first."""
    from viva.journal.paths import RUNS
    from viva.journal.writer import FILE

    found = (file.parent for file in RUNS.glob(f"*/{FILE}")) if RUNS.is_dir() else ()
    return sorted(map(str, found), reverse=True)  # their names begin with the time


def journals(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the journals under `runs/`, the newest first; where none begins like that, the shell completes a path."""
    from click.shell_completion import CompletionItem

    names = [CompletionItem(name) for name in _journals() if name.startswith(incomplete)]
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


def complete_options(command: click.Command) -> click.Command:
    """Give a command's options the completion that their values allow, where they have none of their own.

    Args:
        command: The command; it is changed.
    """
    for each in command.params:
        names = _BY_NAME.get(each.name or "") or _BY_METAVAR.get(each.metavar or "")
        if names is not None:
            each.shell_complete = partial(_from, names, each)  # type: ignore[method-assign]
        elif each.metavar in ("FILE", "FOLDER"):
            each.shell_complete = partial(_path, each)  # type: ignore[method-assign]
    return command


def _path(param: click.Parameter, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    return paths(ctx, param, incomplete)


def _from(
    names: Callable[[], Iterable[str]], param: click.Parameter, ctx: click.Context, incomplete: str
) -> list[CompletionItem]:
    """Complete the last of several names that are separated by commas, or else a path."""
    from click.shell_completion import CompletionItem

    begin, comma, last = incomplete.rpartition(",")
    found = [CompletionItem(f"{begin}{comma}{name}") for name in names() if name.startswith(last)]
    return found or paths(ctx, param, incomplete)


def _agents() -> Iterable[str]:
    from viva.adapters.connectors.example import example_names

    return [f"example:{name}" for name in example_names()] + ["replay:"]


def _evaluators() -> Iterable[str]:
    from viva.judge.registry import EVALUATORS

    return EVALUATORS.builtin


def _formats() -> Iterable[str]:
    from viva.reports.formats import FORMATS

    return FORMATS.builtin


def _source_formats() -> Iterable[str]:
    from viva.interchange.formats import FORMATS

    return [each.name for each in FORMATS]


def _parts() -> Iterable[str]:
    from viva.interchange.rows.shapes import PARTS

    return [f"{part}=" for part in PARTS]


def _personas() -> Iterable[str]:
    from viva.examiner.library import names_of

    return names_of("persona")


def _strategies() -> Iterable[str]:
    from viva.examiner.library import names_of

    return names_of("strategy")


def _tags() -> Iterable[str]:
    """Return the tags of the suites of the nearest `viva.yaml`, which name those that matter."""
    from viva.cli.project.used_file import nearest_project
    from viva.errors import SetupError

    with contextlib.suppress(CaseError, SetupError):
        if (project := nearest_project()) is not None:
            return sorted({tag for section in project.sections() for tag in section.values.get("tags", ())})
    return ()


_BY_NAME: Mapping[str, Callable[[], Iterable[str]]] = {
    "evaluators": _evaluators,
    "examiner": lambda: ("script", "model", "auto", "replay:"),
    "kind": _formats,
    "personas": _personas,
    "source_format": _source_formats,
    "strategies": _strategies,
    "tags": _tags,
}
"""By the name of the command's parameter; only where its value is such a name."""
_BY_METAVAR: Mapping[str, Callable[[], Iterable[str]]] = {"SPEC": _agents, "JOURNAL": _journals, "PART=PATH": _parts}

"""`viva suite NAME`: a word that is the name of a suite in `viva.yaml` stands for its cases and options."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import click

from viva.cases import CaseError, bundled, find_case
from viva.cli.process import fail, report_user_errors
from viva.cli.project.used_file import FROM_FILE, USED, ProjectCommand, Used, nearest_project
from viva.errors import SetupError
from viva.project.finding import NAME
from viva.project.reading import Section, is_name
from viva.records.text import counted, one_line, printable


class SuiteCommand(ProjectCommand):
    """A command whose only argument may be the name of a suite."""

    def section(self, typed: Mapping[str, Any]) -> Used | None:
        """Return the suite that is named.

        Raises:
            CaseError: the file is not sound.
            SetupError: a folder, or a bundled case, has the same name; or there is no such suite.
        """
        given = typed.get("paths")
        paths = given if isinstance(given, tuple) else ()  # click has a value of its own for a missing argument
        names = [path for path in paths if is_name(path)]
        if not names:
            return None
        is_path = os.path.lexists(names[0]) or names[0] in bundled()
        try:
            project = nearest_project(trusted=typed.get("trust") is True)
        except (CaseError, SetupError):
            if is_path:  # whatever the file holds, the user means the path
                return None
            raise
        if project is None or (is_path and names[0] not in project.suites):
            return None
        if len(paths) > 1:
            if not any(name in project.suites for name in names):
                return None
            given_names = counted(len(paths), "name")
            raise SetupError(f"viva suite runs one suite of {NAME} at a time, and was given {given_names}.")
        section = project.suite(names[0])
        if is_path:
            raise SetupError(
                f"{names[0]!r} is a suite of {project.file.path}, and also a case or a folder. For the folder, write "
                f"./{names[0]}; for the suite, give it another name."
            )
        return Used(project, section, names[0], typed.get("trust") is True)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and replace a name by the cases of the suite."""
        rest = super().parse_args(ctx, args)
        used: Used | None = ctx.meta.get(USED)
        if used is not None:
            # A resumed suite knows its cases; of the file, it takes the gates, the budget and the sinks.
            ctx.params["paths"] = () if ctx.params["resume"] is not None else used.section.values["paths"]
            ctx.set_parameter_source("paths", FROM_FILE)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a single word that means nothing is not taken for a path alone."""
        paths = ctx.params["paths"]
        if USED not in ctx.meta and len(paths) == 1 and is_name(paths[0]):
            _refuse_unknown(paths[0])
        return super().invoke(ctx)


def _refuse_unknown(name: str) -> None:
    """Refuse a word that is neither a case nor a path, where no file could have a suite of this name."""
    if os.path.lexists(name):
        return
    try:
        find_case(name)
    except CaseError as error:
        fail(f"viva: {error} There is no {NAME} in this folder or above it that could have a suite of this name.")


def _list() -> None:
    project = nearest_project()
    if project is None:
        fail(f"viva suite: there is no {NAME} in this folder, or above it. `viva init suite` writes one.")
    click.echo(printable(one_line(str(project.file.path), 1000)))
    width = max(map(len, project.suites), default=0)
    for name, section in project.suites.items():
        click.echo(printable(f"{name:<{width}}  {section_words(section)}"))


def section_words(section: Section) -> str:
    """Return the keys and values of a suite on one line."""
    return one_line("; ".join(_shown(section)), 1000)


def _shown(section: Section) -> Iterator[str]:
    for name, value in section.values.items():
        several = value if isinstance(value, tuple) else (value,)
        yield f"{section.keys[name].name}: {', '.join(map(str, several))}"


def _listing(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        report_user_errors(_list)()
        context.exit()


list_option = click.option(
    "--list",
    "listing",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_listing,
    help=f"List the suites of {NAME}, and what each takes from it.",
)

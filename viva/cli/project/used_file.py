"""Commands that take values from the nearest `viva.yaml`, after what it names was trusted."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from viva.cases import CaseError
from viva.cli.process import fail, report_user_errors
from viva.cli.project.option_keys import keys_of
from viva.errors import SetupError
from viva.journal.paths import new_journal_folder
from viva.project.finding import NAME, FoundFile, find_file
from viva.project.loaded_code import loaded_code
from viva.project.moved_paths import moved
from viva.project.reading import Project, Section, read_project
from viva.project.trust import all_code, digest_of, is_trusted, listed, refusal, trust
from viva.records.text import one_line, printable
from viva.suites.request import FromFile

USED = "viva_yaml"
TYPED_IN = "viva_typed_in"
TYPED = "viva_typed"
"""The words of the command line after the command's name."""
ONE_CALL = "--trust"
FROM_FILE = click.core.ParameterSource.DEFAULT_MAP

trust_option = click.option(
    ONE_CALL,
    is_flag=True,
    expose_value=False,
    help=f"Permit {NAME} for this call to load and start what it names; see `viva trust`.",
)


@dataclass(frozen=True, slots=True)
class Used:
    """What a call takes from a file."""

    project: Project
    section: Section
    name: str
    """The suite's name; empty for the section `run`."""
    trusted: bool
    """Whether the user trusts it for this call."""


class ProjectCommand(click.Command):
    """A command whose options have defaults in `viva.yaml`; what the user types wins over them."""

    def section(self, typed: Mapping[str, Any]) -> Used | None:
        """Return what this call takes from the nearest file; None if nothing.

        Args:
            typed: What the user typed, by the name of the parameter.
        """
        raise NotImplementedError

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments as click does, with the values of the file as defaults."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        ctx.meta[TYPED] = tuple(args)
        typed, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        if not typed.keys() & {"help", "listing"} and (used := self._section_or_fail(typed)) is not None:
            ctx.meta[USED] = used
            ctx.default_map = {**(ctx.default_map or {}), **used.section.values}
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command in the folder of the file, if it takes anything from it."""
        used: Used | None = ctx.meta.get(USED)
        if used is not None:
            report_user_errors(_prepare)(ctx, used)
        return super().invoke(ctx)

    def _section_or_fail(self, typed: Mapping[str, Any]) -> Used | None:
        try:
            return self.section(typed)
        except (CaseError, SetupError) as error:
            fail(f"viva: {error}")


def nearest_project(*, trusted: bool = False, how: str = ONE_CALL) -> Project | None:
    """Return the nearest `viva.yaml`, checked; None if there is none.

    Args:
        trusted: Whether the user trusts it for this call.
        how: How the user does that, for messages.

    Raises:
        CaseError: it is not sound.
        SetupError: it belongs to another user, and is not trusted.
    """
    found = find_file()
    if found is None:
        return None
    project = read_found(found)
    if found.is_strangers and not trusted and not is_trusted(digest_of(project)):
        raise SetupError(refusal(found, all_code(project), how))
    return project


def read_found(found: FoundFile) -> Project:
    """Return a file that was found, checked against the options of the commands.

    Raises:
        CaseError: it is not sound.
    """
    from viva.cli.commands import run, suite

    return read_project(found, keys_of(suite.command), keys_of(run.command))


def suite_in_use() -> str:
    """Return the name of the suite of `viva.yaml` that this command runs; empty if it runs none."""
    used: Used | None = click.get_current_context().meta.get(USED)
    return used.name if used is not None else ""


def typed_in() -> Path | None:
    """Return the folder in which this command was typed, if it works in another one; else None."""
    folder: Path | None = click.get_current_context().meta.get(TYPED_IN)
    return folder


def file_in_use(context: click.Context) -> str | None:
    """Return the path of the `viva.yaml` from which a command takes anything; None if from none."""
    used: Used | None = context.meta.get(USED)
    return None if used is None else str(used.project.file.path)


def read_again(context: click.Context) -> click.Context | None:
    """Return the context of the same command line with `viva.yaml` as it is now; None, after a message, if it has
    mistakes or is not trusted.

    Args:
        context: The context of the command, as it was called.
    """
    here = os.getcwd()
    os.chdir(context.meta.get(TYPED_IN, here))
    try:
        again = context.command.make_context(context.info_name, list(context.meta[TYPED]), parent=context.parent)
        if (used := again.meta.get(USED)) is not None:
            report_user_errors(_prepare)(again, used)
    except click.ClickException as error:
        error.show()
        os.chdir(here)
        return None
    except SystemExit:  # the message has been printed
        os.chdir(here)
        return None
    return again


def taken_from_file() -> FromFile | None:
    """Return what the options of this command are taken from, for the stored request; None if nothing is."""
    context = click.get_current_context()
    used: Used | None = context.meta.get(USED)
    if used is None:
        return None
    keys = tuple(sorted(used.section.keys[name].name for name in _effective(context, used)))
    return FromFile(suite=used.name, file=str(used.project.file.path), digest=used.project.file.digest, keys=keys)


def _effective(context: click.Context, used: Used) -> dict[str, Any]:
    """Return the values that come from the file, and not from what the user typed."""
    names = [name for name in used.section.values if context.get_parameter_source(name) is FROM_FILE]
    return {name: used.section.values[name] for name in names}


def _prepare(context: click.Context, used: Used) -> None:
    """Ask whether the file is trusted, say that it is used, and go to its folder."""
    taken = _effective(context, used)
    file = used.project.file
    code = list(loaded_code(taken, file.folder, context.params))
    if not taken:
        return
    if code and not used.trusted:
        ask_for_trust(used.project)
    what = f"suite {used.name}" if used.name else "defaults of viva run"
    click.echo(printable(f"viva: {what} from {one_line(str(file.path), 500)}"), err=True)
    here = Path(os.path.realpath(os.getcwd()))
    if here == file.folder:
        return
    context.params.update(
        moved({name: each for name, each in context.params.items() if name not in taken}, here, file.folder)
    )
    os.chdir(file.folder)
    context.meta[TYPED_IN] = here
    # Absolute, because what is printed of it is read in the folder in which the command was typed.
    out = context.params["out"] or new_journal_folder(None, used.name or "run")
    context.params["out"] = Path(os.path.abspath(out))


def ask_for_trust(project: Project, how: str = ONE_CALL) -> None:
    """Have the user decide whether a file is trusted, if it was not trusted before.

    Args:
        project: The file.
        how: How the user trusts it for one call, for messages.

    Raises:
        SetupError: it is not trusted, and there is no terminal to ask on, or the user does not trust it.
    """
    digest = digest_of(project)
    if is_trusted(digest):
        return
    code = all_code(project)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise SetupError(refusal(project.file, code, how))
    whose = f" and belongs to {project.file.owner_name}" if project.file.is_strangers else ""
    new = f"{project.file.path} is new on this machine, or has changed,{whose}. It {listed(code)}."
    click.echo(printable(new.replace(",.", ".")), err=True)
    if not click.confirm("Do you trust it?", default=False, err=True):
        raise SetupError("nothing was run.")
    trust(project, digest)

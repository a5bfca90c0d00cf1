"""The command `viva trust`: shows what a `viva.yaml` would run, and remembers that the user trusts it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from viva.cli import completion
from viva.cli.process import fail, report_user_errors
from viva.cli.project.used_file import read_found
from viva.project.finding import NAME, find_file, read_file
from viva.project.trust import all_code, digest_of, forget, is_trusted, trust
from viva.records.text import one_line, printable


@click.command("trust")
@click.argument(
    "path", required=False, metavar="[FILE]", type=click.Path(path_type=Path), shell_complete=completion.paths
)
@click.option("--forget", "forgets", is_flag=True, help="No longer trust it.")
@report_user_errors
def command(path: Path | None, forgets: bool) -> None:
    """Show what a viva.yaml would load, start or send somewhere, and trust it until it changes.

    FILE is a viva.yaml, or its folder. The default is the nearest one, in this folder or above it. On a terminal, Viva
    asks first; elsewhere, it trusts the file.
    """
    found = find_file() if path is None else read_file(path / NAME if path.is_dir() else path)
    if found is None:
        fail(f"viva trust: there is no {NAME} in this folder, or above it. Name one: viva trust FILE.")
    project = read_found(found)
    digest = digest_of(project)
    where = one_line(str(found.path), 1000)
    if forgets:
        words = "is no longer trusted" if forget(digest) else "was not trusted"
        click.echo(printable(f"{where} {words}."))
        return
    code = all_code(project)
    click.echo(printable(f"{where} (of {found.owner_name}){':' if code else ' names nothing that runs code.'}"))
    for each in code:
        click.echo(printable(f"  {one_line(each, 300)}"))
    if is_trusted(digest):
        click.echo("It is trusted already, until it changes.")
        return
    if sys.stdin.isatty() and not click.confirm("Do you trust it?", default=False, err=True):
        fail("viva trust: nothing was trusted.")
    trust(project, digest)
    click.echo("It is trusted until it, or an agent file or model file that it names, changes.")

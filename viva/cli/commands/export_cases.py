"""The command `viva export`: writes cases for other tools, and the conversations of journals as trajectories."""

from __future__ import annotations

from pathlib import Path

import click

from viva.cases import find_case, find_cases, load_case
from viva.cli import completion
from viva.cli.process import fail, report_user_errors
from viva.interchange.exporting import FORMATS, export_cases

ATIF = "atif"


@click.command("export")
@click.argument("source", metavar="CASES|JOURNAL", shell_complete=completion.paths)
@click.option("--to", "format_name", required=True, type=click.Choice([*FORMATS, ATIF]), help="Format of the file.")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="A new file.")
@report_user_errors
def command(source: str, format_name: str, out: Path) -> None:
    """Write cases for another tool, or the conversations of a journal as ATIF trajectories. Code is never exported.

    The command lists every value of a case that the other format cannot hold.
    """
    if out.exists():
        fail(f"viva export: {out} exists already; name a new file with --out.")
    if format_name == ATIF:
        _trajectories(source, out)
        return
    folder = Path(source)
    found = list(find_cases(folder)) if folder.is_dir() else [find_case(source)]
    if not found:
        fail(f"viva export: {source} has no cases.")
    exported = export_cases([load_case(each) for each in found], format_name, out.suffix.lower())
    out.write_text(exported.text, encoding="utf-8")
    click.echo(f"{out}: cases: {len(found)}; values that are not in it: {len(exported.reported)}")
    for each in exported.reported:
        click.echo(f"  {each.kind.value}: {each.path}: {each.why}")


def _trajectories(source: str, out: Path) -> None:
    from viva.reports import atif
    from viva.reports.journals import joined

    journals = joined([source])
    with out.open("w", encoding="utf-8") as file:
        atif.write(journals, file)
    click.echo(f"{out}: trajectories of {source}")

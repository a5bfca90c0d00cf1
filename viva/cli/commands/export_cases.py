"""The command `viva export`: writes cases for other tools, and the conversations of journals as trajectories."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import click

from viva.cli import completion
from viva.cli.commands.import_cases import pairs
from viva.cli.daily.filter_options import NAMES, filter_options, filters_from
from viva.cli.process import fail, report_user_errors
from viva.interchange.exporting import FORMATS, ExportReport, export_cases
from viva.records.text import counted, one_line, printable

ATIF = "atif"
MOST_GROUPS = 40
_INDEX = re.compile(r"\[\d+\]")


@click.command("export")
@click.argument("source", metavar="CASES|JOURNAL", shell_complete=completion.paths)
@click.option("--to", "format_name", required=True, type=click.Choice([*FORMATS, ATIF]), help="Format of the file.")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="A new file.")
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="PART=PATH",
    help="Of rows: where a part of a case goes (input=inputs.question expected=outputs.answer). Can be repeated.",
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only cases with this tag. Can be repeated.")
@filter_options("Of a journal, only runs")
@report_user_errors
def command(
    source: str, format_name: str, out: Path, mapping: tuple[str, ...], tags: tuple[str, ...], **given: Any
) -> None:
    """Write cases for another tool, or the conversations of a journal as ATIF trajectories. Code is never exported.

    The command lists every value of a case that the other format cannot hold.
    """
    if format_name == ATIF:
        if mapping or tags:
            fail("viva export: --map and --tag are for cases; choose runs with --where.")
        _trajectories(source, out, given)
        return
    if any(given[name] is not None for name in NAMES):
        fail("viva export: --where, --failed-in and --changed-since choose runs of a journal; choose cases with --tag.")
    report = export_cases(source, out, format=format_name, mapping=pairs(mapping), tags=tags)
    _show(report, out)


def _show(report: ExportReport, out: Path) -> None:
    click.echo(
        printable(f"{out}: {counted(report.cases, 'case')}; values that are not in it: {len(report.reported):,}")
    )
    groups: Counter[tuple[str, str, str]] = Counter()
    for each in report.reported:
        field = each.path.partition(": ")[2] or each.path
        groups[each.kind.value, _INDEX.sub("[*]", field), each.why] += 1
    for (kind, field, why), number in groups.most_common(MOST_GROUPS):
        times = f" ({number:,} times)" if number > 1 else ""
        click.echo(printable(f"  {kind}: {one_line(field, 200)}{times}: {why}"))
    if len(groups) > MOST_GROUPS:
        click.echo(f"  further fields: {len(groups) - MOST_GROUPS:,}; viva.export_cases returns all of them")


def _trajectories(source: str, out: Path, given: dict[str, Any]) -> None:
    from viva.reports import atif
    from viva.reports.journals import joined

    if out.exists():
        fail(f"viva export: {out} exists already; name a new file with --out.")
    journals = joined([source], filters=filters_from(given))
    with out.open("x", encoding="utf-8") as file:
        atif.write(journals, file)
    click.echo(printable(f"{out}: trajectories of {source}"))

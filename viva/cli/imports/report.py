"""Prints the report of an import: what was written, and what is in no case, grouped by field and reason."""

from __future__ import annotations

import re
import shlex

import click

from viva.interchange.importing import REPORT_FILE
from viva.interchange.report import ImportReport, Reported
from viva.records.text import counted, one_line, printable

MOST_GROUPS = 40
MOST_MARKED = 10
_INDEX = re.compile(r"\[\d+\]")


def show_report(report: ImportReport) -> None:
    """Print a report."""
    folder = shlex.quote(report.out)
    click.echo(
        printable(
            f"{counted(len(report.cases), 'case')} in {report.out}, imported from {report.source} ({report.format})."
        )
    )
    expressed = sum(report.expressed.values())
    click.echo(
        f"Of {counted(report.values, 'value')}, {report.taken:,} are in a case as they are, {expressed:,} decide the "
        f"form of one, {report.empty:,} are empty, and {len(report.reported):,} are reported."
    )
    groups = _grouped(report.reported)
    for (path, kind, why), found in list(groups.items())[:MOST_GROUPS]:
        times = f" ({len(found):,} times)" if len(found) > 1 else ""
        example = f", such as {one_line(found[0].value, 60)!r}" if found[0].value else ""
        click.echo(printable(f"  {kind}: {path}{times}: {why}{example}"))
    if len(groups) > MOST_GROUPS:
        click.echo(f"  … and {len(groups) - MOST_GROUPS:,} more; all are in {printable(report.out)}/{REPORT_FILE}")
    if report.marked:
        click.echo(f"{counted(len(report.marked), 'case')} with something left to do (tag import-incomplete):")
        for name, marks in list(report.marked.items())[:MOST_MARKED]:
            click.echo(printable(f"  {name}: {one_line('; '.join(marks), 200)}"))
        if len(report.marked) > MOST_MARKED:
            click.echo(f"  … and {len(report.marked) - MOST_MARKED:,} more")
    click.echo(printable(f"Next: viva suite {folder} --agent SPEC"))


def _grouped(reported: list[Reported]) -> dict[tuple[str, str, str], list[Reported]]:
    groups: dict[tuple[str, str, str], list[Reported]] = {}
    for each in reported:
        key = (_INDEX.sub("[*]", each.path), each.kind.value, each.why)
        groups.setdefault(key, []).append(each)
    return groups

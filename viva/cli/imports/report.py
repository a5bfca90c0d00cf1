"""Prints the report of an import: what was written, and what is in no case, grouped by field and reason."""

from __future__ import annotations

import re
import shlex
from collections import Counter

import click

from viva.interchange.importing import REPORT_FILE
from viva.interchange.report import ImportReport, Reported
from viva.records.text import counted, one_line, printable

MOST_GROUPS = 40
MOST_MARKED = 10
MOST_FILES = 6
_INDEX = re.compile(r"\[\d+\]")


def show_report(report: ImportReport) -> None:
    """Print a report."""
    made = (
        counted(report.runs, "run") + " in the journal" if report.runs else counted(len(report.cases), "case") + " in"
    )
    click.echo(printable(f"{made} {report.out}, imported from {report.source} ({report.format})."))
    if report.files:
        more = f", … and {len(report.files) - MOST_FILES:,} more" if len(report.files) > MOST_FILES else ""
        click.echo(printable(f"Files: {', '.join(report.files[:MOST_FILES])}{more}"))
    expressed = sum(report.expressed.values())
    where = "the journal" if report.runs else "a case"
    click.echo(
        f"Of {counted(report.values, 'value')}, {report.taken:,} are in {where} as they are, {expressed:,} decide the "
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
        marks = Counter(mark for each in report.marked.values() for mark in each)
        for mark, number in marks.most_common(MOST_MARKED):
            click.echo(printable(f"  {one_line(mark, 200)} ({counted(number, 'case')})"))
        if len(marks) > MOST_MARKED:
            click.echo(f"  … and {len(marks) - MOST_MARKED:,} more; they are comments at the top of the cases")
    if report.begun:
        click.echo(f"{counted(report.begun, 'case')} with a conversation already begun: the agent must accept one")
    click.echo(printable(f"Next: {_next(report)}"))


def _next(report: ImportReport) -> str:
    folder = shlex.quote(report.out)
    if report.runs:
        return f"viva report {folder}"
    return f"viva suite {folder} --agent SPEC" + (" --model NAME --examiner auto" if report.needs_model else "")


def _grouped(reported: list[Reported]) -> dict[tuple[str, str, str], list[Reported]]:
    groups: dict[tuple[str, str, str], list[Reported]] = {}
    for each in reported:
        key = (_INDEX.sub("[*]", each.path), each.kind.value, each.why)
        groups.setdefault(key, []).append(each)
    return groups

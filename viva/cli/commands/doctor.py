"""The command `viva doctor`: reports what is missing and how to install it, and what each sandbox does not guarantee.

It also lists the built-in parts and those that installed distributions add.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

import click

from viva.cli.diagnosis import DoctorFinding, diagnose
from viva.cli.process import report_user_errors, run_async
from viva.plugins.kinds import BUILT_IN, FoundPart
from viva.records.text import one_line


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@report_user_errors
def command(as_json: bool) -> None:
    """Report what is missing on this machine, and how to install it. Exit code 2 if Viva cannot work without it."""
    diagnosis = run_async(diagnose())
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(diagnosis)))
    else:
        for finding in diagnosis.findings:
            _show(finding)
        for kind, parts in diagnosis.parts.items():
            _show_parts(kind, parts)
        why = f": {diagnosis.note}" if diagnosis.note else "."
        click.echo(f"\n--sandbox auto selects {diagnosis.sandbox} here{why}")
    if any(finding.needed and not finding.there for finding in diagnosis.findings):
        raise SystemExit(2)


def _show_parts(kind: str, parts: Sequence[FoundPart]) -> None:
    own = ", ".join(part.name for part in parts if part.where == BUILT_IN)
    lines = [f"{BUILT_IN}: {own}"] if own else []
    lines += [f"{part.name}: {part.where} ({part.target})" for part in parts if part.where != BUILT_IN]
    for number, line in enumerate(lines or ["none"]):
        # A distribution can have any name.
        click.echo(f"{'' if number else kind:<26} {one_line(line, 400)}")


def _show(finding: DoctorFinding) -> None:
    mark = "ok     " if finding.there else "MISSING" if finding.needed else "missing"
    click.echo(f"{finding.name:<16} {mark:<9} {finding.detail}")
    if finding.remedy:
        click.echo(f"{'':<26} remedy: {finding.remedy}")
    for weakness in finding.weaknesses:
        click.echo(f"{'':<26} not guaranteed: {weakness}")

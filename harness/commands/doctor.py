"""`viva doctor`: says what is there, what is missing and how to get it, and what each sandbox does not guarantee."""

from __future__ import annotations

import dataclasses
import json

import click

from harness.commands.diagnosis import Finding, diagnose
from harness.commands.process import report_user_errors, run_async


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@report_user_errors
def command(as_json: bool) -> None:
    """Say what is missing on this machine, and how to get it. Exit code 2 when Viva cannot work without it."""
    diagnosis = run_async(diagnose())
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(diagnosis)))
    else:
        for finding in diagnosis.findings:
            _show(finding)
        click.echo(f"\n--sandbox auto takes {diagnosis.sandbox} here. {diagnosis.note}".rstrip())
    if any(finding.needed and not finding.there for finding in diagnosis.findings):
        raise SystemExit(2)


def _show(finding: Finding) -> None:
    mark = "ok     " if finding.there else "MISSING" if finding.needed else "not here"
    click.echo(f"{finding.name:<16} {mark:<9} {finding.detail}")
    if finding.remedy:
        click.echo(f"{'':<26} to get it: {finding.remedy}")
    for weakness in finding.weaknesses:
        click.echo(f"{'':<26} not guaranteed: {weakness}")

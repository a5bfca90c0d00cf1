"""The command `viva doctor`: reports what is missing and how to install it, and what each sandbox does not guarantee.

It also lists the built-in parts and those that installed distributions add. With `--agent`, it has one exchange with an
agent instead.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import click

from viva.adapters.connectors.spec import FORMS
from viva.cli.diagnosis import DoctorFinding, diagnose
from viva.cli.doctor.checkup import MESSAGE, check_up
from viva.cli.doctor.words import show_checkup
from viva.cli.options import options_from, single_option
from viva.cli.process import report_user_errors, run_async, separate_stdout
from viva.exam.options import Options
from viva.exam.outcome import EXIT_MISTAKE, EXIT_NOT_SCORED
from viva.plugins.kinds import BUILT_IN, FoundPart
from viva.records.text import one_line


@click.command("doctor")
@click.option("--agent", metavar="SPEC", help=f"Have one exchange with an agent instead: {FORMS}.")
@click.option("--message", metavar="TEXT", help=f"The message to the agent. [default: {MESSAGE}]")
@single_option("reply_seconds")
@single_option("app_dir")
@single_option("isolate")
@single_option("agent_memory_mb")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@report_user_errors
def command(agent: str | None, message: str | None, as_json: bool, **given: Any) -> None:
    """Report what is missing on this machine, and how to install it. Exit code 2 if Viva cannot work without it.

    With --agent, start the agent, send it one message, show what came back, how long it took and what the agent offers,
    and close it. Nothing is judged or stored. Exit code 2 if the agent cannot be examined, 3 if this machine failed.
    """
    if agent is not None:
        _examine_agent(agent, MESSAGE if message is None else message, options_from(given), as_json=as_json)
        return
    if message is not None:
        raise click.UsageError("--message is for an agent; name one with --agent.")
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


def _examine_agent(spec: str, message: str, options: Options, *, as_json: bool) -> None:
    with separate_stdout():
        found = run_async(check_up(spec, message, options))
    if as_json:
        click.echo(json.dumps({"works": found.works, **dataclasses.asdict(found)}))
    else:
        show_checkup(found)
    if not found.works:
        raise SystemExit(EXIT_NOT_SCORED if found.machine_failed else EXIT_MISTAKE)


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

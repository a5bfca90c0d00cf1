"""The command `viva requeue JOURNAL`: requeues runs that ended with an error, and keeps their first outcome."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.cli.daily.filter_options import chosen_runs, filter_options, filters_from
from viva.cli.daily.folders import folder_from, journal_argument
from viva.cli.process import fail, report_user_errors
from viva.errors import SetupError
from viva.records.run_record import Outcome
from viva.records.text import counted, one_line, printable
from viva.reports.console.whys import quoted

OUTCOMES = (Outcome.INFRA_ERROR.value, Outcome.TARGET_ERROR.value)


@click.command("requeue")
@journal_argument
@click.option(
    "--outcome",
    "outcomes",
    multiple=True,
    type=click.Choice(OUTCOMES),
    help="Only runs with this outcome. Can be repeated. If it is target_error, which counts against the agent, reports "
    "say so, and no gate passes. [default: infra_error]",
)
@click.option("--run", "names", multiple=True, metavar="RUN-ID", help="Only this run. Can be repeated.")
@filter_options("Only runs")
@report_user_errors
def command(journal: Path | None, outcomes: tuple[str, ...], names: tuple[str, ...], **given: Any) -> None:
    """Requeue runs of the suite in JOURNAL that ended with an error. [default: the newest under runs/]

    A suite in progress repeats them after its other runs, or says at its end that some are left; viva suite --resume
    repeats those. The first outcome of a run stays in the journal and in its record. Scored runs cannot be repeated.
    """
    from viva.suites.at_work.requeueing import requeue

    folder = folder_from(journal)
    kinds = [Outcome(outcome) for outcome in outcomes or OUTCOMES[:1]]
    filters = filters_from(given)
    if filters and names:
        fail("viva requeue: --run names runs, and filters choose them; give only one of them.")
    chosen: tuple[str, ...] | None = names or None
    if filters:
        chosen = _with_outcomes(folder, kinds, chosen_runs(filters, [(folder, None)]) or ())
    done = requeue(folder, kinds, chosen)
    words = [f"{counted(len(done.runs), 'run')} to be repeated"]
    if done.waiting:
        words.append(f"{done.waiting} {'was' if done.waiting == 1 else 'were'} before")
    click.echo(printable(f"{one_line(str(folder), 500)}: {', '.join(words)}"))
    if done.at_work:
        click.echo("the suite in progress repeats them after its other runs, or says at its end that some are left")
    else:
        click.echo(printable(f"to repeat them: viva suite --resume {quoted(str(folder))}"))


def _with_outcomes(folder: Path, kinds: list[Outcome], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the runs that ended so: filters choose among these alone."""
    from viva.journal.reader import read_records

    wanted = frozenset(names)
    found = tuple(each.id for each in read_records(folder, quick=True) if each.id in wanted and each.outcome in kinds)
    if not found:
        raise SetupError(f"none of {counted(len(names), 'chosen run')} ended as {' or '.join(kinds)}.")
    return found

"""The command `viva pause JOURNAL`: has the process at work on a journal begin no further run."""

from __future__ import annotations

from pathlib import Path

import click

from viva.cli.daily.folders import folder_from, journal_argument
from viva.cli.process import report_user_errors
from viva.records.text import one_line
from viva.reports.console.whys import quoted


@click.command("pause")
@journal_argument
@report_user_errors
def command(journal: Path | None) -> None:
    """Have the viva process that writes JOURNAL begin no further run; runs in progress go on.

    It goes on after viva resume. If the process ends, nothing stays paused. [default: the newest under runs/]
    """
    from viva.suites.at_work.pausing import pause

    folder = folder_from(journal)
    done = "paused" if pause(folder) else "it was paused before"
    click.echo(
        f"{one_line(str(folder), 500)}: {done}; no further run begins. To go on: viva resume {quoted(str(folder))}"
    )

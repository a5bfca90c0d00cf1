"""The command `viva pause JOURNAL`: keeps the process that writes a journal from starting further runs."""

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
    """Keep the viva process that writes JOURNAL from starting further runs; runs in progress are completed.

    After viva resume, it continues. If the process ends, nothing stays paused. [default: the newest under runs/]
    """
    from viva.suites.at_work.pausing import pause

    folder = folder_from(journal)
    done = "paused" if pause(folder) else "it was paused before"
    click.echo(
        f"{one_line(str(folder), 500)}: {done}; no further run begins. To go on: viva resume {quoted(str(folder))}"
    )

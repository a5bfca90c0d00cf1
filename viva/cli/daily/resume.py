"""The command `viva resume JOURNAL`: lets paused work continue."""

from __future__ import annotations

from pathlib import Path

import click

from viva.cli.daily.folders import folder_from, journal_argument
from viva.cli.process import fail, report_user_errors
from viva.records.text import one_line
from viva.reports.console.whys import quoted


@click.command("resume")
@journal_argument
@report_user_errors
def command(journal: Path | None) -> None:
    """Let the viva process that writes JOURNAL continue after viva pause. [default: the newest under runs/]

    Work that was stopped is resumed by its own command: viva suite --resume JOURNAL.
    """
    from viva.suites.at_work.pausing import NotAtWork, resume
    from viva.suites.resuming.stored_request import load_request

    folder = folder_from(journal)
    try:
        done = "resumed" if resume(folder) else "it was not paused"
    except NotAtWork as error:
        request = load_request(folder)
        how = f" To resume what was stopped: viva {request.command} --resume {quoted(str(folder))}" if request else ""
        fail(f"viva: {error}{how}")
    click.echo(f"{one_line(str(folder), 500)}: {done}")

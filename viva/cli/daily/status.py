"""The command `viva status JOURNAL`: how far the work on a journal is, from any terminal."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from viva.cli.daily.folders import folder_from, journal_argument
from viva.cli.parameter_types import NumberRange
from viva.cli.process import report_user_errors

FOLLOW_SECONDS = 1.0


@click.command("status")
@journal_argument
@click.option("--follow", is_flag=True, help="Show it again each second until the work ends; Ctrl-C ends only this.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; with --follow, one on each line.")
@click.option(
    "--threshold", type=NumberRange(0, 1), default=1.0, show_default=True, help="Minimum score of a passing run."
)
@report_user_errors
def command(journal: Path | None, follow: bool, as_json: bool, threshold: float) -> None:
    """Show the progress of the work on JOURNAL: runs, rate, time left, what runs now, failures so far.

    It only reads the journal. [default: the newest under runs/]
    """
    from viva.cli.daily.status_words import status_lines
    from viva.records.codec import to_plain
    from viva.suites.at_work.status import State, StatusReader

    reader = StatusReader(folder_from(journal), threshold)
    busy = (State.WORKING, State.PAUSED)
    if as_json:
        while True:
            found = reader.read()
            click.echo(json.dumps(to_plain(found, full=True)))
            if not follow or found.state not in busy:
                return
            time.sleep(FOLLOW_SECONDS)
    found = reader.read()
    console = Console()
    if not follow or found.state not in busy:
        console.print(Group(*map(Text, status_lines(found))), soft_wrap=True)
        return
    with Live(console=console, auto_refresh=False) as live:
        while True:
            live.update(Group(*map(Text, status_lines(found))), refresh=True)
            if found.state not in busy:
                return
            time.sleep(FOLLOW_SECONDS)
            found = reader.read()

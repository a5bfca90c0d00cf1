"""`viva replay JOURNAL`: prints a stored conversation."""

from __future__ import annotations

import json
import time

import click
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from harness.commands.options import newest_journal, told_plainly
from harness.console import print_end, print_round, score_line
from records.codec import to_plain
from records.journal import Damage
from records.stored import StoredRun, read_runs, split_reference
from records.text import one_line, printable

WORDS_PER_SECOND = 4.0
"""Silent reading takes 240 words a minute (Brysbaert 2019, Journal of Memory and Language 109)."""
LONGEST_PAUSE = 12.0


@click.command("replay")
@click.argument("journal", required=False)
@click.option("--pace", is_flag=True, help="Print at reading pace.")
@click.option(
    "--speed", type=click.FloatRange(0.1, 100), default=1.0, show_default=True, help="With --pace: times faster."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each run.")
@told_plainly
def command(journal: str | None, pace: bool, speed: float, as_json: bool) -> None:
    """Print the conversations in JOURNAL: a folder, or FOLDER#RUN-ID for one run. [default: the newest under runs/]"""
    folder, run = split_reference(journal) if journal else (newest_journal(), None)
    console, damage = Console(), Damage()
    for stored in read_runs(folder, run, damage):
        if as_json:
            click.echo(
                json.dumps({"run": stored.id, "attempt": stored.attempt, "transcript": to_plain(stored.transcript)})
            )
        else:
            _print(console, stored, speed if pace else None)
    if damage.torn or damage.unknown:
        words = (
            f"note: {damage.torn} torn lines skipped, {damage.unknown} lines of a newer format (first: {damage.lines})"
        )
        click.echo(printable(words), err=True)


def _print(console: Console, stored: StoredRun, speed: float | None) -> None:
    setting = stored.setting
    title = f"{one_line(setting.case or stored.id, 60)} · {one_line(setting.agent, 80)}"
    console.print(Rule(Text(title), align="left"))
    for round_ in stored.transcript.rounds:
        print_round(console, round_)
        if speed:
            words = len(f"{round_.examiner or ''} {round_.agent or ''}".split())
            time.sleep(min(words / WORDS_PER_SECOND, LONGEST_PAUSE) / speed)
    print_end(console, stored.transcript)
    if stored.record is not None:
        console.print(Text(f"{stored.record.outcome.value}, {score_line(stored.record)}", style="bold"))

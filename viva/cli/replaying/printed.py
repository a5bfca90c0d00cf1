"""Prints stored conversations, at reading pace if the user wants it."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from viva.cli.json_pieces import json_pieces
from viva.cli.run_choice import RunChoice
from viva.errors import SetupError
from viva.exam.last_words import read_last_words
from viva.journal.reader import StoredRun, read_runs
from viva.journal.run_index import index_runs
from viva.journal.writer import Damage
from viva.records.codec import to_plain
from viva.records.text import one_line, printable
from viva.records.wording import counted, is_unscored, score_line
from viva.reports.console.run import print_end, print_round
from viva.reports.facts import verdicts_by_subject
from viva.streams import reader_left

WORDS_PER_SECOND = 4.0
"""Silent reading speed is 240 words a minute (Brysbaert 2019, Journal of Memory and Language 109)."""
LONGEST_PAUSE = 12.0
MOST_PRINTED = 1_000
"""Maximum number of runs that are printed unless the user chooses some; a journal may hold hundreds of thousands."""


def print_runs(folder: Path, run: str | None, choice: RunChoice, speed: float | None, *, as_json: bool) -> None:
    """Print the chosen runs of a journal.

    Args:
        folder: The journal.
        run: The id of a single run; None for all.
        choice: Which runs.
        speed: The factor of reading pace; None prints at once.
        as_json: Whether to print JSON objects.

    Raises:
        SetupError: the journal holds no run yet.
    """
    console, damage = Console(), Damage()
    index = index_runs(folder) if run is None else None
    known = None if index is None else index.of(None)
    all_of_many = known is not None and not as_json and not choice.is_given and len(known.runs) > MOST_PRINTED
    for stored in choice.among(read_runs(folder, run, damage, known=known, wanted=choice.wants)):
        if all_of_many and choice.seen > MOST_PRINTED:
            assert known is not None
            click.echo(_choose_some(folder, len(known.runs)), err=True)
            break
        if as_json:
            gap = {"gap": stored.gap} if stored.gap else {}
            rounds = stored.transcript.rounds
            transcript = to_plain(replace(stored.transcript, rounds=rounds[:1]))
            if rounds:  # one at a time, in the place of the first: together they may be as large as memory
                transcript["rounds"] = map(to_plain, rounds)
            shown = {"run": stored.id, "attempt": stored.attempt, **gap, "transcript": transcript}
            for piece in json_pieces(shown):
                click.echo(piece, nl=False)
        else:
            print_run(console, stored, speed)
        if reader_left():
            return
    if not choice.seen and not damage.words():
        raise SetupError(f"{folder} holds no run yet.")
    if not as_json and (words := read_last_words(folder)) is not None:
        click.echo(f"note: {words}", err=True)
    if choice.seen and not choice.chosen:
        click.echo(choice.explain_none(), err=True)
    if skipped := damage.words():
        click.echo(f"note: {skipped} skipped (first: {damage.lines})", err=True)


def _choose_some(folder: Path, runs: int) -> str:
    """Return the note that says how to choose among runs that are too many to print."""
    return printable(
        f"note: {folder} holds {counted(runs, 'run')}; only the first {MOST_PRINTED:,} are printed. To choose others: "
        f"{folder}#RUN-ID, --case, --agent, --trial, --outcome or --failed, which print all that match; "
        "--json prints all."
    )


def print_run(console: Console, stored: StoredRun, speed: float | None = None) -> None:
    """Print a whole conversation and how it ended; at reading pace if a speed is given."""
    setting = stored.setting
    trial = f" · trial {setting.trial}" if (setting.trial or 1) > 1 else ""
    title = f"{one_line(setting.case or stored.id, 60)} · {one_line(setting.agent, 80)}{trial}"
    console.print(Rule(Text(title), align="left"))
    about = verdicts_by_subject(stored.insights, stored.id)
    for turn in stored.transcript.given:
        console.print(Text(f"{turn.role} (given by the case): {printable(turn.content)}", style="dim"))
    before = 0
    for round_ in stored.transcript.rounds:
        if round_.number > before + 1:
            console.print(Text(_missing(before + 1, round_.number - 1), style="yellow"))
        before = round_.number
        print_round(console, round_, about)
        if reader_left():
            return
        if speed:
            words = len(f"{round_.examiner or ''} {round_.agent or ''}".split())
            time.sleep(min(words / WORDS_PER_SECOND, LONGEST_PAUSE) / speed)
    print_end(console, stored.transcript)
    if stored.gap:
        console.print(Text(f"This conversation has a gap: {stored.gap}.", style="yellow"))
    if (record := stored.record) is not None:
        ended = "not scored" if is_unscored(record) else f"{record.outcome.value}, {score_line(record)}"
        console.print(Text(ended, style="bold"))


def _missing(first: int, last: int) -> str:
    which = f"round {first} is" if first == last else f"rounds {first} to {last} are"
    return f"[{which} missing: the journal has no valid line of it]"

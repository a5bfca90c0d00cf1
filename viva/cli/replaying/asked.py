"""Prints what judges' models were asked and answered."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click
from rich.console import Console
from rich.text import Text

from viva.cli.json_pieces import json_pieces
from viva.cli.run_choice import RunChoice
from viva.errors import SetupError
from viva.exam.judging.exchanges import NotReadable, exchanges_of
from viva.exam.options import JudgeKind
from viva.journal.reader import read_runs
from viva.journal.writer import Damage
from viva.records.text import one_line
from viva.reports.console.exchanges import ExchangePrinter
from viva.reports.exchanges import MOST_TOPICS, chosen_exchanges, exchange_plain, listed_topics
from viva.streams import reader_left

JUDGES: tuple[str, ...] = get_args(JudgeKind)


def print_asked(folder: Path, run: str | None, choice: RunChoice, what: str, *, as_json: bool) -> None:
    """Print what judges' models were asked and answered about something, of all wanted runs that have it.

    Raises:
        SetupError: there is nothing about it.
    """
    console, damage, found, not_shown = Console(), Damage(), 0, 0
    printer = ExchangePrinter(console)
    known: dict[str, None] = {}
    for stored in choice.among(read_runs(folder, run, damage, wanted=choice.wants)):
        try:
            read = exchanges_of(stored)
        except NotReadable as error:
            click.echo(f"{one_line(stored.id)}: what its judge was asked cannot be read: {error}", err=True)
            continue
        exchanges = read.exchanges
        not_shown += read.not_shown
        if note := read.note():
            click.echo(f"note: {one_line(stored.id)}: of what its judge was asked, {note}", err=True)
        if len(known) <= MOST_TOPICS:
            known.update(dict.fromkeys(name for each in exchanges for name in (each.criterion, each.evaluator)))
        if not (chosen := chosen_exchanges(exchanges, stored, what)):
            continue
        found += 1
        if as_json:
            plain = {
                "run": stored.id,
                "attempt": stored.attempt,
                "exchanges": map(exchange_plain, chosen),
            }
            for piece in json_pieces(plain):
                click.echo(piece, nl=False)
        else:
            console.print(Text(f"{one_line(stored.setting.case or stored.id, 60)} ({one_line(stored.id)})", "bold"))
            printer.print(chosen, stored)
        if reader_left():
            return
    if choice.seen and not choice.chosen:
        click.echo(choice.explain_none(), err=True)
    elif not found:
        names = listed_topics(known)
        nothing = "No model judged, --no-exchange was given, or Viva was older."
        kept = f"There is: {names}." if names else "What there is, is too long to be shown." if not_shown else nothing
        kind = " As the kind of judge, --judge requires --against." if what in JUDGES else ""
        asked = f"{folder} holds nothing that a judge's model was asked about {one_line(what, 80)!r}"
        raise SetupError(f"{asked}. {kept}{kind}")

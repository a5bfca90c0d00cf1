"""Writes the report for a terminal, to a terminal or a file."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.text import Text

from viva.exam.last_words import read_last_words
from viva.records.text import one_line
from viva.records.wording import counted
from viva.reports.console.run import run_report
from viva.reports.console.suite import suite_report
from viva.reports.console.whys import Locate, print_whole
from viva.reports.journals import Journals
from viva.statistics.causes.cause import Cause, has_cause
from viva.statistics.error_groups import ErrorGroup
from viva.statistics.summary import Figures


def write(journals: Journals, out: TextIO) -> None:
    """Print one run in full, or the statistics of several runs.

    Raises:
        JournalError: a journal cannot be read.
    """
    console = Console(file=out)
    first = list(islice(journals.entries(), 2))
    folder = journals.locations[0][0]
    unfinished = journals.unfinished()
    for line in journals.caveats():
        console.print(Text(line, style="yellow"), soft_wrap=True)
    if len(first) == 1 and not unfinished:
        console.print(run_report(first[0].record, first[0].folder))
    elif not first:
        which = "no finished run that the filters keep" if journals.filters else "no finished run"
        console.print(Text(f"{one_line(str(folder), 500)} holds {which}"), soft_wrap=True)
    else:
        figures = journals.figures()
        several = len(journals.locations) > 1
        locate = _locations(journals, figures) if several else None
        print_whole(console, suite_report(figures, folder, locate=locate, joined=several))
    for other, _ in journals.locations[1:]:
        console.print(Text(f"joined with {one_line(str(other), 500)}"), soft_wrap=True)
    if unfinished:
        console.print(Text(f"{counted(len(unfinished), 'unfinished run')} excluded", style="yellow"))
    for place, _ in journals.locations:
        if unfinished and (words := read_last_words(place)) is not None:
            console.print(Text(str(words), style="yellow"), soft_wrap=True)
    if skipped := journals.damage.words("unreadable line"):
        console.print(Text(f"skipped: {skipped} of the journal", style="yellow"))


def _locations(journals: Journals, figures: Figures) -> Locate:
    """Return the journals of the runs that are named as examples: a run of the same id can be in several."""
    errors, misses = {group.run for group in figures.troubles}, {group.run for group in figures.misses}
    found: dict[int, Path] = {}
    for entry in journals.quick_entries():
        record = entry.record
        named: list[ErrorGroup | Cause] = []
        if record.error and record.id in errors:
            named += [group for group in figures.troubles if group.run == record.id]
        elif record.id in misses:
            named += [group for group in figures.misses if group.run == record.id and has_cause(record, group)]
        for group in named:
            found.setdefault(id(group), entry.folder)
    return lambda group: found.get(id(group), journals.locations[0][0])

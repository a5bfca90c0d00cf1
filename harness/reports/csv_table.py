"""CSV: one row for each run. TaskWeaver's columns come first, so its readers of `auto_eval` results keep working."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import TextIO

from harness.reports.facts import cost_of, tokens_of
from harness.reports.journals import Entry, Journals
from harness.statistics.cells import score_of
from records.text import one_line

# fmt: off
COLUMNS = (
    "case_file", "score", "normalized_score", "agent", "trial", "outcome", "rounds", "stop", "tokens", "cost",
    "seconds", "journal", "run", "error",
)
# fmt: on
# What a spreadsheet takes for a formula at the start of a cell, full-width forms included; a cell also starts behind
# a semicolon where that separates the columns. https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = re.compile(r"(^|;)([\s\"']*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")


def write(journals: Journals, out: TextIO) -> None:
    """Write CSV as RFC 4180 has it: comma, CRLF, quotes where needed.

    Runs that say nothing about the agent have no score here, so that nobody averages it in.

    Raises:
        JournalError: a journal cannot be read.
    """
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    writer.writerows(_rows(journals))


def cell(text: str, limit: int = 1000) -> str:
    """Text that no spreadsheet takes for a formula, on one line, without control characters."""
    return _FORMULA.sub(lambda match: f"{match[1]}'{match[2]}", one_line(text, limit))


def _rows(journals: Journals) -> Iterator[tuple[str | int, ...]]:
    for entry in journals.entries():
        yield _row(entry)
    for run in journals.unfinished():
        yield (
            *(cell(run.case), "", "", cell(run.agent), "", "unfinished", "", "", "", "", ""),
            *(cell(str(run.folder)), cell(run.id), "the run did not end"),
        )


def _row(entry: Entry) -> tuple[str | int, ...]:
    record = entry.record
    scored, cost = score_of(record), cost_of(record)
    return (
        cell(record.subject),
        "" if scored is None else f"{record.points or 0:g}",
        "" if scored is None else f"{scored[0]:.6g}",
        cell(record.agent),
        record.trial,
        record.outcome.value,
        record.rounds,
        record.stop.value if record.stop else "",
        tokens_of(record),
        "unknown" if cost is None else f"{cost:.6f}",
        f"{record.timing.seconds:.3f}",
        cell(str(entry.folder)),
        cell(record.id),
        cell(record.error or ""),
    )

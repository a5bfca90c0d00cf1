"""The CSV sink: writes each completed run as a row, exactly as `viva report --format csv` does."""

from __future__ import annotations

import asyncio
import csv
import io
from pathlib import Path
from typing import TypeVar

from viva.filters.stored_cases import StoredCases
from viva.records.run_record import RunRecord
from viva.records.transcript import Transcript
from viva.reports.csv_table import ADDED, MOST_EVALUATORS, head, row
from viva.reports.journals import Entry
from viva.sinks.line_file import LineFile
from viva.statistics.scores import evaluator_names

T = TypeVar("T")


class CsvSink:
    """Appends rows to a file, each with one write, so that several suites can share it.

    The columns are those of the first run in the file. A run with an evaluator that has no columns there is refused,
    rather than written without its judgement.
    """

    def __init__(self, path: str = "runs/history.csv") -> None:
        """Open the file for appending.

        Raises:
            SetupError: it cannot be written.
        """
        self._file = LineFile(path, "csv")
        self._folder = Path()
        self._cases = StoredCases(self._folder)
        self._evaluators: list[str] | None = None
        """The evaluators with columns of their own; None before the first run."""
        self._lacking: frozenset[int] = frozenset()
        """The places of the columns that the file lacks, because an older version began it."""

    def begin(self, folder: Path) -> None:
        """Note the folder of the journal, which each row names."""
        self._folder = folder
        self._cases = StoredCases(folder)

    async def write(self, record: RunRecord, transcript: Transcript) -> None:
        """Append one row, below the columns' names where it is the first.

        Raises:
            ValueError: the file has other columns.
            OSError: it could not be written.
        """
        await asyncio.to_thread(self._write, Entry(self._folder, record))

    async def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, entry: Entry) -> None:
        names = list(evaluator_names(entry.record))[:MOST_EVALUATORS]
        lines = ""
        if self._evaluators is None:
            found = self._file.first_line()
            evaluators = _evaluators_of(found, names)
            columns = head(evaluators)
            if not found:
                lines = _line(columns)
            else:
                self._lacking = _lacking(found, columns)
                if found != _line(_without(columns, self._lacking)).rstrip("\r\n"):
                    raise ValueError(f"{self._file.path} has other columns than these runs; name another file")
            self._evaluators = evaluators
        missing = [name for name in names if name not in self._evaluators]
        if missing:
            raise ValueError(f"{self._file.path} has no columns for {', '.join(missing)[:200]}; name another file")
        cells = row(entry, self._cases.facts(entry.record), self._evaluators)
        self._file.append((lines + _line(_without(cells, self._lacking))).encode())


def _evaluators_of(first_line: str, names: list[str]) -> list[str]:
    """The evaluators that a file has columns for; those of the first run for a new file."""
    if not first_line:
        return names
    columns = next(csv.reader([first_line]), [])
    ending = " label"
    there = [column.removesuffix(ending) for column in columns if column.endswith(ending)]
    return there if set(names) <= set(there) else names


def _lacking(first_line: str, columns: tuple[str, ...]) -> frozenset[int]:
    """Return the places of the columns that a file lacks as those of older versions do."""
    there = next(csv.reader([first_line]), [])
    return frozenset(columns.index(name) for name in ADDED if name not in there)


def _without(cells: tuple[T, ...], places: frozenset[int]) -> tuple[T, ...]:
    return tuple(cell for place, cell in enumerate(cells) if place not in places)


def _line(cells: tuple[str | int, ...]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(cells)
    return out.getvalue()

"""Reads the records of past runs from journals, files of the sink `jsonl`, and histories of a user's own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viva.adapters.part_errors import describe_part
from viva.errors import SetupError
from viva.journal.paths import RUNS
from viva.journal.reader import read_records, split_reference
from viva.journal.record_lines import read_record_lines
from viva.journal.writer import FILE, Damage, JournalError
from viva.plugins.import_strings import PluginError, import_string
from viva.records.history import EvalHistorySource
from viva.records.run_record import RunRecord


@dataclass(slots=True)
class RunHistory:
    """Past runs by their references; read as a stream, as often as it takes."""

    references: tuple[str, ...]
    """Each is `FOLDER` or `FOLDER#RUN-ID` of a journal, a file that the sink `jsonl` wrote, or an import string of an
    `EvalHistorySource` (`package.module:Thing`, `file.py:Thing`), which may be a class or function that makes one."""
    damage: Damage = field(default_factory=Damage)
    """What the newest reading had to skip."""

    def records(self) -> Iterator[RunRecord]:
        """Read all records, as `entries` does, for figures: they may be structs, as `read_record` makes them."""
        return (record for _, record in self.entries(quick=True))

    def entries(self, *, quick: bool = False) -> Iterator[tuple[str, RunRecord]]:
        """Read all records, reference by reference; each with where it is found (`FOLDER#RUN-ID`).

        Args:
            quick: Whether records may be structs, as `read_record` makes them.

        Raises:
            JournalError: there is no such journal, file or run.
            SetupError: an import string names nothing that is a history, or its history cannot be read.
        """
        self.damage = Damage()
        for reference in self.references:
            path, run = split_reference(reference)
            if Path(reference).is_file():
                path, records = Path(reference), read_record_lines(Path(reference), self.damage)
            elif ":" in reference and not path.exists():
                path, records = Path(reference), _from_source(reference)
            else:
                records = self._of_journal(path, run, quick)
            yield from ((f"{path}#{record.id}", record) for record in records)

    def folders(self) -> list[tuple[Path, str | None]]:
        """List the journals among the references, each with the one run that is meant or None for all."""
        split = [split_reference(reference) for reference in self.references]
        return [(path, run) for path, run in split if path.is_dir()]

    def _of_journal(self, folder: Path, run: str | None, quick: bool) -> Iterator[RunRecord]:
        found = False
        for record in read_records(folder, self.damage, quick=quick):
            if run is None or record.id == run:
                found = True
                yield record
        if run is not None and not found:
            raise JournalError(f"{folder} holds no finished run {run!r}.")


def history_of(references: Sequence[str]) -> RunHistory:
    """Make a history of references; none stands for all journals under `runs/`, oldest first.

    Raises:
        SetupError: none was given, and there is none.
    """
    if not references:
        found = sorted(RUNS.glob(f"*/{FILE}"), key=lambda file: file.stat().st_mtime) if RUNS.is_dir() else []
        if not found:
            raise SetupError("there is no journal under runs/ yet; run an exam first, or name a journal's folder.")
        references = [str(file.parent) for file in found]
    return RunHistory(tuple(dict.fromkeys(references)))


def _from_source(reference: str) -> Iterator[RunRecord]:
    try:
        thing: Any = import_string(reference)
    except PluginError as error:
        raise SetupError(str(error)) from error
    try:
        source: EvalHistorySource = thing if not isinstance(thing, type) and hasattr(thing, "runs") else thing()
        runs = asyncio.run(_runs(source))
    except Exception as error:
        raise SetupError(f"the history {reference} cannot be read: {describe_part(error, thing)}.") from error
    for run in runs:
        yield run.record


async def _runs(source: EvalHistorySource) -> Sequence[Any]:
    return await source.runs()

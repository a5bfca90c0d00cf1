"""Journals as a Python program reads them, and what came of a suite that was written into one."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from adapters.errors import SetupError
from harness.statistics.summary import Figures
from harness.suites.plan import FILE as PLAN_FILE
from harness.suites.sources import FILE as SOURCES_FILE
from records.journal import FILE
from records.journal_reader import StoredRun, read_runs, split_reference


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """What came of a suite, or of judging stored conversations; the runs themselves lie in its journal."""

    folder: Path
    """The journal's, absolute."""
    figures: Figures
    """Statistics of all runs of the journal: `figures.suite.mean`, and `figures.agents` one by one."""
    ended: int = 0
    """Runs that were held or judged now."""
    left_out: int = 0
    """Runs that were not begun, or cut off, or whose conversation had not ended, so that it is not judged."""
    reason: str | None = None
    """Why some were left out."""

    def runs(self) -> Iterator[StoredRun]:
        """Read the runs, one at a time."""
        return read_journal(self.folder)


JournalLike = str | os.PathLike[str] | StoredRun | SuiteResult
"""A journal's folder, `FOLDER#RUN-ID`, one of its runs, or what came of a suite."""


def read_journal(journal: JournalLike) -> Iterator[StoredRun]:
    """Read the runs of a journal one at a time, in the order in which they ended; unfinished ones come last.

    Args:
        journal: Its folder; `FOLDER#RUN-ID` is one run of it.

    Returns:
        Runs with `transcript`, `insights`, `record` (None where the run did not end), `setting`, and the record's
        `score` and `outcome`.

    Raises:
        JournalError: there is no journal, or no such run in it.
    """
    runs = read_runs(*place_of(journal))
    # A mistake in the name is told now, and not when the first run is asked for.
    return itertools.chain([first], runs) if (first := next(runs, None)) is not None else iter(())


def refuse_used(folder: Path) -> None:
    """See that nothing was begun in a folder that is to hold something new.

    Raises:
        SetupError: something was.
    """
    file = folder / FILE
    if any((folder / plan).exists() for plan in (PLAN_FILE, SOURCES_FILE)) or (file.is_file() and file.stat().st_size):
        raise SetupError(
            f"{folder} holds a journal already; go on with it (resume=True, where the same call began it), or name "
            "another folder as out."
        )


def places_of(journals: JournalLike | Iterable[JournalLike]) -> list[tuple[Path, str | None]]:
    """The places of one journal, or of several.

    Raises:
        SetupError: there is none.
    """
    if isinstance(journals, str | os.PathLike | StoredRun | SuiteResult):
        return [place_of(journals)]
    places = [place_of(each) for each in journals]
    if not places:
        raise SetupError("there is nothing to judge: name a journal.")
    return places


def place_of(journal: JournalLike) -> tuple[Path, str | None]:
    """The folder of a journal, and the run that is meant, or None for all."""
    if isinstance(journal, StoredRun):
        return journal.folder, journal.id
    if isinstance(journal, SuiteResult):
        return journal.folder, None
    return split_reference(os.fspath(journal))

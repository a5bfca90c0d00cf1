"""Reads journals in Python programs; the result of a suite."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from viva.api.arguments import checked
from viva.errors import SetupError
from viva.journal.reader import StoredRun, read_runs, split_reference
from viva.journal.writer import FILE
from viva.statistics.summary import Figures
from viva.suites.adaptive.decisions import AdaptiveDecision
from viva.suites.resuming.stored_request import R, holds_request, refuse_other_request, request_to_resume


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """The result of a suite, or of judging stored conversations; the runs themselves are in its journal."""

    folder: Path
    """The absolute folder of the journal."""
    figures: Figures
    """Statistics of all runs in the journal: `figures.suite.mean`, and `figures.agents` for each agent."""
    ended: int = 0
    """Number of runs that were completed or judged by this call."""
    left_out: int = 0
    """Number of runs that were not started or were cut off, and of stored conversations that were not judged or asked
    again because they did not end, broke off, or lack rounds. Of `viva.trace`, also of the files that cannot be read,
    or not whole."""
    reason: str | None = None
    """Why some runs were left out."""
    decisions: tuple[AdaptiveDecision, ...] = ()
    """What a suite with `until` decided: one for each agent, or one for both."""
    exit_code: int | None = None
    """What `viva suite` would end with (0: all gates passed), if `viva.suite` applied the gates of a `viva.yaml`."""
    failure: str = ""
    """The reason in words; empty for 0."""

    def runs(self) -> Iterator[StoredRun]:
        """Yield the runs, one at a time."""
        return read_journal(self.folder)


JournalLike = str | os.PathLike[str] | StoredRun | SuiteResult
"""A journal's folder, `FOLDER#RUN-ID`, one of its runs, or the result of a suite."""


@checked
def read_journal(journal: JournalLike) -> Iterator[StoredRun]:
    """Read the runs of a journal one at a time, in the order in which they ended; unfinished runs come last.

    Args:
        journal: The journal's folder; `FOLDER#RUN-ID` selects one run.

    Returns:
        An iterator of runs with `transcript`, `insights`, `record` (None if the run did not end), `setting`, and the
        record's `score` and `outcome`.

    Raises:
        JournalError: there is no journal, or no such run in it.
    """
    runs = read_runs(*reference_of(journal))
    # A mistake in the name is reported now, and not when the first run is read.
    return itertools.chain([first], runs) if (first := next(runs, None)) is not None else iter(())


def begin_or_resume(folder: Path, asked: R, *, resume: bool) -> tuple[R, bool]:
    """Return the request to carry out, and whether it resumes the one that the folder holds.

    Raises:
        SetupError: the folder holds a different request, or any journal if the call does not resume one.
    """
    if not resume or not holds_request(folder):
        refuse_used(folder)
        return asked, False
    # No matter who began it, all that it would run is compared with what this call asks for.
    stored = request_to_resume(folder, type(asked), asked.command, trusted=True)
    refuse_other_request(folder, stored, asked)
    return asked.resuming(stored), True


def refuse_used(folder: Path) -> None:
    """Check that the folder of a new journal is not in use.

    Raises:
        SetupError: the folder already holds a journal.
    """
    file = folder / FILE
    if holds_request(folder) or (file.is_file() and file.stat().st_size):
        raise SetupError(
            f"{folder} already holds a journal; resume it (resume=True, if the same call started it), or pass another "
            "folder as out."
        )


def references_of(journals: JournalLike | Iterable[JournalLike]) -> list[tuple[Path, str | None]]:
    """Return the folder of each journal and the id of one run, or None for all runs.

    Raises:
        SetupError: there is no journal.
    """
    if isinstance(journals, str | os.PathLike | StoredRun | SuiteResult):
        return [reference_of(journals)]
    references = [reference_of(each) for each in journals]
    if not references:
        raise SetupError("there is nothing to judge: name a journal.")
    return references


def reference_of(journal: JournalLike) -> tuple[Path, str | None]:
    """Return the folder of a journal, and the id of one run, or None for all runs."""
    if isinstance(journal, StoredRun):
        return journal.folder, journal.id
    if isinstance(journal, SuiteResult):
        return journal.folder, None
    return split_reference(os.fspath(journal))

"""Asks another agent the questions of stored conversations again, and judges what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from adapters.errors import SetupError
from cases import Case
from examiner import ReplayedExaminer
from harness.again import stored_case
from harness.one_writer import only_writer
from harness.options import Options
from harness.parts import Parts, assemble_with
from harness.run import Run
from harness.suites.engine import Job, Suite, SuiteEnd, SuiteLimits
from harness.suites.progress import SuiteProgress
from harness.suites.run import Syncing
from records.journal import Journal
from records.stored import StoredRun, read_runs
from records.sync import Syncer
from records.text import one_line


async def ask_again(
    source: Path, run: str | None, options: Options, folder: Path, console: Console, *, show: bool = True
) -> SuiteEnd:
    """Hold every stored exam again with the agent of `options`.

    Args:
        source: The journal whose questions are asked.
        run: Only this run.
        options: The agent and the judge.
        folder: The new journal's.
        console: For notices and progress.
        show: Whether to say anything there.

    Raises:
        SetupError: there is nothing to ask, or the user must change something.
        JournalError: a journal cannot be read or written.
    """
    cases: dict[tuple[str, str], Case] = {}
    number = 0
    for stored in read_runs(source, run):
        if stored.transcript.rounds:
            number += 1
            if _paper(stored) not in cases:
                cases[_paper(stored)] = stored_case(stored)
    if not number:
        raise SetupError(f"{source} holds no conversation to ask again.")
    parts = await assemble_with(options, list(cases.values()), "replay")
    try:
        for notice in parts.notices if show else ():
            console.print(Text(f"note: {one_line(notice, 1000)}", style="yellow"), soft_wrap=True)
        limits = SuiteLimits(options.concurrency)
        with only_writer(folder), Journal(folder) as journal, SuiteProgress(console, number, 0, show) as progress:
            async with Syncer(journal) as syncer:
                jobs = _jobs(read_runs(source, run), cases, parts, journal)
                return await Suite(jobs, limits, Syncing(progress, syncer)).run()
    finally:
        await parts.close()


def _paper(stored: StoredRun) -> tuple[str, str]:
    """Name and hash: two cases may say the same, and are two cases still."""
    return stored.setting.case, stored.setting.case_hash


def _jobs(
    runs: Iterator[StoredRun], cases: dict[tuple[str, str], Case], parts: Parts, journal: Journal
) -> Iterator[Job]:
    """Trials keep their number where one agent was asked; the questions of several agents are numbered on."""
    taken: Counter[str] = Counter()
    seen: set[tuple[str, int]] = set()
    for stored in runs:
        if not stored.transcript.rounds:
            continue
        case = cases[_paper(stored)]
        taken[case.name] += 1
        trial = stored.record.trial if stored.record else taken[case.name]
        while (case.name, trial) in seen:
            trial += 1
        seen.add((case.name, trial))
        # As many rounds as there are questions, whatever the case's own limit.
        asked = replace(case, max_rounds=max(len(stored.transcript.rounds), case.max_rounds or 0))
        yield Job(Run(asked, parts, journal, trial, examiner=ReplayedExaminer(stored.transcript)))

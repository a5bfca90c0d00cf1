"""Asks another agent the questions of stored conversations again, and judges what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from adapters.errors import SetupError
from cases import Case
from examiner import Examiner, ReplayedExaminer
from harness.exam.examine import Run
from harness.exam.resources import build_resources_without_examiner
from harness.exam.stored_runs import stored_case, trial_of
from harness.reports.suite_progress import SuiteProgress
from harness.suites.engine import Job, Suite, SuiteEnd, SuiteLimits
from harness.suites.resume import conversations, read_states, to_do
from harness.suites.sources import Sources, save_sources
from harness.suites.suite import Syncing
from records.journal import Journal
from records.journal_lock import exclusive_writer
from records.journal_reader import StoredRun, read_runs
from records.journal_sync import Syncer
from records.text import one_line
from records.transcript import StopReason, Transcript

WHOLE = (StopReason.FINISHED, StopReason.MAX_ROUNDS)
"""How a conversation stops in which the examiner asked all that it wanted to ask."""


async def ask_again(
    sources: Sources, folder: Path, console: Console, *, resumed: bool, retry_errors: bool, show: bool
) -> SuiteEnd:
    """Hold every stored exam again with the agent of the options.

    Args:
        sources: The journal whose questions are asked, the agent and the judge.
        folder: The new journal's.
        console: For notices and progress.
        resumed: The folder holds some of it already.
        retry_errors: Hold again what failed then without the agent's fault, too.
        show: Whether to say anything there.

    Raises:
        SetupError: there is nothing to ask, or the user must change something.
        JournalError: a journal cannot be read or written.
    """
    folder_asked, only = sources.journals[0]
    asked, broken_off = _questions(folder_asked, only)
    options = replace(sources.options, concurrency=min(sources.options.concurrency, len(asked)))
    cases = {(each.case.name, each.case.hash): each.case for each in asked.values()}
    resources = await build_resources_without_examiner(options, list(cases.values()), "replay")
    try:
        for notice in (*_told(broken_off, only), *resources.notices) if show else ():
            console.print(Text(f"note: {one_line(notice, 1000)}", style="yellow"), soft_wrap=True)
        with exclusive_writer(folder), Journal(folder) as journal:
            if not resumed:
                save_sources(sources, journal)
            states = read_states(folder) if resumed else {}
            runs = {name: Run(each.case, resources, journal, each.trial) for name, each in asked.items()}
            doing = {
                name: (run, *to_do(states.get(run.id), fresh=False, retry_errors=retry_errors))
                for name, run in runs.items()
            }
            done = sum(what == "skip" for _, what, _ in doing.values())
            with SuiteProgress(console, len(doing) - done, done, show) as progress:
                async with Syncer(journal) as syncer:
                    jobs = _jobs(read_runs(folder_asked, only), doing, journal)
                    return await Suite(jobs, SuiteLimits(options.concurrency), Syncing(progress, syncer)).run()
    finally:
        await resources.close()


@dataclass(frozen=True, slots=True)
class _Questions:
    """What another agent is asked: one stored conversation's questions, without their words."""

    case: Case
    trial: int


def _told(broken_off: int, only: str | None) -> Iterator[str]:
    if broken_off and only:
        yield "this conversation broke off: the questions are those that were asked until then"
    elif broken_off:
        number = "1 conversation" if broken_off == 1 else f"{broken_off} conversations"
        yield f"{number} broke off before all was asked; left out: half an exam says little"


def _questions(folder: Path, only: str | None) -> tuple[dict[str, _Questions], int]:
    """What is asked, by the id of the stored run; and how many conversations broke off before all was asked.

    Trials keep their number where one agent was asked; those of several go on counting.

    Raises:
        SetupError: there is nothing to ask, or a case cannot be read.
        JournalError: the journal cannot be read.
    """
    found: dict[str, _Questions] = {}
    # Name and hash: two cases may say the same, and are two cases still.
    cases: dict[tuple[str, str], Case] = {}
    seen: set[tuple[str, int]] = set()
    broken_off = 0
    for stored in read_runs(folder, only):
        rounds = len(stored.transcript.rounds)
        whole = stored.transcript.stop in WHOLE
        broken_off += not whole
        if not rounds or not (whole or only):
            continue
        paper = stored.setting.case, stored.setting.case_hash
        case = cases.get(paper)
        if case is None:
            case = cases[paper] = stored_case(folder, stored.setting)
            _check_data_files(case)
        trial = trial_of(stored)
        while (case.name, trial) in seen:
            trial += 1
        seen.add((case.name, trial))
        # As many rounds as there are questions, whatever the case's own limit.
        found[stored.id] = _Questions(replace(case, max_rounds=max(rounds, case.max_rounds or 0)), trial)
    if not found:
        why = (
            f": {broken_off} broke off before all was asked (name one to ask it: JOURNAL#RUN-ID)" if broken_off else ""
        )
        raise SetupError(f"{folder} holds no conversation to ask again{why}.")
    return found, broken_off


def _check_data_files(case: Case) -> None:
    """See that the agent gets what it got then; a stranger's journal must not hand it anything else.

    Raises:
        SetupError: a data file is not there, or not within the case's folder.
    """
    home = case.folder.resolve()
    for name in case.data_files:
        file = (home / name).resolve()
        if not file.is_relative_to(home):
            raise SetupError(f"the stored case {case.name!r} wants a file from outside its folder: {name}")
        if not file.exists():
            raise SetupError(f"the data file {name} of the case {case.name!r} is not in {home} any more.")


def _jobs(runs: Iterator[StoredRun], doing: Mapping[str, tuple[Run, str, int]], journal: Journal) -> Iterator[Job]:
    """Conversations that were held again before a stop come last: they are only judged."""
    to_judge: dict[str, Run] = {}
    for stored in runs:
        run, what, attempt = doing.get(stored.id, (None, "skip", 0))
        if run is None or what == "skip":
            continue
        if what == "judge":
            to_judge[run.id] = replace(run, attempt=attempt)
            continue
        examiner = partial(_examiner, stored.transcript)
        yield Job(replace(run, attempt=attempt, resources=replace(run.resources, make_examiner=examiner)))
    for held in conversations(journal.folder, to_judge):
        yield Job(to_judge[held.id], held)


def _examiner(transcript: Transcript, case: Case) -> Examiner:
    # A new one for each attempt: it does not say again what it has said.
    return ReplayedExaminer(transcript)

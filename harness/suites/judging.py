"""Judges stored conversations again, as a suite whose conversations have all been held; no agent is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from adapters.errors import SetupError
from cases import Case
from examiner import Examiner, ExaminerError
from harness.exam.examine import Run
from harness.exam.options import Options
from harness.exam.resources import JudgeResources, Resources, build_judge
from harness.exam.stored_runs import StoredState, absent_agent, case_for, moved, read_stored_states, trial_of
from harness.reports.run_console import score_line
from harness.reports.suite_progress import SuiteProgress
from harness.suites.engine import Job, Listener, Suite, SuiteEnd, SuiteLimits
from harness.suites.resume import RunState, read_states, to_do
from harness.suites.sources import Sources, save_sources
from harness.suites.suite import Syncing
from records.journal import Damage, Journal
from records.journal_lock import exclusive_writer
from records.journal_reader import read_runs
from records.journal_sync import Syncer
from records.text import one_line


@dataclass(slots=True)
class Before:
    """What was found in the journals that are judged again."""

    damage: Damage = field(default_factory=Damage)
    order: list[str] = field(default_factory=list)
    """Runs in the order in which the journals hold them."""
    scores: dict[str, tuple[float | None, str]] = field(default_factory=dict)
    """Run id to the score of its old record, as a number and in words, where it had one."""
    not_ended: list[str] = field(default_factory=list)
    """Runs whose conversation never ended: they are not judged."""


async def judge_sources(
    sources: Sources, folder: Path, console: Console, *, resumed: bool, retry_errors: bool, show: bool
) -> Before:
    """Judge all conversations of some journals into a new one.

    Args:
        sources: Which, and by whom.
        folder: The new journal's.
        console: For notices and progress.
        resumed: The folder holds some of it already.
        retry_errors: Judge again what could not be judged then, too.
        show: Whether to show progress.

    Raises:
        SetupError: there is nothing to judge, or the user must change something.
        JournalError: a journal cannot be read or written.
    """
    held = _find(sources.journals)
    states = read_states(folder) if resumed else {}

    def skips(run: str) -> bool:
        return _skips(states.get(run), retry_errors)

    cases = _papers(sources, held, skips)
    ended = sum(each.ended for runs in held for each in runs.values())
    # No more rooms are made ready than there are conversations to judge.
    options = replace(sources.options, concurrency=max(1, min(sources.options.concurrency, ended)))
    judge = await build_judge(options, cases)
    try:
        with exclusive_writer(folder), Journal(folder) as journal:
            if not resumed:
                save_sources(sources, journal)
            for notice in judge.notices:
                console.print(Text(f"note: {one_line(notice, 1000)}", style="yellow"), soft_wrap=True)
            before = Before()
            doing = Doing(options, judge, sources.mended, states, retry_errors)
            done = sum(skips(run) for runs in held for run in runs)
            with SuiteProgress(console, ended - done, done, show) as progress:
                async with Syncer(journal) as syncer:
                    await judge_places(sources.journals, journal, doing, before, Syncing(progress, syncer))
            return before
    finally:
        await judge.close()


@dataclass(frozen=True, slots=True)
class Doing:
    """How conversations are judged again."""

    options: Options
    judge: JudgeResources
    mended: Case | None = None
    states: Mapping[str, RunState] = field(default_factory=dict)
    """What the new journal holds already."""
    retry_errors: bool = False

    def skips(self, run: str) -> bool:
        """Whether a run has been judged before."""
        return _skips(self.states.get(run), self.retry_errors)


def _skips(state: RunState | None, retry_errors: bool) -> bool:
    what, _ = to_do(state, fresh=False, retry_errors=retry_errors)
    return what == "skip"


async def judge_places(
    places: list[tuple[Path, str | None]], journal: Journal, doing: Doing, before: Before, listener: Listener
) -> SuiteEnd:
    """Judge the conversations of journals, as they come out of them, into another.

    Raises:
        SetupError: a case cannot be read.
        JournalError: a journal cannot be read or written.
    """
    jobs = _jobs(places, journal, doing, before)
    return await Suite(jobs, SuiteLimits(doing.options.concurrency), listener).run()


def _jobs(places: list[tuple[Path, str | None]], journal: Journal, doing: Doing, before: Before) -> Iterator[Job]:
    def none(case: Case) -> Examiner:
        raise ExaminerError(f"no examiner was given for {case.name!r}")

    judge = doing.judge
    cases: dict[tuple[Path, str, str], Case] = {}
    for folder, only in places:
        for stored in read_runs(folder, only, before.damage, keep_lines=True):
            if not stored.ended:
                before.not_ended.append(stored.id)
                continue
            before.order.append(stored.id)
            if stored.record is not None:
                before.scores[stored.id] = stored.record.score, score_line(stored.record)
            if doing.skips(stored.id):
                continue
            paper = folder, stored.setting.case, stored.setting.case_hash
            case = cases.get(paper)
            if case is None:
                case = cases[paper] = case_for(folder, stored.setting, doing.mended, journal)
            resources = Resources(doing.options, absent_agent(stored), none, "", None, judge, [], judge.prompts)
            run = Run(case, resources, journal, trial_of(stored), stored.attempt, stored.id)
            state = doing.states.get(stored.id)
            copied = state is not None and state.ended
            yield Job(run, moved(replace(stored, lines=b"") if copied else stored, journal, case, judge))


def _find(places: list[tuple[Path, str | None]]) -> list[dict[str, StoredState]]:
    """A first look at each journal.

    Raises:
        JournalError: one is not there, or not the run that is meant.
        SetupError: there is no run, or the same one twice: the new journal could not tell them apart.
    """
    found: list[dict[str, StoredState]] = []
    where: dict[str, Path] = {}
    for folder, only in places:
        held = read_stored_states(folder, only)
        for run in held:
            if run in where:
                raise SetupError(
                    f"the run {run} is in {where[run]} and in {folder}: judge these journals one by one, each into a "
                    "journal of its own."
                )
            where[run] = folder
        found.append(held)
    if not where:
        raise SetupError(f"there is nothing to judge: {', '.join(str(folder) for folder, _ in places)} holds no run.")
    return found


def _papers(sources: Sources, held: list[dict[str, StoredState]], skips: Callable[[str], bool]) -> list[Case]:
    """Every case that is judged by. What a case needs whose runs are all judged may be gone by now: it is left out.

    Raises:
        SetupError: one cannot be read, or no run is of the mended one.
    """
    mended = sources.mended
    names = {each.setting.case for runs in held for each in runs.values()}
    if mended is not None and mended.name not in names:
        raise SetupError(
            f"no run there is of a case called {mended.name!r} (that is the name of the case's folder); "
            f"there are {', '.join(sorted(names))}."
        )
    cases: dict[tuple[Path, str, str], Case] = {}
    for (folder, _), runs in zip(sources.journals, held, strict=True):
        for run, each in runs.items():
            paper = folder, each.setting.case, each.setting.case_hash
            if each.ended and paper not in cases and not skips(run):
                cases[paper] = case_for(folder, each.setting, mended)
    return list(cases.values())

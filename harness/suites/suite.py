"""Sets a suite up, new or resumed, and sees it through: one journal, one writer, every part closed at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from adapters.errors import SetupError
from adapters.models.prices import price
from cases import Case
from harness.exam.examine import Run
from harness.exam.resources import DEFAULT_AGENT, Resources
from harness.reports.suite_progress import SuiteProgress
from harness.suites.engine import Job, Suite, SuiteEnd, SuiteLimits
from harness.suites.loop_watch import LoopWatch
from harness.suites.plan import (
    Plan,
    PlannedRun,
    build_suite_resources,
    check_unchanged,
    expand,
    find_plan_cases,
    save_plan,
)
from harness.suites.resume import RunState, conversations, read_states, to_do
from harness.wording import counted
from records.journal import FILE, Damage, Journal, run_id
from records.journal_lock import exclusive_writer
from records.journal_sync import Syncer
from records.run_record import RunRecord
from records.text import one_line
from records.transcript import Round


@dataclass(frozen=True, slots=True)
class Request:
    """A suite to run."""

    folder: Path
    """The journal's."""
    plan: Plan
    resumed: bool = False
    fresh: bool = False
    retry_errors: bool = False
    attempts: int = 3
    max_cost: float | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it."""

    folder: Path
    end: SuiteEnd


async def run_suite(request: Request, console: Console, *, show: bool = True) -> Result:
    """Run a suite to its end, or to a limit.

    Args:
        request: What to run.
        console: For notices and progress.
        show: Whether to say anything there.

    Raises:
        SetupError, CaseError: the user must change something; nothing was run.
        JournalError: the journal cannot be written; what it holds can be resumed.
        asyncio.CancelledError: the suite was stopped, and can be resumed.
    """
    cases = find_plan_cases(request.plan)
    if request.resumed:
        check_unchanged(request.plan, cases)
    # First the resources: a mistake in them must not leave a journal behind that can neither be resumed nor begun.
    states = _states(request, console, show=show)
    resources = await build_suite_resources(request.plan, _unfinished(request, cases, states))
    try:
        if request.max_cost is not None:
            refuse_unknown_prices(resources)
        with exclusive_writer(request.folder), Journal(request.folder) as journal:
            if not request.resumed:
                hashes = tuple((case.name, case.hash) for case in cases)
                save_plan(replace(request.plan, cases=hashes, folder=os.getcwd()), journal)
            planned = list(expand(request.plan, cases, resources))
            doing = [_what(request, _id(run), states) for run in planned]
            return await _run(request, planned, doing, journal, console, show=show)
    finally:
        await resources[0].close()


def refuse_unknown_prices(resources: list[Resources]) -> None:
    """See that a budget in dollars can be kept, as far as that is known beforehand.

    Raises:
        SetupError: the price of a model is not known.
    """
    first = resources[0]
    models = [model.name for model in (first.examiner_model, first.judge.model) if model is not None]
    specs = (each.agent.spec for each in resources)
    models += [spec.partition("#")[2] for spec in specs if spec.startswith(("http://", "https://"))]
    unknown = [repr(name) for name in dict.fromkeys(models) if price(name, 1, 1) is None]
    if unknown:
        raise SetupError(
            f"--max-cost cannot be kept: the price of {', '.join(unknown)} is not known. --max-tokens can."
        )


async def _run(
    request: Request,
    planned: list[PlannedRun],
    doing: list[tuple[str, int]],
    journal: Journal,
    console: Console,
    *,
    show: bool,
) -> Result:
    counts = {kind: sum(1 for what, _ in doing if what == kind) for kind in ("skip", "judge", "examine")}
    if show:
        for notice in dict.fromkeys(notice for run in planned for notice in run.resources.notices):
            console.print(Text(f"note: {one_line(notice, 1000)}", style="yellow"), soft_wrap=True)
        _announce(console, request, counts)
    limits = SuiteLimits(
        request.plan.options.concurrency, request.attempts, request.max_cost, request.max_tokens, request.max_seconds
    )
    with SuiteProgress(console, counts["judge"] + counts["examine"], counts["skip"], show) as progress:
        still = request.plan.options.reply_seconds + 10.0
        async with Syncer(journal) as syncer, LoopWatch(console, still):
            listener = Syncing(progress, syncer)
            end = await Suite(_jobs(planned, doing, journal), limits, listener).run()
    return Result(request.folder, end)


def _jobs(planned: list[PlannedRun], doing: list[tuple[str, int]], journal: Journal) -> Iterator[Job]:
    """First the conversations that are only to be judged, as they come out of the journal; then the rest."""
    to_judge = {
        _id(run): Run(run.case, run.resources, journal, run.trial, attempt)
        for run, (what, attempt) in zip(planned, doing, strict=True)
        if what == "judge"
    }
    for stored in conversations(journal.folder, to_judge):
        yield Job(to_judge[stored.id], stored)
    for run, (what, attempt) in zip(planned, doing, strict=True):
        if what == "examine":
            yield Job(Run(run.case, run.resources, journal, run.trial, attempt))


def _states(request: Request, console: Console, *, show: bool) -> dict[str, RunState]:
    if not request.resumed or not (request.folder / FILE).exists():
        return {}
    damage = Damage()
    states = read_states(request.folder, damage)
    if show and damage.torn:
        console.print(Text(f"note: {damage.torn} torn lines in the journal are skipped", style="yellow"))
    return states


def _unfinished(request: Request, cases: list[Case], states: dict[str, RunState]) -> list[Case]:
    """The cases with anything left to do. What the others need is not asked for: it may be gone by now."""
    agents = request.plan.agents or (DEFAULT_AGENT,)
    trials = range(1, request.plan.trials + 1)

    def left(case: Case) -> bool:
        runs = (run_id(case.name, agent, trial) for agent in agents for trial in trials)
        return any(_what(request, run, states)[0] != "skip" for run in runs)

    return [case for case in cases if left(case)] if states else cases


def _what(request: Request, run: str, states: dict[str, RunState]) -> tuple[str, int]:
    return to_do(states.get(run), fresh=request.fresh, retry_errors=request.retry_errors)


def _id(run: PlannedRun) -> str:
    return run_id(run.case.name, run.resources.agent.spec, run.trial)


def _announce(console: Console, request: Request, counts: dict[str, int]) -> None:
    words = [f"{counted(counts['examine'], 'run')} to hold"]
    if counts["judge"]:
        words.append(f"{counted(counts['judge'], 'finished conversation')} to judge")
    if counts["skip"]:
        words.append(f"{counts['skip']} done before")
    console.print(Text(f"suite in {request.folder}: {', '.join(words)}"), soft_wrap=True)


@dataclass(slots=True)
class Syncing:
    """Passes everything on, and has the disk catch up after each run."""

    inner: SuiteProgress
    syncer: Syncer

    def on_start(self, run: Run) -> None:
        """A run begins."""
        self.inner.on_start(run)

    def on_round(self, run: Run, round_: Round) -> None:
        """One more round."""
        self.inner.on_round(run, round_)

    def on_end(self, run: Run, record: RunRecord) -> None:
        """A run has its record."""
        self.syncer.want()
        self.inner.on_end(run, record)

"""Sets up a new or resumed suite: which runs are conducted, which are only judged, and which are already finished."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from viva.cases import Case, Skipped
from viva.errors import SetupError
from viva.exam.stored_runs import RunState, read_states_to_resume
from viva.exam.subscribers import RunHeader
from viva.journal.conversation_lines import read_conversation_lines
from viva.journal.writer import FILE, Damage
from viva.records.wording import counted
from viva.suites.conduct import Display, Surroundings, Work, conduct
from viva.suites.engine import SuiteEnd, SuiteLimits
from viva.suites.job import Action, Job, WorkOrder
from viva.suites.plan import FILE as PLAN_FILE
from viva.suites.plan import (
    Plan,
    check_unchanged,
    find_plan_cases,
    load_plan,
    planned_runs,
    save_plan,
    skipped_notes,
    specs_of,
)
from viva.suites.resume import NextStep, Step, kept_digests, next_step
from viva.suites.sources import FILE as SOURCES_FILE


@dataclass(frozen=True, slots=True)
class Request:
    """A suite to run."""

    folder: Path
    """The journal's folder."""
    plan: Plan
    resumed: bool = False
    """Whether the folder already holds part of the suite."""
    fresh: bool = False
    """Whether to repeat finished runs."""
    retry_errors: bool = False
    """Whether to repeat runs that ended with an error of the examiner, the judge or the infrastructure."""
    max_cost: float | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    announce: bool = True
    """Whether to show how many runs are to be conducted, are to be judged, or are already finished."""
    cases: Mapping[str, Case] = field(default_factory=dict)
    """Cases that need not be loaded, by their path in the plan."""


async def run_suite(request: Request, around: Surroundings) -> SuiteEnd:
    """Run a suite to its end, or to a limit.

    Args:
        request: The suite to run.
        around: The engine, display, sinks and subscribers.

    Raises:
        SetupError, CaseError: the user must change something; nothing was run.
        JournalError: the journal cannot be written; what it holds can be resumed.
        asyncio.CancelledError: the suite was stopped, and can be resumed.
    """
    skipped: list[Skipped] = []
    cases = find_plan_cases(request.plan, request.cases, skipped)
    for note in skipped_notes(skipped):
        around.display.note(note)
    if request.resumed:
        check_unchanged(request.plan, cases)
    return await conduct(
        request.folder, lambda: _prepare(request, cases, around.display), around, resumed=request.resumed
    )


def single_run(folder: Path, plan: Plan, case: Case) -> Request:
    """Return a suite of one run, in a new journal, or as the next attempt at the run that the journal holds.

    Nothing is overwritten.

    Raises:
        SetupError: the journal is that of a suite, or does not hold exams.
    """
    request = Request(folder, replace(plan, single=True), announce=False)
    if (folder / SOURCES_FILE).exists():
        raise SetupError(f"{folder} was made by another command than viva run; name another --out.")
    if (folder / PLAN_FILE).exists() and not load_plan(folder).single:
        raise SetupError(
            f"{folder} already contains the journal of a suite. Choose another folder with --out and compare both "
            f"(viva compare), or resume the suite (viva suite --resume {folder})."
        )
    if not (folder / FILE).is_file() or not (folder / FILE).stat().st_size:
        return request
    states = read_states_to_resume(folder)
    if any(state.case == case.name and state.case_hash not in ("", case.hash) for state in states.values()):
        raise SetupError(f"{folder} holds runs of another case called {case.name!r}; name another --out.")
    return replace(request, resumed=True, fresh=True)


def _prepare(request: Request, cases: list[Case], display: Display) -> Work:
    plan = request.plan
    states = _states(request, display)
    doing = [
        (header, case, next_step(states.get(header.id), fresh=request.fresh, retry_errors=request.retry_errors))
        for header, case in planned_runs(plan, cases)
    ]
    counts = Counter(step.step for _, _, step in doing)
    # Cases whose runs are all finished are left out: what they require may no longer exist.
    left = {case.name for _, case, step in doing if step.step is not Step.SKIP}
    notices = () if plan.agents else ("no --agent given: examining the bundled careful agent",)
    for notice in notices:
        display.note(notice)
    return Work(
        order=WorkOrder(
            options=plan.options,
            cases=tuple(case for case in cases if case.name in left or not states),
            agents=specs_of(plan),
            digests=kept_digests((states.get(header.id), step.step) for header, _, step in doing),
            needs_prices=request.max_cost is not None,
        ),
        jobs=lambda folder: _jobs(doing, folder),
        total=counts[Step.JUDGE] + counts[Step.EXAMINE],
        done_before=counts[Step.SKIP],
        limits=SuiteLimits(plan.options.concurrency, request.max_cost, request.max_tokens, request.max_seconds),
        save_request=lambda journal: save_plan(
            replace(plan, cases=tuple((case.name, case.hash) for case in cases), folder=os.getcwd()), journal
        ),
        announce=_announcement(request, counts) if request.announce else "",
    )


def _jobs(doing: list[tuple[RunHeader, Case, NextStep]], folder: Path) -> Iterator[Job]:
    """Yield first the conversations that are only to be judged, in the order of the journal, and then the rest."""
    to_judge = {
        header.id: (replace(header, attempt=step.attempt), case)
        for header, case, step in doing
        if step.step is Step.JUDGE
    }
    if to_judge:
        for lines in read_conversation_lines(folder):
            if lines.run in to_judge:
                header, case = to_judge[lines.run]
                yield Job(action=Action.JUDGE, header=header, case_hash=case.hash, conversation=lines, carried=True)
    for header, case, step in doing:
        if step.step is Step.EXAMINE:
            attempt = replace(header, attempt=step.attempt)
            yield Job(action=Action.EXAMINE, header=attempt, case_hash=case.hash)


def _states(request: Request, display: Display) -> Mapping[str, RunState]:
    if not request.resumed or not (request.folder / FILE).exists():
        return {}
    damage = Damage()
    states = read_states_to_resume(request.folder, damage)
    if skipped := damage.words():
        display.note(f"skipped {skipped} in the journal")
    return states


def _announcement(request: Request, counts: Counter[Step]) -> str:
    words = [f"{counted(counts[Step.EXAMINE], 'run')} to conduct"]
    if counts[Step.JUDGE]:
        words.append(f"{counted(counts[Step.JUDGE], 'finished conversation')} to judge")
    if counts[Step.SKIP]:
        words.append(f"{counts[Step.SKIP]} already finished")
    return f"suite in {request.folder}: {', '.join(words)}"

"""Runs a new or resumed suite: decides which runs are conducted, which are only judged, and which are finished."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from viva.cases import Case, Skipped
from viva.errors import SetupError
from viva.exam.stored_runs import RunState, read_states_to_resume
from viva.exam.subscribers import RunHeader
from viva.journal.conversation_lines import read_conversation_lines
from viva.journal.writer import FILE, Damage
from viva.records.wording import counted
from viva.suites.adaptive.batches import StoredBatch, read_batches, write_batch
from viva.suites.adaptive.runs import AdaptiveRuns
from viva.suites.adaptive.supply import BatchedJobs
from viva.suites.at_work.requeueing import GrowingJobs
from viva.suites.conduct import Display, Surroundings, Work, conduct
from viva.suites.engine import Budget, SuiteEnd
from viva.suites.gate_checks import NO_GATES, PlannedGates
from viva.suites.job import Action, Job, WorkOrder
from viva.suites.plan import check_unchanged, find_plan_cases, planned_runs, skipped_notes, specs_of
from viva.suites.request import SuiteRequest
from viva.suites.resuming.next_step import NextStep, ResumeStep, kept_digests, next_step
from viva.suites.resuming.stored_request import load_request

NO_BUDGET = Budget()


async def run_suite(
    request: SuiteRequest,
    folder: Path,
    around: Surroundings,
    *,
    resumed: bool = False,
    fresh: bool = False,
    retry_errors: bool = False,
    budget: Budget = NO_BUDGET,
    given: Mapping[str, Case] = MappingProxyType({}),
    gates: PlannedGates = NO_GATES,
) -> SuiteEnd:
    """Run a suite to its end, or until its budget is used up.

    Args:
        request: The suite to run.
        folder: The journal's folder.
        around: The engine, display, sinks and subscribers.
        resumed: Whether the folder already holds part of the suite.
        fresh: Whether to repeat finished runs.
        retry_errors: Whether to repeat runs that ended with an error of the examiner, the judge or the infrastructure.
        budget: What the suite may use.
        given: Cases that need not be loaded, by their path in the request.
        gates: The gates that will be applied, which are checked before the first run.

    Raises:
        SetupError, CaseError: the user must change something; nothing was run.
        JournalError: the journal cannot be written; what it holds can be resumed.
        asyncio.CancelledError: the suite was stopped, and can be resumed.
    """
    skipped: list[Skipped] = []
    cases = find_plan_cases(request, given, skipped)
    for note in skipped_notes(skipped):
        around.display.note(note)
    if request.only is not None:
        # What the others require may not be there, and need not be.
        wanted = {case.name for _, case in planned_runs(request, cases)}
        cases = [case for case in cases if case.name in wanted]
    if resumed:
        check_unchanged(request, cases)
    adaptive = None if request.until is None else AdaptiveRuns(request, cases, budget.max_runs)
    gates.check_baseline({spec: [case.name for case in cases] for spec in specs_of(request)})

    def prepare() -> Work:
        states = _states(folder, around.display) if resumed else {}
        batches = [] if adaptive is None else (read_batches(folder) if resumed else []) or [adaptive.plan.first()]
        runs = (
            planned_runs(request, cases)
            if adaptive is None
            else chain.from_iterable(adaptive.of(batch) for batch in batches)
        )
        doing = [
            (
                _with_past(header, states.get(header.id)),
                case,
                next_step(states.get(header.id), fresh=fresh, retry_errors=retry_errors),
            )
            for header, case in runs
        ]
        if not request.agents:
            around.display.note("no --agent given: examining the bundled careful agent")
        kept = kept_digests((states.get(header.id), step.step) for header, _, step in doing)
        work = _work(
            request,
            folder,
            cases,
            doing,
            needs_prices=budget.max_cost is not None,
            is_new=not states or adaptive is not None,
        )
        work = replace(work, order=replace(work.order, digests=kept, gated=gates.evaluators))
        if adaptive is None:
            return work
        return replace(work, jobs=partial(_adaptive_jobs, adaptive, batches[0], doing, around.display))

    end = await conduct(folder, prepare, around, resumed=resumed, budget=budget)
    if adaptive is not None and end.reason is None:
        end.reason = adaptive.plan.why or None
    return end


def holds_single_runs(folder: Path, case: Case) -> bool:
    """Return whether a folder holds runs of `viva run`, to which another run, or another attempt, can be added.

    Nothing is overwritten.

    Raises:
        SetupError: the journal is that of a suite, does not hold exams, or holds those of another case of this name.
    """
    stored = load_request(folder)
    if stored is not None and stored.command == "suite":
        raise SetupError(
            f"{folder} already contains the journal of a suite. Choose another folder with --out and compare both "
            f"(viva compare), or resume the suite (viva suite --resume {folder})."
        )
    if stored is not None and stored.command != "run":
        raise SetupError(f"{folder} was made by another command than viva run; name another --out.")
    if not (folder / FILE).is_file() or not (folder / FILE).stat().st_size:
        return stored is not None
    states = read_states_to_resume(folder)
    if any(state.case == case.name and state.case_hash not in ("", case.hash) for state in states.values()):
        raise SetupError(f"{folder} holds runs of another case called {case.name!r}; name another --out.")
    return True


def _work(
    request: SuiteRequest,
    folder: Path,
    cases: list[Case],
    doing: list[tuple[RunHeader, Case, NextStep]],
    *,
    needs_prices: bool,
    is_new: bool,
) -> Work:
    counts = Counter(step.step for _, _, step in doing)
    # Cases whose runs are all finished are left out: what they require may no longer exist.
    left = {case.name for _, case, step in doing if is_new or step.step is not ResumeStep.SKIP}
    digests = tuple((case.name, case.hash) for case in cases)
    planned = {header.id: (header, case) for header, case, _ in doing if case.name in left}
    return Work(
        request=replace(request, cases=digests, folder=os.getcwd()),
        order=WorkOrder(
            options=request.options,
            cases=tuple(case for case in cases if case.name in left),
            agents=specs_of(request),
            needs_prices=needs_prices,
        ),
        jobs=lambda journal: GrowingJobs(_jobs(doing, journal), journal, partial(_job_again, planned)),
        total=counts[ResumeStep.JUDGE] + counts[ResumeStep.EXAMINE],
        done_before=counts[ResumeStep.SKIP],
        announce=_announcement(folder, counts) if request.command == "suite" else "",
    )


def _adaptive_jobs(
    adaptive: AdaptiveRuns,
    first: StoredBatch,
    doing: list[tuple[RunHeader, Case, NextStep]],
    display: Display,
    folder: Path,
) -> BatchedJobs:
    """Return the jobs of the batches that are stored, and then those of further ones."""
    write_batch(folder, 1, first)
    planned = {header.id: (header, case) for header, case, _ in doing}
    again = partial(_job_again, planned)

    def more(batch: StoredBatch) -> Iterator[Job]:
        added = [(header, case, next_step(None)) for header, case in adaptive.of(batch)]
        planned.update({header.id: (header, case) for header, case, _ in added})
        display.grow(len(added))
        return GrowingJobs(_jobs(added, folder), folder, again)

    return BatchedJobs(adaptive.plan, folder, GrowingJobs(_jobs(doing, folder), folder, again), more, display.announce)


def _with_past(header: RunHeader, state: RunState | None) -> RunHeader:
    """Return the header of a run that knows after which outcomes the user had it done again."""
    return header if state is None or not state.requeued else replace(header, requeued=state.requeued)


def _job_again(planned: Mapping[str, tuple[RunHeader, Case]], name: str, state: RunState) -> Job | None:
    """Return the job of a run that is to be done again; None if its case was not prepared, or is of no suite."""
    found = planned.get(name)
    if found is None:
        return None
    step = next_step(state)
    header = replace(_with_past(found[0], state), attempt=step.attempt)
    return Job(action=Action.EXAMINE, header=header, case_hash=found[1].hash, unfair=step.unfair)


def _jobs(doing: list[tuple[RunHeader, Case, NextStep]], folder: Path) -> Iterator[Job]:
    """Yield first the conversations that are only to be judged, in the order of the journal, and then the rest."""
    to_judge = {
        header.id: (replace(header, attempt=step.attempt), case, step.unfair)
        for header, case, step in doing
        if step.step is ResumeStep.JUDGE
    }
    if to_judge:
        for lines in read_conversation_lines(folder):
            if lines.run in to_judge:
                header, case, unfair = to_judge[lines.run]
                yield Job(
                    action=Action.JUDGE,
                    header=header,
                    case_hash=case.hash,
                    conversation=lines,
                    carried=True,
                    unfair=unfair,
                )
    for header, case, step in doing:
        if step.step is ResumeStep.EXAMINE:
            attempt = replace(header, attempt=step.attempt)
            yield Job(action=Action.EXAMINE, header=attempt, case_hash=case.hash, unfair=step.unfair)


def _states(folder: Path, display: Display) -> Mapping[str, RunState]:
    if not (folder / FILE).exists():
        return {}
    damage = Damage()
    states = read_states_to_resume(folder, damage)
    if skipped := damage.words():
        display.note(f"skipped {skipped} in the journal")
    return states


def _announcement(folder: Path, counts: Counter[ResumeStep]) -> str:
    words = [f"{counted(counts[ResumeStep.EXAMINE], 'run')} to conduct"]
    if counts[ResumeStep.JUDGE]:
        words.append(f"{counted(counts[ResumeStep.JUDGE], 'finished conversation')} to judge")
    if counts[ResumeStep.SKIP]:
        words.append(f"{counts[ResumeStep.SKIP]} already finished")
    return f"suite in {folder}: {', '.join(words)}"

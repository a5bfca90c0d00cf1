"""Runs a new or resumed suite: decides which runs are conducted, which are only judged, and which are finished."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

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
from viva.suites.at_work.repeating import RunsAgain
from viva.suites.at_work.requeueing import repeat_all
from viva.suites.conduct import Display, Surroundings, Work, conduct
from viva.suites.engine import Budget, JobSource, ListedJobs, SuiteEnd, requeued_words
from viva.suites.gate_checks import NO_GATES, PlannedGates
from viva.suites.job import Action, Job, WorkOrder
from viva.suites.plan import check_unchanged, find_plan_cases, planned_runs, skipped_notes, specs_of, without_added
from viva.suites.request import SuiteRequest
from viva.suites.resuming.next_step import NextStep, ResumeStep, kept_digests, next_step, past_outcomes
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
        fresh: Whether to repeat finished runs: every run of the journal, or those of the request if it holds others.
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
        cases = without_added(request, cases, around.display.warn)
    adaptive = None if request.until is None else AdaptiveRuns(request, cases, budget.max_runs)
    gates.check_baseline({spec: [case.name for case in cases] for spec in specs_of(request)})
    place = folder.absolute()  # an agent may change the working directory
    planned: dict[str, _Planned] = {}
    again = RunsAgain(partial(_job_again, planned), planned)

    def prepare() -> Work:
        states = _states(folder, around.display) if resumed else {}
        batches = [] if adaptive is None else (read_batches(folder) if resumed else []) or [adaptive.plan.first()]
        runs = list(
            planned_runs(request, cases)
            if adaptive is None
            else chain.from_iterable(adaptive.of(batch) for batch in batches)
        )
        every = fresh and states.keys() <= {header.id for header, _ in runs}
        doing = [
            (
                _with_past(header, states.get(header.id), alone=fresh and not every),
                case,
                next_step(states.get(header.id), fresh=fresh, every=every, retry_errors=retry_errors),
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
            again,
            needs_prices=budget.max_cost is not None,
            is_new=not states or adaptive is not None,
        )
        planned.update(_prepared(doing, work.order.cases))
        work = replace(work, order=replace(work.order, digests=kept, gated=gates.evaluators))
        if adaptive is not None:
            jobs = partial(_adaptive_jobs, adaptive, batches[0], doing, planned, again, around.display)
            work = replace(work, jobs=jobs)
        # A single run is repeated or not: there is no part of it to go on with.
        return replace(work, jobs=partial(_repeating, states, work.jobs)) if every and len(states) > 1 else work

    end = await conduct(folder, prepare, around, resumed=resumed, budget=budget)
    if adaptive is not None and end.reason is None:
        end.reason = adaptive.plan.why or None
    left = again.left(place)
    if left and request.command == "suite":
        end.left_out += sum(left.values())
        end.requeued = left
    elif left:
        around.display.note(f"still to be repeated: {'; '.join(requeued_words(left))}")
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
    again: RunsAgain,
    *,
    needs_prices: bool,
    is_new: bool,
) -> Work:
    counts = Counter(step.step for _, _, step in doing)
    # Cases whose runs are all finished are left out: what they require may no longer exist.
    left = {case.name for _, case, step in doing if is_new or step.step is not ResumeStep.SKIP}
    digests = tuple((case.name, case.hash) for case in cases)
    return Work(
        request=replace(request, cases=digests, folder=os.getcwd()),
        order=WorkOrder(
            options=request.options,
            cases=tuple(case for case in cases if case.name in left),
            agents=specs_of(request),
            needs_prices=needs_prices,
        ),
        jobs=lambda journal: again.source(ListedJobs(again.jobs(_jobs(doing, journal), journal))),
        total=counts[ResumeStep.JUDGE] + counts[ResumeStep.EXAMINE],
        done_before=counts[ResumeStep.SKIP],
        announce=_announcement(folder, counts) if request.command == "suite" else "",
    )


def _adaptive_jobs(
    adaptive: AdaptiveRuns,
    first: StoredBatch,
    doing: list[tuple[RunHeader, Case, NextStep]],
    planned: dict[str, _Planned],
    again: RunsAgain,
    display: Display,
    folder: Path,
) -> JobSource:
    """Return the jobs of the batches that are stored, and then those of further ones."""
    write_batch(folder, 1, first)

    def more(batch: StoredBatch) -> Iterator[Job]:
        added = [(header, case, next_step(None)) for header, case in adaptive.of(batch)]
        planned.update(_prepared(added))
        display.grow(len(added))
        return again.jobs(_jobs(added, folder), folder)

    jobs = again.jobs(_jobs(doing, folder), folder)
    return again.source(BatchedJobs(adaptive.plan, folder, jobs, more, display.announce))


def _repeating(
    states: Mapping[str, RunState], jobs: Callable[[Path], Iterable[Job] | JobSource], folder: Path
) -> Iterable[Job] | JobSource:
    """Note in the journal that every run is repeated, so that whoever resumes the suite does the rest; return the jobs.

    Otherwise a limit, or a kill, would leave a mixture of old and new results, which may have been chosen.
    """
    repeat_all(folder, states)
    return jobs(folder)


def _with_past(header: RunHeader, state: RunState | None, *, alone: bool = False) -> RunHeader:
    """Return the header of a run that knows after which outcomes the user had it done again."""
    past = past_outcomes(state, alone=alone)
    return replace(header, requeued=past) if past else header


class _Planned(NamedTuple):
    header: RunHeader
    case: Case
    attempt: int
    """The newest attempt that this process was to do, or found done."""


def _prepared(
    doing: Iterable[tuple[RunHeader, Case, NextStep]], cases: Collection[Case] | None = None
) -> dict[str, _Planned]:
    """Return the runs that can be done again, by id: those of these cases; None stands for all."""
    names = None if cases is None else {case.name for case in cases}
    return {
        header.id: _Planned(header, case, step.attempt)
        for header, case, step in doing
        if names is None or case.name in names
    }


def _job_again(planned: dict[str, _Planned], name: str, state: RunState) -> Job | None:
    """Return the job of a run that is to be done again; None if its case was not prepared, or is of no suite.

    None, too, if this process has that attempt in hand: its first line may not be in the journal yet.
    """
    found, step = planned.get(name), next_step(state)
    if found is None or step.attempt <= found.attempt:
        return None
    planned[name] = found._replace(attempt=step.attempt)
    header = replace(_with_past(found.header, state), attempt=step.attempt)
    return Job(action=Action.EXAMINE, header=header, case_hash=found.case.hash, unfair=step.unfair)


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

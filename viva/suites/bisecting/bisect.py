"""Runs a new or resumed bisection: forks the conversation until the decisive round is known."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from viva.cases import Case
from viva.errors import SetupError
from viva.exam.examiners import REPLAY, SCRIPT
from viva.exam.forking.fork import fork_at
from viva.exam.judging.stored_facts import facts_of
from viva.exam.kept_workspaces import find_workspace
from viva.exam.stored_runs import RunState, read_states_to_resume
from viva.exam.subscribers import RunHeader
from viva.journal.conversation_lines import ConversationLines, read_conversation_lines
from viva.journal.kept_cases import stored_case
from viva.journal.reader import StoredRun, read_records
from viva.journal.writer import run_id
from viva.statistics.bisection.plan import BisectionPlan, fork_id, trial_of
from viva.statistics.bisection.search import ForkResult, ForkTrial, search
from viva.suites.bisecting.conversation import conversation_of
from viva.suites.bisecting.fork_jobs import ForkJobs
from viva.suites.chosen.conversations import wanted_conversations
from viva.suites.conduct import Surroundings, Work, conduct
from viva.suites.engine import Budget, SuiteEnd
from viva.suites.job import Action, Job, WorkOrder
from viva.suites.replaying import named_cases, with_data_files
from viva.suites.request import BisectRequest
from viva.suites.resuming.next_step import NextStep, ResumeStep, next_step

NO_BUDGET = Budget()
FILES_NOTE = (
    "checks may read the agent's files, and forks begin without those of earlier rounds, unless the agent's state "
    "holds them; --fork-by replay has the agent write them again"
)


async def bisect(
    request: BisectRequest,
    folder: Path,
    around: Surroundings,
    *,
    resumed: bool = False,
    retry_errors: bool = False,
    budget: Budget = NO_BUDGET,
) -> SuiteEnd:
    """Fork a conversation until the decisive round is known, or what the search may use is used up.

    Args:
        request: The conversation, the plan, and the options with the agent and the judge.
        folder: The journal of the forks.
        around: The engine, display, sinks and subscribers.
        resumed: Whether the folder already holds some of the forks.
        retry_errors: Whether to repeat forks that could not be scored.
        budget: What the forks may use.

    Raises:
        SetupError: the user must change something.
        JournalError: a journal cannot be read or written.
        asyncio.CancelledError: the work was stopped, and can be resumed.
    """
    source, run = request.journals[0]
    stored = conversation_of(source, run)
    with tempfile.TemporaryDirectory(prefix="viva-cases-") as data:
        asked = request
        if request.options.examiner is None:
            examiner = SCRIPT if stored.setting.examiner == SCRIPT else REPLAY
            request = replace(request, options=replace(request.options, examiner=examiner))
        case = with_data_files(
            stored_case(source, stored.setting.case, stored.setting.case_hash),
            source,
            Path(data),
            named_cases(request.options.cases),
        )
        for words in _notes(stored, case, request):
            around.display.note(words)
        lines = replace(next(iter(wanted_conversations(request))), judged=())

        results: dict[ForkTrial, ForkResult] = {}
        maker = _JobMaker(request, case, lines)
        jobs = ForkJobs(request.plan, results, maker.job_of)

        def prepare() -> Work:
            if resumed:
                states = read_states_to_resume(folder)
                results.update(_results(folder, request.plan, states, retry_errors=retry_errors))
                maker.resume(folder, states, retry_errors=retry_errors)
            concurrency = min(request.options.concurrency, request.plan.rules.trials)
            order = WorkOrder(
                options=replace(request.options, concurrency=concurrency),
                cases=(case,),
                agents=(maker.agent,),
                asks=request.options.examiner != REPLAY,
                needs_prices=budget.max_cost is not None,
            )
            done = len(results)
            total = max(0, _usual(request.plan) - done)
            return Work(request=asked, order=order, jobs=lambda _: jobs, total=total, done_before=done)

        end = await conduct(folder, prepare, around, resumed=resumed, budget=budget)
        if end.reason is None and _used_up(request.plan, results):
            end.reason = f"--max-runs of {request.plan.rules.max_runs:,} is used up, and resuming requires a higher one"
        return end


class _JobMaker:
    """Makes the job of each fork."""

    def __init__(self, request: BisectRequest, case: Case, lines: ConversationLines) -> None:
        assert request.options.agent is not None
        self.agent = request.options.agent
        self._base = run_id(case.name, self.agent)
        self._request, self._case, self._lines = request, case, lines
        self._tags = facts_of(lines).tags
        self._steps: Mapping[str, NextStep] = {}
        self._to_judge: Mapping[str, ConversationLines] = {}

    def resume(self, folder: Path, states: Mapping[str, RunState], *, retry_errors: bool) -> None:
        """Take up what an earlier process has begun."""
        self._steps = {name: next_step(state, retry_errors=retry_errors) for name, state in states.items()}
        ended = {name for name, step in self._steps.items() if step.step is ResumeStep.JUDGE}
        if ended:
            self._to_judge = {each.run: each for each in read_conversation_lines(folder) if each.run in ended}

    def job_of(self, trial: ForkTrial) -> Job:
        """Return the job of a fork: to judge it, if its conversation ended before the work was stopped."""
        name = fork_id(self._base, trial)
        step = self._steps.get(name) or next_step(None)
        header = RunHeader(
            id=name,
            subject=self._case.name,
            agent=self.agent,
            trial=trial.kept * 1000 + trial.number,
            tags=self._tags,
            attempt=step.attempt,
        )
        if name in self._to_judge:
            lines = self._to_judge[name]
            return Job(
                action=Action.JUDGE,
                header=header,
                case_hash=self._case.hash,
                conversation=lines,
                carried=True,
                unfair=step.unfair,
            )
        return Job(
            action=Action.REPLAY,
            header=header,
            case_hash=self._case.hash,
            conversation=self._lines,
            fork_at=trial.kept,
            fork_by=self._request.ways,
            unfair=step.unfair,
        )


def _results(
    folder: Path, plan: BisectionPlan, states: Mapping[str, RunState], *, retry_errors: bool
) -> dict[ForkTrial, ForkResult]:
    """Return the results of the forks that are not made again."""
    found: dict[ForkTrial, ForkResult] = {}
    for record in read_records(folder):
        trial = trial_of(record.id)
        step = next_step(states.get(record.id), retry_errors=retry_errors).step
        if trial is not None and step is ResumeStep.SKIP:
            found[trial] = plan.result(record, trial.kept)
    return found


def _used_up(plan: BisectionPlan, results: Mapping[ForkTrial, ForkResult]) -> bool:
    """Return whether the search ended undecided because it may make no further fork."""
    state = search(plan.rules, results)
    return state.confidence < plan.rules.confidence and state.failed is None and state.runs >= plan.rules.max_runs


def _usual(plan: BisectionPlan) -> int:
    """Return the number of forks that a deterministic agent takes."""
    return min(plan.rules.max_runs, plan.rules.trials * (1 + math.ceil(math.log2(max(2, plan.rules.rounds)))))


def _notes(stored: StoredRun, case: Case, request: BisectRequest) -> list[str]:
    """Return what the user should know before the first fork.

    Raises:
        SetupError: a state is wanted that the journal does not hold, or it is damaged.
    """
    rounds = stored.transcript.rounds
    last = len(rounds) - 1
    if last and rounds[last - 1].agent is not None:
        fork_at(stored, last, request.ways).look()
    has_state = all(each.state is not None for each in rounds[:last])
    if request.fork_by == "state" and not has_state:
        raise SetupError(
            f"the journal holds no state of the agent after each round of {stored.id}. Leave out --fork-by state."
        )
    files = any(point.eval_code or point.check for point in case.scoring_points)
    left = find_workspace(stored).folder
    if files and left is not None and request.fork_by != "replay":
        return [FILES_NOTE]
    return []

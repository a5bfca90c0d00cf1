"""Carries out jobs. A worker builds what they require from the work order once, and uses it for all jobs."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from viva.adapters.contract import AgentArguments
from viva.cases import Case
from viva.errors import SetupError, SharedSetupError
from viva.exam.attempt.environment import RunEnvironment
from viva.exam.attempt.exam_run import ExamRun, setting_for
from viva.exam.examine import examine, judge_and_record
from viva.exam.examiners import REPLAY, SCRIPT
from viva.exam.forking.course import Course
from viva.exam.forking.fork import fork_at
from viva.exam.given import NOTHING, Given
from viva.exam.judging.unfair import UnfairAttempt, is_unfair, unfair_attempts, was_judged
from viva.exam.kept_workspaces import FoundWorkspace, find_workspace
from viva.exam.record import failed_record
from viva.exam.resources import Resources, build_resources
from viva.exam.retry import wait_before
from viva.exam.stored_runs import carry_over, timing_of_rounds
from viva.exam.subscribers import RunHeader, Subscribers
from viva.examiner import ReplayedExaminer
from viva.full_disk import NO_ROOM, error_words
from viva.journal.history import JournalHistory
from viva.journal.kept_cases import keep_case, stored_case
from viva.journal.reader import ConversationLines, StoredRun, decode_run
from viva.journal.writer import JournalError, JournalWriter
from viva.judge.exam.kinds import EXAM
from viva.judge.loaded_evaluator import LoadedEvaluator, parameters_of_all
from viva.models.cache.scope import AnswerScope, answers_of
from viva.models.prices import price
from viva.records.codec import prepare
from viva.records.copies import changed, make_quickly
from viva.records.evaluator import Context
from viva.records.history import EvalHistorySource
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.transcript import NO_USAGE, Reply, Round, Transcript, Usage
from viva.records.verdict import Insight
from viva.sandbox import SandboxError
from viva.suites.gate_checks import refuse_unprovided
from viva.suites.job import Action, Job, WorkOrder
from viva.suites.resuming.next_step import changed_agents

T = TypeVar("T")

_SCORED = Outcome.SCORED
"""The outcome of nearly all runs. Looking up a member of an enum takes ten times as long as looking up a name."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a job."""

    header: RunHeader
    """The header of the attempt that produced the record."""
    record: RunRecord
    transcript: Transcript
    spent: Usage
    """The usage of all roles in all attempts of this job."""


class Worker:
    """Carries out jobs, also concurrently. Open it with `open_worker`, and close it after the last job."""

    def __init__(self, resources: Resources, cases: Sequence[Case], journal: JournalWriter) -> None:
        """Args:
        resources: Shared by all jobs.
        cases: The cases of the plan; other cases are read from the journals of their conversations.
        journal: The journal to which the runs are written.
        """
        # Made many times for each run.
        make_quickly(RunHeader, ExamRun, Job, Done, Context, AgentArguments, Reply, StoredRun, ConversationLines)
        if resources.agents:
            make_quickly(RunEnvironment, Course)
            # For rounds that have to be written by them: built now rather than between the rounds of many
            # conversations, all of which would have to wait. Judging alone rarely needs them, and waits for nobody.
            prepare(Setting, Round, Transcript, Insight, RunRecord)
        self.resources = resources
        self._journal = journal
        self._histories: dict[str, JournalHistory] = {}
        """Histories of journals by their folder: a run is compared with the journal that its conversation is in."""
        self._cases: dict[tuple[str, str], Case] = {(case.name, case.hash): case for case in cases}
        self._papers = {case.hash: case for case in cases if case.for_recordings}
        """The papers of a rubric by their hashes: recordings of any subject may have the same."""
        self._journals: dict[Path, bool] = {}
        """Whether a folder is that of the journal, by folder."""
        self._kept: set[tuple[str, str]] = set()
        """The cases that the journal already holds."""
        self._evaluators: dict[tuple[str, ...], tuple[LoadedEvaluator, ...]] = {
            (): tuple(resources.judge.evaluators.values())
        }
        self._judges: dict[int, tuple[tuple[LoadedEvaluator, ...], dict[str, Any]]] = {}
        """What the settings of judged runs have in common, by the id of their evaluators."""
        exam = resources.judge.exam
        self._evaluators_and_exam = (*self._evaluators[()], *([] if exam is None else [exam]))

    async def do(self, job: Job, subscribers: Subscribers) -> Done:
        """Carry out a job, write its record to the journal, and notify the subscribers.

        Faults within the run become its outcome and are not raised. A conversation that the examiner or the
        infrastructure broke off is held again, as often as the options permit.

        Raises:
            SharedSetupError: a mistake that would affect every other run too.
            JournalError: the journal cannot be written.
            asyncio.CancelledError: the job was stopped.
        """
        with answers_of(job.header.id) as answers:
            return await self._do(job, subscribers, answers)

    async def _do(self, job: Job, subscribers: Subscribers, answers: AnswerScope) -> Done:
        if job.action is Action.JUDGE:
            done = await self._judge(job, subscribers)
            _forget_useless(answers, done)
            await subscribers.on_end(done.header, done.record, done.transcript)
            return done
        agent, spent, number = self.resources.agents[job.header.agent], NO_USAGE, 1
        header, run = job.header, None
        earlier = job.unfair
        if agent.version is not None:
            header = replace(header, agent_version=agent.version)
        while True:
            try:
                case, stored = self._questions(job)
                header = changed(header, max_rounds=self.resources.limits(case).max_rounds)
                run = self._run(job, header, case, earlier)
                await subscribers.on_start(header)
                asks = stored is None or (job.fork_at is not None and self.resources.make_examiner is not None)
                examiner = (
                    self.resources.examiner(case, header.persona, header.strategy)
                    if asks or stored is None
                    else ReplayedExaminer(stored.transcript)
                )
                if stored is not None and job.fork_at is not None:
                    fork = fork_at(stored, job.fork_at, job.fork_by, job.edits)
                    fork.given = case.conversation
                    run = replace(run, fork=fork)
                record, transcript = await examine(run, agent, examiner, partial(subscribers.on_round, header))
                done = Done(header, record, transcript, usage_of(job, record))
            except (JournalError, SharedSetupError):
                raise
            except (SetupError, SandboxError) as error:
                done = _failed(run or self._run(job, header, earlier=earlier), str(error))
            except Exception as error:
                done = _failed(run or self._run(job, header, earlier=earlier), _own_fault(error))
            # The cost of each attempt counts, whether or not another attempt follows.
            spent += done.spent
            _forget_useless(answers, done)
            if number >= self.resources.options.attempts or not was_no_exam(done.record):
                break
            earlier = (*earlier, *unfair_attempts(done.record))
            number, header, run = number + 1, replace(header, attempt=header.attempt + 1), None
            await wait_before(number)
        await subscribers.on_end(done.header, done.record, done.transcript)
        return done if number == 1 else replace(done, spent=spent)

    def why_not(self, job: Job) -> str | None:
        """Return why a job must not be started (its agent can no longer be reached), in words; None if it may."""
        if job.action is Action.JUDGE:
            return None
        return self.resources.health(job.header.agent).stopped

    def _questions(self, job: Job) -> tuple[Case, StoredRun | None]:
        """Return the case of a conversation, and the stored conversation whose questions are asked, if any."""
        if job.conversation is None:
            return self._cases[job.header.subject, job.case_hash], None
        stored = decode_run(job.conversation)
        case = self._case_of(job)
        # The number of questions replaces the case's own limit of rounds.
        rounds = max(len(stored.transcript.rounds), case.max_rounds or 0)
        return replace(case, max_rounds=rounds), stored

    async def _judge(self, job: Job, subscribers: Subscribers) -> Done:
        await subscribers.on_start(job.header)
        assert job.conversation is not None
        stored = decode_run(job.conversation)
        if stored.setting.unfair_attempts != job.untold:
            stored = changed(stored, setting=changed(stored.setting, unfair_attempts=job.untold))
        if stored.gap is not None:
            words = f"the conversation cannot be judged: {stored.gap}"
            return _failed(self._run(job, job.header, earlier=job.unfair), words, stored.setting)
        run = None
        try:
            run = self._run(job, job.header, self._case_of(job) if job.case_hash else None, job.unfair)
            found = self.find_files(stored)
            stored, workspace = await self._carried(job, run, stored, found.folder)
            if found.missing is not None and run.case is not None and _judges_files(run.case):
                # Judging without the files would count against the agent, although it left them.
                return _failed(run, found.missing, stored.setting)
            timing = job.timing or timing_of_rounds(stored.transcript)
            record = await judge_and_record(run, stored.setting, stored.transcript, workspace, timing)
        except (JournalError, SharedSetupError):
            raise
        except SetupError as error:
            return _failed(run or self._run(job, job.header, earlier=job.unfair), str(error), stored.setting)
        except Exception as error:
            return _failed(run or self._run(job, job.header, earlier=job.unfair), _own_fault(error), stored.setting)
        return Done(job.header, record, stored.transcript, usage_of(job, record))

    async def _carried(
        self, job: Job, run: ExamRun, stored: StoredRun, workspace: Path | None
    ) -> tuple[StoredRun, Path | None]:
        """Copy a conversation and the agent's files to the new journal, with the setting of the new judgement."""
        assert job.conversation is not None
        here = self._is_this_journal(stored.folder)
        # Without files, the new journal's setting names none.
        files = stored.setting.workspace if here or workspace is not None else None
        setting = self._setting(run, stored.setting, job.case_hash, files)
        if not here:
            lines = b"" if job.carried else job.conversation.content
            carry = partial(carry_over, stored, lines, self._journal, setting, workspace)
            # Copying files can take long; without files, a thread is not worth its cost.
            return carry() if workspace is None else await asyncio.to_thread(carry)
        if setting != stored.setting:
            run.append("setting", setting)
        return changed(stored, setting=setting), workspace

    def _is_this_journal(self, folder: Path) -> bool:
        """Return whether a folder is that of the journal being written; the disk is asked once for each folder."""
        if folder not in self._journals:
            self._journals[folder] = folder.resolve() == self._journal.folder.resolve()
        return self._journals[folder]

    def _setting(self, run: ExamRun, setting: Setting, case_hash: str, workspace: str | None) -> Setting:
        """Return a run's setting with the present judge and evaluators."""
        sandbox, limits = self.resources.judge.sandbox, self.resources.role_limits
        return changed(
            setting,
            **self._present_judge(run.evaluators),
            sandbox=sandbox.name if sandbox else None,
            sandbox_isolates=sandbox.isolates if sandbox else None,
            case_hash=case_hash,
            case_file=setting.case_file or (str(run.case.file) if run.case is not None else ""),
            threshold=None if run.case is None else run.case.threshold,
            workspace=workspace,
            prompts={**_of_examiner(setting.prompts), **self.resources.judge.prompts},
            max_output_tokens={**limits.output_tokens, **_of_examiner(setting.max_output_tokens)},
            model_seconds={**limits.seconds, **_of_examiner(setting.model_seconds)},
        )

    def _present_judge(self, evaluators: tuple[LoadedEvaluator, ...]) -> dict[str, Any]:
        """Return what the settings of all runs that these evaluators judge have, which is made once."""
        known = self._judges.get(id(evaluators))
        if known is None or known[0] is not evaluators:
            judge, options = self.resources.judge, self.resources.options
            fields: dict[str, Any] = {
                "cache": options.cache or "",
                "judge": judge.kind,
                **judge.named_models,
                "evaluators": tuple(each.name for each in evaluators),
                "evaluator_parameters": parameters_of_all(evaluators),
                "check_seconds": options.check_seconds,
                "check_memory_mb": options.check_memory_mb,
            }
            known = self._judges[id(evaluators)] = evaluators, fields
        return known[1]

    def _run(
        self, job: Job, header: RunHeader, case: Case | None = None, earlier: tuple[UnfairAttempt, ...] = ()
    ) -> ExamRun:
        names = job.evaluators
        if names not in self._evaluators:
            known = self.resources.judge.evaluators
            self._evaluators[names] = tuple(known[name] for name in names)
        evaluators = self._evaluators[names]
        if not names and self.resources.judges_exam_of(case):
            evaluators = self._evaluators_and_exam
        if earlier and case is not None and all(each.name != EXAM for each in evaluators):
            earlier = ()  # nobody is asked about the examiner
        return ExamRun(
            header=header,
            resources=self.resources,
            journal=self._journal,
            folder=self._journal.folder,
            case=case,
            evaluators=evaluators,
            earlier=earlier,
            history=self.history(self._journal.folder if job.conversation is None else job.conversation.folder),
        )

    def history(self, folder: Path | str) -> EvalHistorySource:
        """Return the runs with which those of the journal in a folder are compared."""
        history = self._histories.get(str(folder))
        if history is None:
            history = self._histories[str(folder)] = JournalHistory(Path(folder))
        return history

    def find_files(self, stored: StoredRun) -> FoundWorkspace:
        """Return the files that the agent of a stored conversation left."""
        return find_workspace(stored, self.resources.options.workspaces)

    def _case_of(self, job: Job) -> Case:
        """Return the case of a stored conversation from the plan, or from its journal and then store it here too."""
        key = job.header.subject, job.case_hash
        case = self._cases.get(key)
        if case is None and job.case_hash in self._papers:
            case = self._cases[key] = replace(self._papers[job.case_hash], name=job.header.subject)
        if case is None:
            assert job.conversation is not None
            case = self._cases[key] = stored_case(Path(job.conversation.folder), *key)
        if key not in self._kept:
            keep_case(case, self._journal, None if job.conversation is None else Path(job.conversation.folder))
            self._kept.add(key)
        return case


def _judges_files(case: Case) -> bool:
    """Return whether a check of a case may look at what the agent left."""
    if any(point.eval_code for point in case.scoring_points):
        return True
    if not any(point.check for point in case.scoring_points):
        return False
    # Here, because most cases have no such checks.
    from viva.cases.checks.uses import uses_files

    return any(map(uses_files, case.scoring_points))


async def open_worker(order: WorkOrder, journal: Callable[[], JournalWriter], given: Given = NOTHING) -> Worker:
    """Build what the jobs of a work order require, except for given objects, and then open the journal.

    Raises:
        SetupError: the user must change something.
        SandboxError: the sandbox is not available.
        JournalError: the journal cannot be written.
    """
    resources = await build_resources(order.options, order.subjects, order.agents, asks=order.asks, given=given)
    try:
        if order.subjects:  # of a suite that is finished, nothing is judged
            refuse_unprovided(order.gated, resources.judge.evaluators)
        if order.needs_prices:
            refuse_unknown_prices(resources)
        await resources.look_at_agents()
        if order.subjects:
            await resources.look_at_models()
        resources.notices = [*resources.notices, *changed_agents(order.digests, resources.agents)]
        return Worker(resources, order.cases, journal())
    except BaseException:
        await resources.close()
        raise


def _of_examiner(by_name: Mapping[str, T]) -> dict[str, T]:
    """Return only the entry of the examiner, whose conversation is kept when a run is judged again."""
    return {name: value for name, value in by_name.items() if name == "examiner"}


def refuse_unknown_prices(resources: Resources) -> None:
    """Refuse a budget in dollars if it is known in advance that a price is unknown.

    Raises:
        SetupError: the price of a model is not known.
    """
    judge = resources.judge
    own = [model for model in (resources.examiner_model, *judge.models) if model is not None]
    models = [model.name for model in own if model.cost(1, 1) is None]
    agents = [agent.model for agent in resources.agents.values() if agent.model is not None]
    models += [name for name in agents if price(name, 1, 1) is None]
    unknown = [repr(name) for name in dict.fromkeys(models)]
    if unknown:
        raise SetupError(
            f"--max-cost cannot be applied, because the price of {', '.join(unknown)} is not known; use --max-tokens. "
            "--price gives the price of a model that examines or judges."
        )


def _forget_useless(answers: AnswerScope, done: Done) -> None:
    """Forget the kept answers of an attempt without a result: kept, they would make each further attempt fail alike."""
    outcome = done.record.outcome
    if outcome is not _SCORED and outcome in (Outcome.EXAMINER_ERROR, Outcome.JUDGE_ERROR):
        answers.forget()


def usage_of(job: Job, record: RunRecord) -> Usage:
    """Return what one attempt at a job used."""
    if job.action is Action.JUDGE:
        # The cost of the conversation was counted by the suite that conducted it.
        return record.usage.get("judge", NO_USAGE)
    return sum(record.usage.values(), NO_USAGE)


def was_no_exam(record: RunRecord) -> bool:
    """Return whether a conversation must be repeated: it was broken off, not by the agent, or it was unfair.

    A conversation that ended is never repeated because of the judge, nor because an evaluator of the user's calls it
    unfair: only the evaluator `exam` says what another exam by the same examiner can mend.
    """
    if record.outcome is _SCORED:
        return False
    if record.outcome is Outcome.EXAMINER_ERROR and is_unfair(record):
        return record.setting.examiner not in (SCRIPT, REPLAY)  # these ask the same every time
    return record.outcome in (Outcome.EXAMINER_ERROR, Outcome.INFRA_ERROR) and not was_judged(record)


def _failed(run: ExamRun, error: str, setting: Setting | None = None) -> Done:
    """Write the record of a run that could not be conducted or judged; `setting` is its setting, if it has one."""
    header = run.header
    if setting is None and run.case is not None:
        setting = setting_for(run, "")
    if setting is None:
        setting = Setting(
            case=header.subject,
            agent=header.agent,
            evaluators=tuple(each.name for each in run.evaluators),
            requeued=header.requeued,
            suite=header.suite,
        )
    record = failed_record(header, error, setting, run.earlier)
    run.append("run", record)
    return Done(header, record, Transcript(), NO_USAGE)


def _own_fault(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return error_words(error)
    return f"Viva itself failed: {''.join(traceback.format_exception(error)[-2:])}"

"""The path of one exam: conversation, judgement, record; each step in the journal before the next begins."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import tenacity

from adapters.errors import AgentError, AgentTimeout
from adapters.session import AgentArguments, open_session
from adapters.workspace import clear_place, copy_data_files
from cases import Case
from examiner import converse
from examiner.conversation import KICK_OFF
from harness.exam.pre_commands import run_pre_commands
from harness.exam.record import make_record
from harness.exam.resources import Resources, versions, viva_version
from records.codec import encode
from records.evaluator import Context
from records.images import keep_pictures
from records.journal import Journal, run_id
from records.run_record import RunRecord, Setting, Timing
from records.transcript import NO_USAGE, Round, StopReason, Transcript
from records.verdict import Insight, Label

RoundListener = Callable[[Round], None]


@dataclass(frozen=True, slots=True)
class Run:
    """Which exam this is: the case, whose turn it is, and where it is kept."""

    case: Case
    resources: Resources
    journal: Journal
    trial: int = 1
    attempt: int = 1
    stored_id: str | None = None
    """The id that it already has in another journal."""

    @property
    def id(self) -> str:
        """The same for every attempt."""
        return self.stored_id or run_id(self.case.name, self.resources.agent.spec, self.trial)

    def append(self, kind: str, value: object) -> None:
        """One event of this run into the journal."""
        self.journal.append(kind, self.id, self.attempt, value)


async def examine(run: Run, on_round: RoundListener | None = None) -> RunRecord:
    """Hold one exam and judge it.

    Args:
        run: Which.
        on_round: Told of each round once it is safe in the journal.

    Raises:
        SetupError: the user must change something.
        SandboxError: the sandbox cannot be made ready; nothing was said to the agent yet.
        JournalError: the journal cannot be written.
        asyncio.CancelledError: the run was stopped; the rounds so far are in the journal.
    """
    case, resources, journal = run.case, run.resources, run.journal
    started, began = time.time(), time.monotonic()
    place = f"workspaces/{run.id}"
    workspace = clear_place(Path(os.path.abspath(journal.folder), place))
    setting = setting_for(case, resources, place)
    if not journal.holds(paper := f"cases/{case.hash}.json"):
        journal.keep(paper, encode(case))
    run.append("setting", setting)
    if resources.judge.sandbox is not None and any(point.eval_code for point in case.scoring_points):
        # The sandbox gets ready while the agent talks.
        await resources.judge.sandbox.prepare(case.dependencies, run_id=run.id)

    def keep(round_: Round) -> None:
        run.append("round", keep_pictures(round_, journal, workspace))
        if on_round is not None:
            on_round(round_)

    transcript, agent_folder = await run_conversation(run, workspace, keep)
    if agent_folder is not None and agent_folder != workspace:
        setting = replace(setting, workspace=os.path.abspath(agent_folder))
        run.append("setting", setting)
    run.append("transcript", replace(transcript, rounds=()))
    record = await judge_and_record(run, setting, transcript, agent_folder, Timing(started, time.monotonic() - began))
    if workspace.is_dir():
        # On a thread: removing a folder can take the disk two milliseconds, as long as fifty rounds.
        removal = asyncio.get_running_loop().run_in_executor(None, _remove_if_empty, workspace)
        if not record.outcome.counts:
            await removal  # the next attempt wants the place at once
    return record


async def judge_and_record(
    run: Run, setting: Setting, transcript: Transcript, workspace: Path | None, timing: Timing
) -> RunRecord:
    """Judge a conversation that has ended, and write its record. A judging that fails is repeated, within bounds.

    Args:
        run: Whose.
        setting: As it stands in the journal.
        transcript: The conversation.
        workspace: The agent's files.
        timing: Of the conversation alone; the judge's time is added.
    """
    began = time.monotonic()
    insights = await _judge_patiently(run, transcript, workspace)
    for insight in insights:
        run.append("insight", insight)
    timing = replace(timing, seconds=timing.seconds + time.monotonic() - began)
    record = replace(
        make_record(run.id, setting, transcript, insights, timing),
        agent_version=run.resources.agent.version,
        trial=run.trial,
        attempt=run.attempt,
        tags=run.case.tags,
    )
    run.append("run", record)
    return record


async def _judge_patiently(run: Run, transcript: Transcript, workspace: Path | None) -> tuple[Insight, ...]:
    """Judge; again where a failure may pass off. What the failed judgings cost is counted with the last."""
    work = (run.case, run.resources, transcript, run.id, workspace)
    insights = await judge(*work)
    if run.resources.options.judgings <= 1 or not is_retryable(insights):
        return insights
    spent = NO_USAGE
    for insight in insights:
        spent += insight.usage

    async def again() -> tuple[Insight, ...]:
        nonlocal spent
        judged = await judge(*work)
        for insight in judged:
            spent += insight.usage
        return judged

    retrying = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_result(is_retryable),
        stop=tenacity.stop_after_attempt(run.resources.options.judgings - 1),
        wait=tenacity.wait_exponential(0.2, 10.0) + tenacity.wait_random(0, 1),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else (),
    )
    judged: tuple[Insight, ...] = await retrying(again)
    return (replace(judged[0], usage=spent), *(replace(other, usage=NO_USAGE) for other in judged[1:]))


def is_retryable(insights: Sequence[Insight]) -> bool:
    """Whether judging again may end better: not where a check is broken in itself, which it will be every time."""
    errors = [verdict for insight in insights for verdict in insight.verdicts if verdict.label == Label.ERROR]
    return any(verdict.fault == "infra" or verdict.by != "code" for verdict in errors)


async def run_conversation(run: Run, workspace: Path, keep: RoundListener) -> tuple[Transcript, Path | None]:
    """Hold the conversation. Returns the transcript, and the folder with the agent's files."""
    case, resources = run.case, run.resources
    limits = resources.limits(case)
    await run_pre_commands(case)
    arguments = AgentArguments(
        case.task_description,
        resources.options.app_dir or case.app_dir,
        case.config_var,
        workspace,
        case.verbose,
    )
    try:
        session = await open_session(resources.agent.factory, arguments, limits.reply_seconds, resources.agent.home)
    except AgentError as error:
        stop = StopReason.TIMEOUT if isinstance(error, AgentTimeout) else StopReason.TARGET_ERROR
        return Transcript(kick_off=KICK_OFF, stop=stop, stop_detail=str(error), fault="target"), workspace
    trouble = None
    try:
        folder = session.workspace or workspace
        copy_data_files(case, folder)
        transcript = await converse(resources.make_examiner(case), session, limits, keep)
    except asyncio.CancelledError:
        cancelled = Transcript(kick_off=KICK_OFF, stop=StopReason.CANCELLED, stop_detail="the run was stopped")
        run.append("transcript", cancelled)
        raise
    finally:
        trouble = await session.close()
    notes = (f"the agent's {trouble}",) if trouble else ()
    participants = {**transcript.participants, "target": resources.agent.name}
    return replace(transcript, participants=participants, notes=notes), folder


async def judge(
    case: Case, resources: Resources, transcript: Transcript, run: str, workspace: Path | None
) -> tuple[Insight, ...]:
    """Judge a conversation. One whose examiner broke is not judged: there was no exam."""
    if transcript.stop is StopReason.EXAMINER_ERROR:
        return ()
    context = Context(run, case, workspace if workspace is not None and workspace.is_dir() else None)
    return (await resources.judge.evaluator.evaluate(transcript, context),)


def setting_for(case: Case, resources: Resources, workspace: str) -> Setting:
    """What a run was made with."""
    limits, judge = resources.limits(case), resources.judge
    return Setting(
        viva=viva_version(),
        case=case.name,
        case_file=str(case.file),
        case_hash=case.hash,
        agent=resources.agent.spec,
        app_dir=resources.options.app_dir or case.app_dir,
        examiner=resources.examiner_name,
        judge=judge.kind,
        judge_model=judge.model.name if judge.model else None,
        sandbox=judge.sandbox.name if judge.sandbox else None,
        sandbox_isolates=judge.sandbox.isolates if judge.sandbox else None,
        max_rounds=limits.max_rounds,
        reply_seconds=limits.reply_seconds,
        run_seconds=limits.run_seconds,
        workspace=workspace,
        prompts=resources.prompts,
        versions=versions(),
    )


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # the agent left something: it stays
        folder.rmdir()

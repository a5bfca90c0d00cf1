"""The path of one exam: conversation, judgement, record; each step in the journal before the next begins."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from adapters.errors import AgentError, AgentTimeout, SetupError
from adapters.session import AgentArguments, open_session
from adapters.workspace import copy_data_files, new_folder
from cases import Case
from examiner import converse
from examiner.conversation import KICK_OFF
from harness.outcome import outcome_of
from harness.parts import Parts, versions, viva_version
from records.codec import encode
from records.journal import Journal, run_id
from records.protocols import Context
from records.run import RunRecord, Setting, Timing
from records.transcript import NO_USAGE, Round, StopReason, Transcript
from records.verdict import Insight

RoundListener = Callable[[Round], None]


async def examine(
    case: Case,
    parts: Parts,
    journal: Journal,
    *,
    trial: int = 1,
    attempt: int = 1,
    on_round: RoundListener | None = None,
) -> RunRecord:
    """Hold one exam and judge it.

    Args:
        case: The exam paper.
        parts: Agent, examiner, judge and sandbox.
        journal: Where everything is kept.
        trial: Which of several exams of this agent with this case.
        attempt: Which attempt at this trial.
        on_round: Told of each round once it is safe in the journal.

    Raises:
        SetupError: the user must change something; nothing was said to the agent yet.
        JournalError: the journal cannot be written.
        asyncio.CancelledError: the run was stopped; the rounds so far are in the journal.
    """
    run = run_id(case.name, parts.agent.spec, trial)
    started, began = time.time(), time.monotonic()
    workspace = new_folder(journal.folder / "workspaces" / run)
    setting = setting_for(case, parts, workspace.relative_to(journal.folder).as_posix())
    journal.keep(f"cases/{case.hash}.json", encode(case))
    journal.append("setting", run, attempt, setting)
    if parts.judge.sandbox is not None and any(point.eval_code for point in case.scoring_points):
        # The sandbox gets ready while the agent talks.
        await parts.judge.sandbox.prepare(case.dependencies)

    def keep(round_: Round) -> None:
        journal.append("round", run, attempt, round_)
        if on_round is not None:
            on_round(round_)

    def stopped() -> None:
        cancelled = Transcript(kick_off=KICK_OFF, stop=StopReason.CANCELLED, stop_detail="the run was stopped")
        journal.append("transcript", run, attempt, cancelled)

    transcript, agent_folder = await hold(case, parts, workspace, keep, stopped)
    if agent_folder is not None and agent_folder != workspace:
        setting = replace(setting, workspace=str(agent_folder.resolve()))
        journal.append("setting", run, attempt, setting)
    journal.append("transcript", run, attempt, replace(transcript, rounds=()))
    insights = await judge(case, parts, transcript, run, agent_folder)
    for insight in insights:
        journal.append("insight", run, attempt, insight)
    record = make_record(run, setting, transcript, insights, Timing(started, time.monotonic() - began))
    record = replace(record, agent_version=parts.agent.version, trial=trial, attempt=attempt, tags=case.tags)
    journal.append("run", run, attempt, record)
    journal.sync()
    _remove_if_empty(workspace)
    return record


async def hold(
    case: Case,
    parts: Parts,
    workspace: Path,
    keep: RoundListener,
    on_cancel: Callable[[], None],
) -> tuple[Transcript, Path | None]:
    """Hold the conversation. Returns the transcript, and the folder with the agent's files."""
    limits = parts.limits(case)
    run_pre_commands(case)
    arguments = AgentArguments(
        case.task_description,
        parts.options.app_dir or case.app_dir,
        case.config_var,
        workspace.resolve(),
        case.verbose,
    )
    try:
        session = await open_session(parts.agent.factory, arguments, limits.reply_seconds)
    except AgentError as error:
        stop = StopReason.TIMEOUT if isinstance(error, AgentTimeout) else StopReason.TARGET_ERROR
        return Transcript(kick_off=KICK_OFF, stop=stop, stop_detail=str(error), fault="target"), workspace
    trouble = None
    try:
        folder = session.workspace or workspace
        copy_data_files(case, folder)
        transcript = await converse(parts.make_examiner(case), session, limits, keep)
    except asyncio.CancelledError:
        on_cancel()
        raise
    finally:
        trouble = await session.close()
    notes = (f"the agent's {trouble}",) if trouble else ()
    participants = {**transcript.participants, "target": parts.agent.name}
    return replace(transcript, participants=participants, notes=notes), folder


async def judge(
    case: Case, parts: Parts, transcript: Transcript, run: str, workspace: Path | None
) -> tuple[Insight, ...]:
    """Judge a conversation. One whose examiner broke is not judged: there was no exam."""
    if transcript.stop is StopReason.EXAMINER_ERROR:
        return ()
    context = Context(run, case, workspace if workspace is not None and workspace.is_dir() else None)
    return (await parts.judge.evaluator.evaluate(transcript, context),)


def make_record(
    run: str, setting: Setting, transcript: Transcript, insights: tuple[Insight, ...], timing: Timing
) -> RunRecord:
    """The record of a run that has been judged, or could not be."""
    outcome, error = outcome_of(transcript, insights)
    main = insights[0] if insights else None
    judge_usage = NO_USAGE
    for insight in insights:
        judge_usage += insight.usage
    verdicts = main.verdicts if main else ()
    return RunRecord(
        run,
        setting.case,
        setting.agent,
        outcome,
        main.score if main else None,
        main.low if main else None,
        main.high if main else None,
        sum(verdict.weight for verdict in verdicts if verdict.label == "hit") if verdicts else None,
        sum(verdict.weight for verdict in verdicts) if verdicts else None,
        error,
        rounds=len(transcript.rounds),
        stop=transcript.stop,
        insights=insights,
        usage={**transcript.usage, "judge": judge_usage},
        timing=replace(
            timing,
            examiner_seconds=sum(round_.examiner_seconds for round_ in transcript.rounds),
            agent_seconds=sum(round_.agent_seconds for round_ in transcript.rounds),
            judge_seconds=sum(insight.seconds for insight in insights),
        ),
        trace_id=transcript.trace_id,
        setting=setting,
    )


def setting_for(case: Case, parts: Parts, workspace: str) -> Setting:
    """What a run was made with."""
    limits, judge = parts.limits(case), parts.judge
    return Setting(
        viva_version(),
        case.name,
        str(case.file),
        case.hash,
        parts.agent.spec,
        parts.options.app_dir or case.app_dir,
        parts.examiner_name,
        judge.kind,
        judge.model.name if judge.model else None,
        judge.sandbox.name if judge.sandbox else None,
        judge.sandbox.isolates if judge.sandbox else None,
        limits.max_rounds,
        limits.reply_seconds,
        limits.run_seconds,
        workspace,
        parts.prompts,
        versions(),
    )


def run_pre_commands(case: Case) -> None:
    """Run a case's `pre_command` in the current folder, as TaskWeaver does; `assemble` has seen the user's leave.

    Raises:
        SetupError: a command failed.
    """
    for command in case.pre_command:
        done = subprocess.run(command, check=False, shell=True, capture_output=True, text=True)  # noqa: S602
        if done.returncode != 0:
            words = (done.stderr or done.stdout).strip()[-300:]
            raise SetupError(f"pre_command of {case.name!r} ended with code {done.returncode}: {command}\n{words}")


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # the agent left something: it stays
        folder.rmdir()

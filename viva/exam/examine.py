"""Runs one exam: conversation, judgement, record. Each step is in the journal before the next begins."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.printed import keep_printed
from viva.adapters.trace_context import current_trace_id
from viva.adapters.workspace import clear_path
from viva.exam.attempt.conversing import converse_with_agent
from viva.exam.attempt.exam_run import ExamRun, setting_for
from viva.exam.evaluation import evaluate_all, nothing_earned
from viva.exam.judging.exchanges import kept_exchanges
from viva.exam.judging.unfair import with_earlier
from viva.exam.kept_workspaces import keep_workspace, workspace_name
from viva.exam.record import make_record
from viva.examiner import Examiner
from viva.journal.images import keep_pictures, keep_transcript_pictures
from viva.journal.kept_cases import keep_case
from viva.judge.exam.kinds import EXAM
from viva.judge.exchange.log import ExchangeLog, noting_exchanges
from viva.models.cache.scope import current_scope
from viva.records.copies import changed
from viva.records.evaluator import Context
from viva.records.run_record import RunRecord, Setting, Timing
from viva.records.text import storable
from viva.records.transcript import Round, StopReason, Transcript
from viva.records.verdict import Insight

RoundListener = Callable[[Round], Awaitable[None]]


async def examine(
    run: ExamRun, agent: LoadedAgent, examiner: Examiner, on_round: RoundListener
) -> tuple[RunRecord, Transcript]:
    """Run one exam and judge it.

    Args:
        run: The run; it must have a case.
        agent: The agent under test.
        examiner: The examiner of this conversation.
        on_round: Called with each round when it is in the journal.

    Raises:
        SetupError: the user must change something.
        SandboxError: the sandbox cannot be prepared; nothing has been said to the agent.
        JournalError: the journal cannot be written.
        asyncio.CancelledError: the run was stopped; the rounds so far are in the journal.
    """
    case, resources = run.case, run.resources
    assert case is not None
    started, began = time.time(), time.monotonic()
    path = workspace_name(run.header.id)
    workspace = clear_path(run.folder / path)
    setting = setting_for(run, path)
    keep_case(case, run.journal)
    run.append("setting", setting)
    if resources.judge.sandbox is not None and any(point.eval_code for point in case.scoring_points):
        # The sandbox starts while the agent talks.
        await resources.judge.sandbox.prepare(case.dependencies, run_id=run.header.id)

    kept: list[Round] = []

    async def keep(round_: Round, agent_folder: Path) -> None:
        kept.append(keep_pictures(round_, run.journal, agent_folder))
        run.append("round", kept[-1])
        await on_round(round_)

    with keep_printed() as printed:
        transcript, agent_folder = await converse_with_agent(run, agent, examiner, workspace, keep)
    if run.fork is not None:
        setting = replace(setting, forked_from=run.fork.origin)
        run.append("setting", setting)
    if agent_folder is not workspace and agent_folder != workspace:
        kept_setting, agent_folder = await _with_kept_files(run, setting, agent_folder, workspace)
        if kept_setting != setting:
            setting = kept_setting
            run.append("setting", setting)
    if (left_out := await run.journal.send_files(run.header.id, path)) is not None:
        setting = replace(setting, workspace=None, workspace_left_out=storable(left_out))
        run.append("setting", setting)
    # Judged with the names under which its images are stored, as a stored conversation is.
    rounds, trace = tuple(kept), transcript.trace_id or current_trace_id()
    words = transcript.printed or printed.texts()
    if words or trace or rounds != transcript.rounds:  # the same objects, unless they had images
        transcript = changed(transcript, rounds=rounds, trace_id=trace, printed=words)
    transcript = keep_transcript_pictures(transcript, run.journal, agent_folder)
    # With what the environment recorded since the last round: if this line is torn, the conversation has not ended.
    run.append("transcript", transcript.without_rounds())
    transcript = transcript.completed()
    timing = Timing(started, time.monotonic() - began)
    left = os.path.lexists(agent_folder)
    record = await judge_and_record(run, setting, transcript, agent_folder if left else None, timing)
    if (left or (agent_folder is not workspace and agent_folder != workspace)) and os.path.isdir(workspace):
        # The next attempt, if there is to be one, needs the path at once.
        await run.resources.empty_folders.remove(workspace, at_once=not record.outcome.counts)
    return record, transcript


async def _with_kept_files(run: ExamRun, setting: Setting, agent_folder: Path, workspace: Path) -> tuple[Setting, Path]:
    """Copy the files of an adapter that works in another folder into the journal; return the folder to judge."""
    # The agent's folder was resolved when it was made. A link that has replaced it since is not followed.
    journal = run.folder.resolve()
    if agent_folder.is_relative_to(journal / workspace.relative_to(run.folder)):
        return replace(setting, workspace=str(agent_folder.relative_to(journal))), agent_folder
    # These raise for no path, however long or hidden.
    if os.path.islink(agent_folder):
        return setting, agent_folder
    if not os.path.isdir(agent_folder):
        return setting, workspace
    name = workspace_name(run.header.id)
    left_out = await asyncio.to_thread(keep_workspace, agent_folder, run.folder, name)
    if left_out is None:
        return replace(setting, workspace=name), run.folder / name
    # Judged now in their own folder; the setting tells a later judge why the files are missing.
    return replace(setting, workspace=None, workspace_left_out=storable(left_out)), agent_folder


async def judge_and_record(
    run: ExamRun, setting: Setting, transcript: Transcript, workspace: Path | None, timing: Timing
) -> RunRecord:
    """Judge a conversation that has ended, and write its record. A failed judgement is repeated a few times.

    Args:
        run: The run.
        setting: Its setting, as in the journal.
        transcript: The conversation.
        workspace: The folder with the agent's files.
        timing: The timing of the conversation alone; the judge's time is added.

    Raises:
        JournalError: the journal cannot be written.
    """
    began = time.monotonic()
    insights: tuple[Insight, ...] = ()
    exchanges: ExchangeLog | None = None
    # If the examiner failed, there was no exam.
    if transcript.stop is not StopReason.EXAMINER_ERROR:
        context, options = _context(run, setting, transcript, workspace, timing.started), run.resources.options
        if transcript.failed and not transcript.answered:
            # Not judged: a check that asserts the absence of something would pass.
            # The exam ended before the examiner could be judged.
            insights = tuple(
                nothing_earned(each.name, context, transcript)
                for number, each in enumerate(run.evaluators)
                if number == 0 or each.name != EXAM
            )
        else:
            with _noting(run) as exchanges:
                insights = await evaluate_all(
                    run.evaluators, transcript, context, options.judgings, options.evaluator_seconds
                )
    # Measured here rather than summed over evaluators, which run concurrently; a later judgement subtracts this time.
    judge_seconds = time.monotonic() - began
    if run.earlier:
        insights = with_earlier(insights, run.earlier, run.header.id)
    timing = Timing(timing.started, timing.seconds + judge_seconds, judge_seconds=judge_seconds)
    record = make_record(run.header.id, setting, transcript, insights, timing, run.header)
    if run.resources.options.cache is not None:
        record = changed(record, cached_answers=current_scope().from_cache)
    asked = [] if exchanges is None else kept_exchanges(exchanges, transcript, run.journal)
    events = [*(("insight", insight) for insight in insights), *asked, ("run", record)]
    run.journal.append_all(run.header.id, run.header.attempt, events)
    return record


def _noting(run: ExamRun) -> AbstractContextManager[ExchangeLog | None]:
    """Note what judges' models are asked, unless no model judges, or the user does not want it."""
    wanted = run.resources.judge.asks_models and not run.resources.options.no_exchange
    return noting_exchanges() if wanted else contextlib.nullcontext()


def _context(run: ExamRun, setting: Setting, transcript: Transcript, workspace: Path | None, started: float) -> Context:
    references = run.resources.judge.references
    return Context(
        run.header.id,
        run.case,
        workspace if workspace is not None and os.path.lexists(workspace) else None,
        folder=run.folder,
        metrics=transcript.metrics,
        reference=None if references is None else references.find(run.header.subject, transcript),
        task=run.header.subject,
        agent=run.header.agent,
        started=started or None,
        persona=setting.persona,
        strategy=setting.strategy,
        history=run.history,
        **_words_of_role(setting),
    )


def _words_of_role(setting: Setting) -> dict[str, str]:
    """Return the descriptions of the bundled persona and strategy of an exam, for those who judge the examiner."""
    if not (setting.persona or setting.strategy):
        return {}
    from viva.examiner.library import personas, strategies  # here, because most exams have none

    strategy = strategies().get(setting.strategy)
    return {
        "persona_words": personas().get(setting.persona, ""),
        "strategy_words": "" if strategy is None else strategy.how,
    }

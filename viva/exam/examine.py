"""Runs one exam: conversation, judgement, record. Each step is in the journal before the next begins."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.environment import EnvironmentLog
from viva.adapters.mcp_servers.offered import servers_of
from viva.adapters.printed import keep_printed
from viva.adapters.session import AgentArguments, open_session
from viva.adapters.trace_context import current_trace_id
from viva.adapters.workspace import clear_path, copy_data_files
from viva.cases import Case
from viva.cases.mcp_servers.reader import OFFER
from viva.errors import AgentError, AgentTimeout, MachineError, SetupError, SharedSetupError, WorkspaceError
from viva.exam.agent_health import WatchedSession
from viva.exam.evaluation import evaluate_all, nothing_earned
from viva.exam.forking.course import Course
from viva.exam.forking.fork import Fork
from viva.exam.judging.exchanges import kept_exchanges
from viva.exam.judging.unfair import UnfairAttempt, with_earlier
from viva.exam.kept_workspaces import keep_workspace, workspace_name
from viva.exam.pre_commands import run_pre_commands
from viva.exam.record import make_record
from viva.exam.resources import Resources
from viva.exam.subscribers import RunHeader
from viva.exam.versions import versions, viva_version
from viva.examiner import Examiner, converse
from viva.examiner.conversation import KICK_OFF
from viva.journal.images import keep_pictures, keep_transcript_pictures
from viva.journal.kept_cases import keep_case
from viva.journal.writer import JournalWriter
from viva.judge.exam.kinds import EXAM
from viva.judge.exchange.log import ExchangeLog, noting_exchanges
from viva.judge.loaded_evaluator import LoadedEvaluator, parameters_of_all
from viva.recordings.events.conversation import conversation_metrics
from viva.records.copies import changed
from viva.records.evaluator import Context
from viva.records.fault import Fault
from viva.records.history import EvalHistorySource
from viva.records.run_record import RunRecord, Setting, Timing
from viva.records.text import storable
from viva.records.transcript import SERVERS, Round, StopReason, Transcript
from viva.records.verdict import Insight


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """What an agent meets beside the examiner."""

    log: EnvironmentLog
    """Takes what the harness sees itself."""
    end: Callable[[], None]
    """Called when the conversation has ended: what the agent does later is in no round."""


RoundListener = Callable[[Round], Awaitable[None]]
RoundKeeper = Callable[[Round, Path], Awaitable[None]]
"""Stores a round. Its second argument is the folder with the agent's files, to which relative image paths refer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamRun:
    """One attempt at a run: its identity, what it requires, and where it is stored."""

    header: RunHeader
    resources: Resources
    journal: JournalWriter
    folder: Path
    """The folder with the journal's workspaces, images and texts; absolute, because an agent may change the working
    directory."""
    case: Case | None = None
    """None for a recording that is judged without one."""
    evaluators: tuple[LoadedEvaluator, ...] = ()
    """The primary first."""
    history: EvalHistorySource | None = None
    """Earlier runs, for evaluators that compare."""
    fork: Fork | None = None
    """The point from which a stored conversation is continued."""
    earlier: tuple[UnfairAttempt, ...] = ()
    """Earlier attempts at this run in which the examiner was at fault."""

    def append(self, kind: str, value: object) -> None:
        """Append one event of this run to the journal."""
        self.journal.append(kind, self.header.id, self.header.attempt, value)


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
    if agent_folder is not None and agent_folder != workspace:
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
    transcript = keep_transcript_pictures(transcript, run.journal, agent_folder or workspace)
    run.append("transcript", transcript.without_rounds())
    timing = Timing(started, time.monotonic() - began)
    left = agent_folder is not None and os.path.lexists(agent_folder)
    record = await judge_and_record(run, setting, transcript, agent_folder if left else None, timing)
    if (left or agent_folder != workspace) and os.path.isdir(workspace):
        # On a thread: removing a folder can take two milliseconds, as long as fifty rounds.
        removal = asyncio.get_running_loop().run_in_executor(None, _remove_if_empty, workspace)
        if not record.outcome.counts:
            await removal  # the next attempt needs the path at once
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


async def converse_with_agent(
    run: ExamRun, agent: LoadedAgent, examiner: Examiner, workspace: Path, keep: RoundKeeper
) -> tuple[Transcript, Path | None]:
    """Start what the case owns, open the agent's session and converse in it.

    Returns:
        The transcript, and the folder with the agent's files.
    """
    case, options = run.case, run.resources.options
    assert case is not None
    await run_pre_commands(case, agent.python, options.pre_command_seconds)
    log = EnvironmentLog()
    async with servers_of(case, log) as offered:
        config = {**(case.config_var or {}), OFFER: list(offered.config)} if offered.config else case.config_var
        arguments = AgentArguments(
            case.task_description, options.app_dir or case.app_dir, config, workspace, case.verbose
        )
        transcript, folder = await _converse(run, agent, examiner, arguments, keep, RunEnvironment(log, offered.end))
    if not case.mcp:
        return transcript, folder
    attributes = {**transcript.attributes, SERVERS: {name: list(tools) for name, tools in offered.names.items()}}
    tools, notes = (*transcript.tools, *offered.tools), (*transcript.notes, *offered.notes)
    return changed(transcript, attributes=attributes, tools=tools, notes=notes), folder


async def _converse(
    run: ExamRun,
    agent: LoadedAgent,
    examiner: Examiner,
    arguments: AgentArguments,
    keep: RoundKeeper,
    beside: RunEnvironment,
) -> tuple[Transcript, Path]:
    """Open the agent's session and converse in it."""
    case, workspace, log = run.case, arguments.workspace, beside.log
    assert case is not None
    assert workspace is not None
    limits, health = run.resources.limits(case), run.resources.health(agent.spec)
    try:
        session = await open_session(agent.factory, arguments, limits.reply_seconds, agent.home, log)
    except (WorkspaceError, MachineError):
        raise
    except SetupError as error:  # for example, unknown constructor arguments: no other run could construct it either
        if not health.made:
            raise SharedSetupError(str(error)) from error
        raise
    except AgentError as error:
        await health.note_unmade(error, agent, case, run.resources.cases)
        stop = StopReason.TIMEOUT if isinstance(error, AgentTimeout) else StopReason.TARGET_ERROR
        return Transcript(kick_off=KICK_OFF, stop=stop, stop_detail=str(error), fault=Fault.TARGET), workspace
    trouble = None
    # An adapter's own folder may be a link now; if it becomes a link later, the link is not followed.
    folder = workspace
    try:
        if session.workspace not in (None, workspace):
            folder = _resolved(session.workspace)
        copy_data_files(case, folder)
        course = await Course.begin(
            examiner,
            session,
            run.journal,
            lambda round_: keep(round_, folder),
            fork=run.fork,
            states=not run.resources.options.no_states,
        )
        watched = WatchedSession(session, health)
        transcript = await converse(course.examiner, watched, limits, course.on_round, log.take, course.earlier)
        transcript = course.noted(transcript)
    except AgentError as error:  # it left nothing that the data files could be put into, or cannot load a state
        transcript = Transcript(
            kick_off=KICK_OFF, stop=StopReason.TARGET_ERROR, stop_detail=str(error), fault=Fault.TARGET
        )
    except asyncio.CancelledError:
        cancelled = Transcript(kick_off=KICK_OFF, stop=StopReason.CANCELLED, stop_detail="the run was stopped")
        run.append("transcript", cancelled)
        raise
    finally:
        beside.end()
        trouble = await session.close()
    notes = (f"the agent's {trouble}",) if trouble else ()
    transcript = changed(
        transcript,
        participants={**transcript.participants, "target": agent.name},
        notes=(*transcript.notes, *notes),
        # What an agent observed of itself says more than its replies.
        metrics=session.metrics or conversation_metrics(transcript),
        printed=session.printed,
    )
    return transcript, folder


def _resolved(folder: Path) -> Path:
    """Resolve the folder that an adapter names.

    Raises:
        AgentError: it is not a path, or its links lead in a circle.
    """
    try:
        return folder.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise AgentError(f"its workspace {str(folder)!r:.200} is not a folder: {error}") from error


def setting_for(run: ExamRun, workspace: str) -> Setting:
    """Return the setting of a run, before its first message."""
    case, resources = run.case, run.resources
    assert case is not None
    agent = resources.agents.get(run.header.agent)
    limits, judge = resources.limits(case), resources.judge
    persona, strategy = resources.played_by(case, run.header.persona, run.header.strategy)
    return Setting(
        viva=viva_version(),
        node=resources.node,
        case=case.name,
        case_file=str(case.file),
        case_hash=case.hash,
        agent=run.header.agent,
        in_process=agent is not None and agent.kind == "python",
        agent_digest=None if agent is None else agent.digest,
        app_dir=resources.options.app_dir or case.app_dir,
        examiner=resources.examiner_of(case),
        forked_from={} if run.fork is None else run.fork.origin,
        persona=persona,
        strategy=strategy,
        judge=judge.kind,
        **judge.named_models,
        evaluators=tuple(each.name for each in run.evaluators),
        evaluator_parameters=parameters_of_all(run.evaluators),
        sandbox=judge.sandbox.name if judge.sandbox else None,
        sandbox_isolates=judge.sandbox.isolates if judge.sandbox else None,
        check_seconds=resources.options.check_seconds,
        check_memory_mb=resources.options.check_memory_mb,
        max_output_tokens=dict(resources.role_limits.output_tokens),
        model_seconds=dict(resources.role_limits.seconds),
        max_rounds=limits.max_rounds,
        reply_seconds=limits.reply_seconds,
        run_seconds=limits.run_seconds,
        workspace=workspace,
        trial=run.header.trial,
        agent_version=run.header.agent_version,
        prompts=resources.prompts_of(case, persona, strategy),
        versions=versions(),
    )


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # the agent left something, so the folder stays
        folder.rmdir()

"""Converses with the agent of a run: opens its session, and closes it, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from viva.adapters.agent_state import load_conversation
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.session import AgentSession, open_session
from viva.adapters.workspace import copy_data_files
from viva.cases import Case
from viva.errors import AgentError, AgentTimeout, MachineError, SetupError, SharedSetupError, WorkspaceError
from viva.exam.agent_health import WatchedSession
from viva.exam.attempt.environment import RunEnvironment, environment_of
from viva.exam.attempt.exam_run import ExamRun
from viva.exam.forking.course import Course
from viva.exam.requirements.begun_conversations import takes_none
from viva.examiner import Examiner, converse
from viva.examiner.conversation import KICK_OFF
from viva.recordings.events.conversation import conversation_metrics
from viva.records.copies import changed
from viva.records.fault import Fault
from viva.records.transcript import Round, Step, StopReason, Transcript

RoundKeeper = Callable[[Round, Path], Awaitable[None]]
"""Stores a round. Its second argument is the folder with the agent's files, to which relative image paths refer."""


async def converse_with_agent(
    run: ExamRun, agent: LoadedAgent, examiner: Examiner, workspace: Path, keep: RoundKeeper
) -> tuple[Transcript, Path]:
    """Start what the case owns, open the agent's session and converse in it.

    Args:
        run: The run; it must have a case.
        agent: The agent under test.
        examiner: The examiner of this conversation.
        workspace: The folder for the agent's files.
        keep: Stores each round.

    Returns:
        The transcript, and the folder with the agent's files. Faults of the agent are in the transcript, and what the
        environment recorded after the last reply is in its `late_steps`.

    Raises:
        SetupError: the user must change something.
        asyncio.CancelledError: the run was stopped; the transcript so far is in the journal.
    """
    case = run.case
    assert case is not None
    # An adapter's own folder may be a link now; if it becomes a link later, the link is not followed.
    folder = workspace
    async with environment_of(run, agent, workspace) as environment:
        try:
            session = await _opened(run, agent, environment)
        except AgentError as error:
            stop = StopReason.TIMEOUT if isinstance(error, AgentTimeout) else StopReason.TARGET_ERROR
            transcript = _no_rounds(stop, error)
        else:
            trouble = None
            late: tuple[Step, ...] = ()
            try:
                if session.workspace is not workspace and session.workspace not in (None, workspace):
                    folder = _resolved(session.workspace)
                copy_data_files(case, folder)
                states = not run.resources.options.no_states
                course = await Course.begin(
                    examiner,
                    session,
                    run.journal,
                    lambda round_: keep(round_, folder),
                    give=partial(_give_beginning, case, agent, session),
                    fork=run.fork,
                    states=states,
                )
                watched, limits = WatchedSession(session, run.resources.health(agent.spec)), run.resources.limits(case)
                transcript = await converse(
                    course.examiner, watched, limits, course.on_round, environment.log.take, course.earlier
                )
                transcript = course.noted(transcript)
                # Calls are refused first: between this look and the end, none may go unseen.
                environment.end()
                late = await environment.log.take()
            except AgentError as error:  # it left nothing that the data files could be put into, or loads no state
                transcript = _no_rounds(StopReason.TARGET_ERROR, error)
            except asyncio.CancelledError:
                cancelled = Transcript(kick_off=KICK_OFF, stop=StopReason.CANCELLED, stop_detail="the run was stopped")
                run.append("transcript", cancelled)
                raise
            finally:
                environment.end()
                trouble = await session.close()
            transcript = changed(transcript, late_steps=(*late, *environment.log.take_now()))
            transcript = _with_facts(transcript, session, agent.name, trouble)
        if case.conversation:
            transcript = changed(transcript, given=case.conversation)
    return environment.described(transcript), folder


async def _give_beginning(case: Case, agent: LoadedAgent, session: AgentSession) -> None:
    """Give the agent the conversation with which the case begins, if it begins with one.

    Raises:
        SharedSetupError: the agent takes none.
        AgentError: it failed to take it.
    """
    if case.conversation and not await load_conversation(session, case.conversation):
        raise SharedSetupError(takes_none(case, agent))


async def _opened(run: ExamRun, agent: LoadedAgent, environment: RunEnvironment) -> AgentSession:
    """Open the agent's session.

    Raises:
        SetupError: the user must change something.
        AgentError: the agent's construction failed; its health has been told.
    """
    case, resources = environment.case, run.resources
    health, seconds = resources.health(agent.spec), resources.limits(case).reply_seconds
    try:
        return await open_session(agent.factory, environment.arguments, seconds, agent.home, environment.log)
    except (WorkspaceError, MachineError):
        raise
    except SetupError as error:  # for example, unknown constructor arguments: no other run could construct it either
        if not health.made:
            raise SharedSetupError(str(error)) from error
        raise
    except AgentError as error:
        await health.note_unmade(error, agent, case, resources.cases)
        raise


def _no_rounds(stop: StopReason, error: AgentError) -> Transcript:
    return Transcript(kick_off=KICK_OFF, stop=stop, stop_detail=str(error), fault=Fault.TARGET)


def _with_facts(transcript: Transcript, session: AgentSession, name: str, trouble: str | None) -> Transcript:
    """Return the transcript with what is known of the agent when its session has been closed."""
    notes = (f"the agent's {trouble}",) if trouble else ()
    return changed(
        transcript,
        participants={**transcript.participants, "target": name},
        notes=(*transcript.notes, *session.notes, *notes),
        # What an agent observed of itself says more than its replies.
        metrics=session.metrics or conversation_metrics(transcript.completed()),
        printed=session.printed,
    )


def _resolved(folder: Path) -> Path:
    """Resolve the folder that an adapter names.

    Raises:
        AgentError: it is not a path, or its links lead in a circle.
    """
    try:
        return folder.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise AgentError(f"its workspace {str(folder)!r:.200} is not a folder: {error}") from error

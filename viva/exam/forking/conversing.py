"""Holds a conversation, or the rest of one that is continued, and keeps the agent's state after each round."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from viva.adapters.session import AgentSession
from viva.exam.forking.fork import Fork
from viva.exam.forking.states import StateKeeper
from viva.examiner import Examiner, converse
from viva.examiner.conversation import KICK_OFF, AgentUnderTest, ConversationLimits, ExaminerError
from viva.journal.writer import JournalWriter
from viva.records.copies import changed
from viva.records.fault import Fault
from viva.records.transcript import Round, StopReason, Transcript


async def hold(
    examiner: Examiner,
    session: AgentSession,
    agent: AgentUnderTest,
    limits: ConversationLimits,
    journal: JournalWriter,
    keep: Callable[[Round], Awaitable[None]],
    *,
    fork: Fork | None = None,
    states: bool = True,
) -> Transcript:
    """Hold a conversation and return its transcript.

    Args:
        examiner: Provides the messages.
        session: The session with the agent.
        agent: The same session, as it is watched.
        limits: When to stop at the latest.
        journal: Where states are kept.
        keep: Stores a round there.
        fork: Where the conversation continues from, if it does.
        states: Whether to keep the agent's state after each round.

    Raises:
        SetupError: the stored conversation cannot be continued.
        AgentError: the agent failed to load the state.
    """
    before: tuple[Round, ...] = ()
    if fork is not None:
        try:
            examiner, before = await fork.begin(examiner, session, journal, keep)
        except ExaminerError as error:
            return Transcript(
                kick_off=KICK_OFF, stop=StopReason.EXAMINER_ERROR, stop_detail=str(error), fault=Fault.EXAMINER
            )
    keeper = StateKeeper(session, journal, wanted=states)

    async def keep_with_state(round_: Round) -> None:
        await keep(await keeper.with_state(round_))

    transcript = await converse(examiner, agent, limits, keep_with_state, session.environment.take, before)
    if keeper.notes:
        transcript = changed(transcript, notes=(*transcript.notes, *keeper.notes))
    return transcript if fork is None else fork.told(transcript)

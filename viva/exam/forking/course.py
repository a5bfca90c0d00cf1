"""What surrounds the rounds of a conversation: those that it continues from, and the states that are kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from viva.adapters.session import AgentSession
from viva.exam.forking.fork import Fork
from viva.exam.forking.states import StateKeeper
from viva.examiner import Examiner
from viva.journal.writer import JournalWriter
from viva.records.copies import changed
from viva.records.transcript import Round, Transcript


@dataclass(frozen=True, slots=True)
class Course:
    """The course of one conversation. Make it with `begin`."""

    examiner: Examiner
    earlier: tuple[Round, ...]
    """The rounds that are not repeated."""
    states: StateKeeper
    keep_round: Callable[[Round], Awaitable[None]]
    fork: Fork | None

    @classmethod
    async def begin(
        cls,
        examiner: Examiner,
        session: AgentSession,
        journal: JournalWriter,
        keep: Callable[[Round], Awaitable[None]],
        *,
        give: Callable[[], Awaitable[None]],
        fork: Fork | None = None,
        states: bool = True,
    ) -> Course:
        """Prepare a conversation; bring a continued one to the point of the fork.

        Args:
            examiner: Provides the messages.
            session: The session with the agent.
            journal: Where states are kept.
            keep: Stores a round there.
            give: Gives the agent the conversation with which the case begins, if it begins with one.
            fork: Where the conversation continues from, if it does.
            states: Whether to keep the agent's state after each round.

        Raises:
            SetupError: the stored conversation cannot be continued.
            AgentError: the agent failed to load the state.
        """
        earlier: tuple[Round, ...] = ()
        if fork is None:
            await give()
        else:
            examiner, earlier = await fork.begin(examiner, session, journal, keep, give)
        return cls(examiner, earlier, StateKeeper(session, journal, wanted=states), keep, fork)

    @property
    def on_round(self) -> Callable[[Round], Awaitable[None]]:
        """Return what stores each round, with the agent's present state if it offers one."""
        return self._keep_with_state if self.states.goes_on else self.keep_round

    async def _keep_with_state(self, round_: Round) -> None:
        await self.keep_round(await self.states.with_state(round_))

    def noted(self, transcript: Transcript) -> Transcript:
        """Return the transcript with notes about states and the fork."""
        if self.states.notes:
            transcript = changed(transcript, notes=(*transcript.notes, *self.states.notes))
        return transcript if self.fork is None else self.fork.told(transcript)

"""Distinguishes a set-up error from an agent's failure by whether the agent was ever constructed and reached."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.contract import AgentArguments
from viva.adapters.session import AgentSession, open_session
from viva.cases import Case
from viva.errors import AgentError, AgentTimeout, MachineError, SetupError, SharedSetupError
from viva.records.text import one_line
from viva.records.transcript import Reply

FAILURES_IN_A_ROW = 3
"""Maximum number of consecutive runs of one agent that could not reach it; then no further run of it is started."""
OTHER_CASES = 2
"""Number of other cases with which the construction of an agent is tried, because only the first case may break it."""

LOOK_SECONDS = 60.0
"""Maximum duration of a construction that only tests whether the agent can be constructed."""


@dataclass(slots=True)
class AgentHealth:
    """Records whether one agent could be constructed and reached. All its runs in this process share it."""

    spec: str
    made: bool = False
    """Whether it was ever constructed."""
    replied: bool = False
    """Whether it ever replied."""
    failures: int = 0
    """Number of consecutive runs that could not reach it."""
    last: str = ""
    """Why the last of these runs could not reach it."""

    @property
    def stopped(self) -> str | None:
        """Return why no further run of the agent should start, in words; None if one may."""
        if self.failures < FAILURES_IN_A_ROW:
            return None
        return f"{one_line(self.spec, 80)} could not be reached in {self.failures} runs in a row ({self.last})"

    def note_reply(self) -> None:
        """Note that the agent replied."""
        self.replied, self.failures = True, 0

    def note_failure(self, error: AgentError) -> None:
        """Note that the agent failed in the middle of a conversation.

        Raises:
            SharedSetupError: the agent cannot be reached, and never was.
        """
        if not error.unavailable:
            self.failures = 0
            return
        if not self.replied:
            raise SharedSetupError(f"the agent {one_line(self.spec, 200)} cannot be examined: {error}") from error
        self._count(error)

    async def note_unmade(self, error: AgentError, agent: LoadedAgent, case: Case, others: Sequence[Case]) -> None:
        """Note that the agent could not be constructed.

        Raises:
            SharedSetupError: the agent was never constructed, and cannot be with any of several cases.
        """
        if isinstance(error, AgentTimeout):
            return
        if not self.made:
            different = [each for each in others if each.hash != case.hash][:OTHER_CASES]
            for each in (case, *different):
                # One after another: constructing many agents at the same time would cost too much.
                if self.made or await _can_be_made(agent, each):
                    self.made = True
                    return
            raise SharedSetupError(
                f"the agent {one_line(self.spec, 200)} cannot be examined: {str(error).rstrip('.')}. Every "
                "construction fails like this: set the environment variables and install the packages that it "
                "requires, or fix its __init__."
            ) from error
        self._count(error)

    def _count(self, error: AgentError) -> None:
        self.failures += 1
        self.last = one_line(str(error), 200)


class WatchedSession:
    """A session that records each reply and failure in its agent's health."""

    def __init__(self, session: AgentSession, health: AgentHealth) -> None:
        self._session, self._health = session, health
        health.made = True

    async def reply(self, message: str, seconds: float) -> Reply:
        """Send one message to the agent and return its reply, as `AgentSession.reply` does.

        Raises:
            SharedSetupError: the agent cannot be reached, and never was.
        """
        try:
            reply = await self._session.reply(message, seconds)
        except AgentError as error:
            self._health.note_failure(error)
            raise
        self._health.note_reply()
        return reply


async def _can_be_made(agent: LoadedAgent, case: Case) -> bool:
    try:
        place = tempfile.TemporaryDirectory(prefix="viva-look-", ignore_cleanup_errors=True)
    except OSError:  # it took every descriptor that there is
        return False
    with place as folder:
        arguments = AgentArguments(
            case.task_description, case.app_dir, case.agent_config, Path(folder), case.verbose, agent.settings
        )
        try:
            session = await open_session(agent.factory, arguments, LOOK_SECONDS, agent.home)
        except AgentTimeout:
            return True  # slow, but not broken
        except MachineError:
            raise
        except (AgentError, SetupError):
            return False
        await session.close()
        return True

"""The agent under check: loads it, opens its sessions, and reports what was received instead of what was expected."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, AgentSession, open_session
from viva.errors import AgentError
from viva.examiner.conversation import ConversationLimits, converse
from viva.pytest_plugin.conformance.directives import PREFIX, PROBE, words_played
from viva.pytest_plugin.conformance.expectation import Differs, DoesNotApply, expect, quoted
from viva.pytest_plugin.conformance.footprint import MARK, agent_processes, can_measure, shown_process
from viva.records.transcript import NO_USAGE, Transcript, Usage

PLAYED_SECONDS = 60.0
"""Maximum wait for a reply of an agent with the conformance commands, unless a check says otherwise."""
GONE_SECONDS = 5.0
"""Maximum time until the processes of a closed session are gone."""
REST_LOOKS = 4
"""How many looks in a row, 0.1 s apart, must find the same number of processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What was given on the command line."""

    message: str
    """The message to an agent without the conformance commands."""
    sessions: int | None = None
    """How many sessions one after the other; None for the usual number."""
    reply_seconds: float = 300.0
    isolate: bool = False
    memory_mb: int | None = None


class AgentTalk:
    """One open session."""

    def __init__(self, session: AgentSession, seconds: float) -> None:
        self.session = session
        self._seconds = seconds

    async def say(self, message: str) -> str:
        """Return the agent's reply.

        Raises:
            Differs: the agent failed.
        """
        try:
            return (await self.session.reply(message, self._seconds)).text
        except AgentError as error:
            raise Differs("a reply", f"{type(error).__name__}: {error}", after=quoted(message)) from error

    async def ask(self, directive: str) -> str:
        """Return the agent's reply to a directive."""
        return await self.say(f"{PREFIX}{directive}")


class CheckedAgent:
    """One agent under check."""

    def __init__(self, spec: str, demands: Demands) -> None:
        self.spec = spec
        self.demands = demands
        self.mark = secrets.token_hex(8)
        """Found in the environment of the agent's processes."""
        self._agent: LoadedAgent | None = None
        self._words: frozenset[str] | None = None
        self._resting = 0
        """How many processes the connector keeps ready between sessions."""

    @property
    def agent(self) -> LoadedAgent:
        """Return the loaded agent.

        Raises:
            SetupError: it cannot be loaded; the message says what to do.
        """
        if self._agent is None:
            os.environ[MARK] = self.mark
            self._agent = load_agent(self.spec, isolate=self.demands.isolate, memory_mb=self.demands.memory_mb)
        return self._agent

    async def meet(self) -> None:
        """Load the agent and ask which commands it supports, before the first check.

        Raises:
            SetupError: it cannot be loaded or reached; the message says what to do.
            Differs: it does not open, or does not answer.
        """
        if self.agent.look is not None:
            await self.agent.look()
        await self.words()

    async def words(self) -> frozenset[str]:
        """Return the conformance commands that the agent supports; none if it knows none of them."""
        if self._words is None:
            async with self.talk(quiet=False) as talk:
                self._words = words_played(await talk.say(PROBE))
            await self._rest()
        return self._words

    async def needs(self, *words: str) -> None:
        """Skip the check unless the agent supports these commands.

        Raises:
            DoesNotApply: it does not.
        """
        played = await self.words()
        if not played:
            raise DoesNotApply(f"it does not support the conformance commands: its reply to {PROBE!r} says so")
        if missing := [word for word in words if word not in played]:
            raise DoesNotApply(f"it does not support {', '.join(missing)}")

    async def question(self) -> str:
        """Return a message that the agent can answer."""
        return f"{PREFIX}echo Hello." if "echo" in await self.words() else self.demands.message

    async def seconds(self) -> float:
        """Return the maximum wait for a reply."""
        limit = self.demands.reply_seconds
        return min(limit, PLAYED_SECONDS) if self._words else limit

    @contextlib.asynccontextmanager
    async def talk(self, *, quiet: bool = True, seconds: float | None = None) -> AsyncIterator[AgentTalk]:
        """Open a session with a workspace of its own, and close it.

        Args:
            quiet: Whether closing must end without a complaint.
            seconds: Maximum wait for a reply; None for the usual one.

        Raises:
            Differs: the agent does not open, or closing it failed.
        """
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="viva-conformance-")).resolve()
        try:
            session = await self.opened(folder / "workspace")
            try:
                yield AgentTalk(session, await self.seconds() if seconds is None else seconds)
            finally:
                trouble = await session.close()
            if quiet:
                expect(trouble is None, "close() ends without an error", trouble)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def opened(self, workspace: Path) -> AgentSession:
        """Open a session that the caller closes.

        Raises:
            Differs: the agent does not open.
        """
        arguments = AgentArguments("A conformance check.", workspace=workspace)
        try:
            return await open_session(self.agent.factory, arguments, self.demands.reply_seconds, self.agent.home)
        except AgentError as error:
            raise Differs("the agent opens", f"{type(error).__name__}: {error}") from error

    async def converse(self, *messages: str, seconds: float | None = None) -> tuple[Transcript, str]:
        """Conduct a whole conversation, as an exam does; return it, and all that is known of how it ended."""
        limit = await self.seconds() if seconds is None else seconds
        async with self.talk(quiet=False) as talk:
            limits = ConversationLimits(len(messages), limit)
            transcript = await converse(_Reader(messages), talk.session, limits)
        errors = [round_.error for round_ in transcript.rounds if round_.error]
        known = [*errors, transcript.stop_detail or "", *talk.session.printed.values()]
        return transcript, "\n".join(dict.fromkeys(words for words in known if words))

    async def answers_still(self) -> None:
        """Check that a new session answers, whatever an earlier one did.

        Raises:
            Differs: it does not.
        """
        async with self.talk() as talk:
            await talk.say(await self.question())

    async def nothing_runs(self) -> None:
        """Check that the processes of all sessions are gone, but for those that the connector keeps ready.

        Raises:
            Differs: there are more.
        """
        if not can_measure():
            return
        left: Sequence[int] = ()
        for _ in range(int(GONE_SECONDS / 0.05)):
            left = agent_processes(self.mark)
            if len(left) <= self._resting:
                return
            await asyncio.sleep(0.05)
        shown = "; ".join(map(shown_process, left))
        kept = f"at most {self._resting}, which the connector keeps ready" if self._resting else "none"
        raise Differs(f"processes of the agent after closing: {kept}", f"{len(left)}: {shown}")

    async def processes_without_ready(self, known: frozenset[int] = frozenset()) -> frozenset[int]:
        """Return the processes that remain when the connector has ended those that it keeps ready, without the known
        ones; those that are about to end are waited for.
        """
        if self.agent.release is not None:
            await asyncio.to_thread(self.agent.release)
        left: frozenset[int] = frozenset()
        for _ in range(int(GONE_SECONDS / 0.05)):
            left = frozenset(agent_processes(self.mark)) - known
            if not left:
                break
            await asyncio.sleep(0.05)
        return left

    async def _rest(self) -> None:
        """Note how many processes stay between sessions; a leak shows after later sessions, because it grows."""
        if not can_measure():
            return
        # After sessions that had to wait for a process, the connector starts some ahead.
        async with self.talk(quiet=False), self.talk(quiet=False):
            pass
        found, unchanged = -1, 0
        for _ in range(int(GONE_SECONDS / 0.1)):
            last, found = found, len(agent_processes(self.mark))
            unchanged = unchanged + 1 if found == last else 0
            # Processes of the sessions may be about to end, or others about to be started.
            if unchanged == REST_LOOKS:
                break
            await asyncio.sleep(0.1)
        self._resting = found


class _Reader:
    """An examiner that reads its messages out."""

    name = "script"
    may_repeat = True
    usage: Usage = NO_USAGE

    def __init__(self, messages: Sequence[str]) -> None:
        self._left = list(messages)

    async def next_message(self, reply: str | None) -> str | None:
        return self._left.pop(0) if self._left else None

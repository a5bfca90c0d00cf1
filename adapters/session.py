"""The session with one agent in one run: construction, messages within time limits, and closing, plain or async."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from viva.adapters.agent_state import reply_so_far
from viva.adapters.calls import TimeoutLeft, abandon, called, describe, within
from viva.adapters.contract import (
    AgentArguments,
    AgentFactory,
    ConnectedAgent,
    adopted,
    arguments_for,
    as_reply,
    check_agent,
    check_factory,
    class_of,
    is_built_in,
    workspace_of,
)
from viva.adapters.environment import EnvironmentLog
from viva.adapters.inside.raised import Home
from viva.adapters.inside.rules import takes_verbose
from viva.adapters.machine import check_machine
from viva.adapters.printed import add_last_words
from viva.adapters.shared_descriptors import blame, is_foreign, let_go, note_foreign
from viva.adapters.tasks import is_coroutine_function, place_for, run_through, start_call
from viva.adapters.threads import AgentThread
from viva.adapters.virtual_user import VirtualUser
from viva.errors import AgentError, AgentTimeout, DescriptorsGone, MachineError, SetupError, WorkspaceError
from viva.records.redact import Keys
from viva.records.transcript import Metrics, Reply

__all__ = ["AgentArguments", "AgentSession", "open_session"]

CLOSE_SECONDS = 20.0
"""Maximum duration of `close`; an agent that takes longer is abandoned."""


class AgentSession:
    """The agent under test, as the conversation sees it. Make one with `open_session`."""

    def __init__(
        self,
        agent: Any,
        thread: AgentThread | None,
        *,
        verbose: bool | None,
        home: Home | None,
        owner: object,
        environment: EnvironmentLog,
    ) -> None:
        self.agent = agent
        self.environment = environment
        """The steps that the harness saw itself."""
        self.workspace: Path | None = None
        """The folder with the agent's files."""
        self._thread = thread
        self._home = home
        self._owner = owner
        """Identifies the agent to its own code: see `calls.IN_AGENT`."""
        self._method: Any = agent.get_reply_from_agent
        self._keys = Keys()
        self._keywords = {} if verbose is None else {"verbose": verbose}
        self._made = False
        """Whether the workspace existed before the agent was constructed. What replaced it since is the agent's."""
        self._closed = False
        self._busy = False
        """Whether the agent's thread is still in a call, perhaps one that was abandoned."""
        self._tasks: list[asyncio.Future[Any]] = []

    @property
    def metrics(self) -> Metrics | None:
        """What an agent that observes itself has counted in its attribute `metrics`; None if it has none."""
        try:
            found = getattr(self.agent, "metrics", None)
        except Exception:  # a property of the agent's own
            return None
        return found if isinstance(found, Metrics) else None

    @property
    def printed(self) -> Mapping[str, str]:
        """Return the end of what an agent in a process of its own has printed; it is known after `close`."""
        return self.agent.printed if isinstance(self.agent, ConnectedAgent) else {}

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what a reader of the conversation should know that is in no reply; it is known after `close`."""
        return tuple(self.agent.notes) if isinstance(self.agent, ConnectedAgent) else ()

    async def reply(self, message: str, seconds: float) -> Reply:
        """Send one message to the agent and return its reply.

        Raises:
            AgentTimeout: the agent did not reply within `seconds`.
            AgentError: the agent raised an exception, or returned something that is not a reply. It has `so_far` where
                the adapter tells what the agent did before.
            SetupError: the workspace could not be made, or this machine lacks resources; not the agent's fault.
        """
        try:
            return await self._reply(message, seconds)
        except AgentError as error:
            error.so_far = await reply_so_far(self, self._keys)
            raise

    async def _reply(self, message: str, seconds: float) -> Reply:
        until, gone = time.monotonic() + seconds, ""
        try:
            if self._thread is None:
                answer = await self._await(self._method(message, **self._keywords), seconds)
            else:
                self._busy = True
                answer = await self._thread.call(lambda: self._method(message, **self._keywords), seconds)
                self._busy = False
                if inspect.isawaitable(answer):
                    answer = await self._await(answer, until - time.monotonic())
        except TimeoutLeft as error:
            raise self._too_late(seconds, str(error)) from None
        except SetupError as error:
            self._busy = False
            if isinstance(error, WorkspaceError) and self._made:
                raise AgentError("it replaced its workspace with something else") from error
            raise
        except Exception as error:
            self._busy = False
            try:
                check_machine(error, self.workspace)
            except DescriptorsGone:
                if not is_foreign(type(self.agent)):
                    raise
                gone = describe(error, self._home)
            unavailable = isinstance(error, AgentError) and error.unavailable
            if not gone:
                raise AgentError(describe(error, self._home), unavailable=unavailable) from error
        if gone:  # outside of the clause above, where the error's frames would still hold what the agent opened
            await self._give_back()
            raise blame(gone)
        return as_reply(answer, self._keys)

    async def call(self, name: str, *arguments: Any, seconds: float) -> Any:
        """Call a method of the agent other than `get_reply_from_agent`, where the agent expects it; return its result.

        Raises:
            AgentTimeout: it did not end within `seconds`.
            AgentError: it raised an exception.
            NotImplementedError: it raised this one.
            SetupError: this machine lacks resources; not the agent's fault.
        """
        method, until = getattr(self.agent, name), time.monotonic() + seconds
        try:
            if inspect.iscoroutinefunction(method):
                return await self._await(called(lambda: method(*arguments), self._owner), seconds)
            busy, self._busy = self._busy, True
            answer = await self._on_thread(lambda: method(*arguments), seconds, busy=busy)
            self._busy = busy
            if inspect.isawaitable(answer):
                answer = await self._await(answer, until - time.monotonic())
            return answer
        except TimeoutLeft as error:
            why = f": {error}" if str(error) else ""
            raise AgentTimeout(f"{name}() did not end within {seconds:g} s{why}") from None
        except (SetupError, NotImplementedError):
            self._busy = False
            raise
        except Exception as error:
            self._busy = False
            check_machine(error, self.workspace)
            raise AgentError(f"{name}() failed: {describe(error, self._home)}") from error

    async def _give_back(self) -> None:
        """Close the agent, and let go of it."""
        await self.close()
        self.agent = self._method = None
        await let_go()

    async def close(self) -> str | None:
        """Close the agent once; return what went wrong in words, or None."""
        if self._closed:
            return None
        self._closed = True
        close = getattr(self.agent, "close", None)
        try:
            if close is None or getattr(close, "__func__", None) is VirtualUser.close:
                return None
            if is_coroutine_function(close):
                answer = called(close, self._owner)
            else:
                # On a thread also for an async agent: a plain `close` may block, and all conversations share the loop.
                answer = await self._on_thread(close, CLOSE_SECONDS, busy=self._busy)
            if inspect.isawaitable(answer):
                await self._await(answer, CLOSE_SECONDS)
        except TimeoutLeft:
            return f"close() did not end within {CLOSE_SECONDS:g} s"
        except MachineError as error:
            return f"close() was not called: {error}"
        except Exception as error:
            return f"close() failed: {describe(error, self._home)}"
        finally:
            if self._thread is not None:
                self._thread.release()
            await abandon(self._tasks)
        return None

    def _too_late(self, seconds: float, why: str) -> AgentTimeout:
        words, fault = f"no reply within {seconds:g} s{f': {why}' if why else ''}", None
        if isinstance(self.agent, VirtualUser):
            fault = self.agent._viva_fault
        if fault is None:
            return AgentTimeout(f"{words}{self.agent.so_far() if isinstance(self.agent, ConnectedAgent) else ''}")
        # It waited for another attempt, or for a connection, when the time ran out.
        return AgentTimeout(f"{words}; the last attempt failed: {fault}", unavailable=fault.unavailable)

    async def _await(self, work: Awaitable[Any], seconds: float) -> Any:
        """Wait for the agent's work on the event loop; if it needs a task, this is remembered until it has ended."""
        if (place := place_for(work)) is not None:
            return await run_through(work, self._owner, place)
        task = start_call(work, self._owner)
        if not task.done():
            self._tasks = [*(old for old in self._tasks if not old.done()), task]
        return await within(seconds, task)

    async def _on_thread(self, function: Callable[[], Any], seconds: float, *, busy: bool) -> Any:
        if self._thread is not None and not busy:
            return await self._thread.call(function, seconds)
        # The agent has no thread, or its thread is still busy: closing it from another thread may free it.
        other = AgentThread("agent-other", self._owner)
        try:
            return await other.call(function, seconds)
        finally:
            other.release()


async def open_session(
    factory: AgentFactory,
    arguments: AgentArguments,
    seconds: float,
    home: Home | None = None,
    environment: EnvironmentLog | None = None,
) -> AgentSession:
    """Construct the agent and return its session.

    Args:
        factory: The class or function that makes the agent.
        arguments: The arguments for the factory.
        seconds: Maximum duration of the construction.
        home: The location of the agent's code, so that exceptions are reported with file and line.
        environment: Takes the steps that the harness sees itself. Default: a new one.

    Raises:
        SetupError: the class has no usable `get_reply_from_agent`, or requires unknown arguments.
        AgentTimeout: the construction took longer than `seconds`.
        AgentError: the construction raised an exception.
    """
    known = class_of(factory)
    environment = EnvironmentLog() if environment is None else environment
    if known is None or arguments.settings:
        check_factory(factory)
        keywords = arguments_for(factory, arguments)
    else:
        keywords = known.keywords(arguments)
    made = arguments.workspace is not None and os.path.isdir(arguments.workspace)
    if known is None:
        is_async = is_coroutine_function(getattr(factory, "get_reply_from_agent", None))
    else:
        is_async = known.is_async
    owner = object()
    thread = None if is_async else AgentThread("agent", owner)
    given_up, gone = False, ""
    if is_foreign(factory) if known is None else known.is_foreign:
        note_foreign(factory)

    def construct() -> Any:
        made = adopted(factory(**keywords), arguments)
        if given_up:  # nobody waits any longer, so its resources are released here
            made.close()
        return made

    try:
        agent = called(construct, owner) if thread is None else await thread.call(construct, seconds)
        if known is None or not known.describes(agent):
            known = None
            check_agent(agent)
        if isinstance(agent, ConnectedAgent):
            agent.environment = environment if is_built_in(agent) else EnvironmentLog()
            await _open(agent, seconds, owner)
        takes = takes_verbose(agent.get_reply_from_agent) if known is None else known.takes_verbose
        verbose = arguments.verbose if takes else None
        session = AgentSession(agent, thread, verbose=verbose, home=home, owner=owner, environment=environment)
        try:
            session._made = made
            session.workspace = workspace_of(agent, arguments.workspace)
        except Exception as error:
            await session.close()
            if isinstance(error, WorkspaceError) and made:
                raise AgentError("it replaced its workspace with something else") from error
            raise
        return session
    except BaseException as error:
        given_up = True
        if thread is not None:
            thread.release()
        if isinstance(error, TimeoutLeft):
            why = f": {error}" if str(error) else ""
            raise AgentTimeout(f"its construction did not end within {seconds:g} s{why}") from None
        try:
            check_machine(error, arguments.workspace)
        except DescriptorsGone:
            if not is_foreign(factory):
                raise
            gone = describe(error, home)
        if not gone:
            if isinstance(error, (SetupError, AgentError)) or not isinstance(error, Exception):
                raise
            raise AgentError(f"its construction failed: {describe(error, home)}") from error
    await let_go()
    raise blame(f"its construction failed: {gone}")


async def _open(agent: ConnectedAgent, seconds: float, owner: object) -> None:
    """Open the agent as its own work, like all that follows: `close` may only cancel tasks that are the agent's."""
    opening = start_call(agent.open(seconds), owner)
    try:
        await opening
    except AgentError as error:
        add_last_words(error, agent.printed)
        raise
    except asyncio.CancelledError:
        if opening.done() and not opening.cancelled() and opening.exception() is None:  # it was open a moment before
            close: Any = getattr(agent, "close", None)
            with contextlib.suppress(AgentError):
                await start_call(close(), owner)
        raise

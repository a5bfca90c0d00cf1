"""One agent in one run: constructed, spoken to within a time limit, and closed once, be it plain or async."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters.errors import AgentError, AgentTimeout, SetupError
from adapters.threads import AgentThread
from records.text import storable
from records.transcript import Reply

AgentFactory = Callable[..., Any]
"""What a SPEC loads to: a VirtualUser class, or anything that makes an object with its methods."""

CLOSE_SECONDS = 20.0
"""How long `close` may take; an agent that needs longer is left behind."""


@dataclass(frozen=True, slots=True)
class AgentArguments:
    """What an adapter is constructed with."""

    task_description: str
    app_dir: str | None = None
    config_var: Mapping[str, Any] | None = None
    workspace: Path | None = None
    verbose: bool = False


class AgentSession:
    """The agent under test, as the conversation sees it. Make one with `open_session`."""

    def __init__(self, agent: Any, thread: AgentThread | None, *, verbose: bool | None) -> None:
        self.agent = agent
        self._thread = thread
        self._method = agent.get_reply_from_agent
        self._keywords = {} if verbose is None else {"verbose": verbose}
        self._closed = False
        self._hung = False

    @property
    def workspace(self) -> Path | None:
        """Where the agent's files lie."""
        folder = getattr(self.agent, "workspace", None)
        return None if folder is None else Path(folder)

    async def reply(self, message: str, seconds: float) -> Reply:
        """One message to the agent, one reply back.

        Raises:
            AgentTimeout: no reply within `seconds`.
            AgentError: it raised, or returned something that is not a reply.
        """
        try:
            if self._thread is None:
                answer = await within(seconds, self._method(message, **self._keywords))
            else:
                answer = await within(
                    seconds, self._thread.call(lambda: self._method(message, **self._keywords)), leave=True
                )
                if inspect.isawaitable(answer):
                    answer = await within(seconds, answer)
        except TimeoutLeft:
            self._hung = True
            raise AgentTimeout(f"no reply within {seconds:g} s") from None
        except Exception as error:
            raise AgentError(describe(error)) from error
        return as_reply(answer)

    async def close(self) -> str | None:
        """Close the agent, once. Returns what went wrong in it, in words, or None."""
        if self._closed:
            return None
        self._closed = True
        close = getattr(self.agent, "close", None)
        try:
            if close is None:
                return None
            if self._thread is None or inspect.iscoroutinefunction(close):
                answer = close()
            else:
                # A hung agent's own thread will not come back: close it from another, which may well free it.
                thread = AgentThread("agent-close") if self._hung else self._thread
                answer = await within(CLOSE_SECONDS, thread.call(close), leave=True)
                if thread is not self._thread:
                    thread.release()
            if inspect.isawaitable(answer):
                await within(CLOSE_SECONDS, answer)
        except TimeoutLeft:
            return f"close() did not end within {CLOSE_SECONDS:g} s"
        except Exception as error:
            return f"close() failed: {describe(error)}"
        finally:
            if self._thread is not None:
                self._thread.release()
        return None


async def open_session(factory: AgentFactory, arguments: AgentArguments, seconds: float) -> AgentSession:
    """Construct the agent.

    Raises:
        SetupError: the class has no usable `get_reply_from_agent`.
        AgentTimeout: construction took longer than `seconds`.
        AgentError: construction raised.
    """
    check_factory(factory)
    keywords = _arguments_for(factory, arguments)
    method = getattr(factory, "get_reply_from_agent", None)
    thread = None if inspect.iscoroutinefunction(method) else AgentThread("agent")
    try:
        if thread is None:
            agent = factory(**keywords)
        else:
            agent = await within(seconds, thread.call(lambda: factory(**keywords)), leave=True)
    except TimeoutLeft:
        raise AgentTimeout(f"its construction did not end within {seconds:g} s") from None
    except Exception as error:
        if thread is not None:
            thread.release()
        raise AgentError(f"its construction failed: {describe(error)}") from error
    check_factory(agent)
    if getattr(agent, "workspace", None) is None and arguments.workspace is not None:
        agent.workspace = arguments.workspace
    parameters = inspect.signature(agent.get_reply_from_agent).parameters
    return AgentSession(agent, thread, verbose=arguments.verbose if "verbose" in parameters else None)


class TimeoutLeft(Exception):
    """`within` ran out of time. A class of its own, so that an agent's TimeoutError stays the agent's."""


async def within(seconds: float, work: Awaitable[Any], *, leave: bool = False) -> Any:
    """Await `work`, but no longer than `seconds`; what does not heed its cancellation is left behind.

    Args:
        seconds: The limit.
        work: What to wait for.
        leave: `work` is known to be cancellable at once, so no task is spent on it.

    Raises:
        TimeoutLeft: the time was up.
        RuntimeError: the work cancelled itself.
    """
    if leave:
        try:
            async with asyncio.timeout(seconds) as limit:
                return await work
        except TimeoutError:
            if limit.expired():
                raise TimeoutLeft from None
            raise
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait((task,), timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not task.done():
        task.cancel()
        task.add_done_callback(_forget)
        raise TimeoutLeft
    if task.cancelled():
        raise RuntimeError("it cancelled its own task")
    return task.result()


def as_reply(answer: object) -> Reply:
    """What an adapter returned, as a Reply with text that can be stored.

    Raises:
        AgentError: it is neither text nor a Reply.
    """
    if isinstance(answer, str):
        return Reply(storable(answer))
    if isinstance(answer, Reply) and isinstance(answer.text, str):
        text = storable(answer.text)
        return answer if text is answer.text else replace(answer, text=text)
    raise AgentError(f"get_reply_from_agent returned {type(answer).__name__}, not text or a Reply")


def check_factory(agent: Any) -> None:
    """See that an adapter has the one method that it needs.

    Raises:
        SetupError: it has not.
    """
    if not callable(getattr(agent, "get_reply_from_agent", None)) and (isinstance(agent, type) or not callable(agent)):
        name = agent.__name__ if isinstance(agent, type) else type(agent).__name__
        raise SetupError(
            f"{name} has no get_reply_from_agent(message) method, so it cannot be examined. "
            "See docs/write-an-adapter.md."
        )


def describe(error: BaseException) -> str:
    """An exception in words, as the transcript shows it."""
    text = storable(str(error)).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _arguments_for(factory: AgentFactory, arguments: AgentArguments) -> dict[str, Any]:
    offered: dict[str, Any] = {
        "task_description": arguments.task_description,
        "app_dir": arguments.app_dir,
        "config_var": arguments.config_var,
        "workspace": arguments.workspace,
    }
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return {"task_description": arguments.task_description}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return {name: value for name, value in offered.items() if name != "workspace"}
    return {name: offered[name] for parameter in parameters if (name := parameter.name) in offered}


def _forget(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()

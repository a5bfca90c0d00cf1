"""Calls code that is not Viva's own, within a time limit, so that its exceptions affect nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from typing import Any

from viva.adapters.inside.raised import Home, in_short, raised_at, text_of
from viva.adapters.time_limits import TimeLeft, WatchedTime, time_limit
from viva.adapters.turns import give_way
from viva.errors import AgentError
from viva.records.redact import redact
from viva.records.text import counted, storable

HEED_SECONDS = 1.0
"""Maximum time that a cancelled task has to end."""
ERROR_SHOWN = 4000
"""Maximum number of characters of an exception's description in the transcript."""
CANCELLED_ITSELF = "it cancelled its own task"


class TimeoutLeft(Exception):
    """`within` ran out of time. It is a separate class, to distinguish it from a TimeoutError of the agent."""


class LoopBlocked(BaseException):
    """Raised in an agent's code that blocks the event loop. It is not an Exception, so agents rarely catch it."""


IN_AGENT: ContextVar[object] = ContextVar("viva_in_agent", default=None)
"""Identifies the agent to which the running code belongs; None for Viva's own code. Tasks that it starts inherit it."""


def called(function: Callable[[], Any], owner: object = True) -> Any:
    """Call `function` so that whatever it raises becomes an Exception and stops no event loop.

    Args:
        function: Code that is not Viva's own.
        owner: Identifies the agent that it belongs to.

    Raises:
        TimeoutLeft: it blocked the event loop for too long.
        Exception: its own exception, or RuntimeError in place of SystemExit, KeyboardInterrupt or CancelledError.
    """
    token = IN_AGENT.set(owner)
    try:
        return function()
    except LoopBlocked as error:
        raise TimeoutLeft(str(error)) from None
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(in_short(error)) from error
    finally:
        IN_AGENT.reset(token)


async def guarded(work: Awaitable[Any], owner: object = True) -> Any:
    """Await `work`, whose SystemExit or KeyboardInterrupt would otherwise stop the event loop from within a task.

    Cancellation, and the end of an abandoned task, are passed on.

    Args:
        work: The work of code that is not Viva's own.
        owner: Identifies the agent that it belongs to.
    """
    IN_AGENT.set(owner)
    try:
        return await work
    except LoopBlocked as error:
        raise TimeoutLeft(str(error)) from None
    except (Exception, asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        raise RuntimeError(in_short(error)) from error


async def within(seconds: float, work: Awaitable[Any], *, leave: bool = False) -> Any:
    """Await `work`, but no longer than `seconds`; work that ignores its cancellation is abandoned.

    Args:
        seconds: The time limit.
        work: The work to await.
        leave: Whether `work` is known to be cancellable immediately, so that it requires no task.

    Raises:
        TimeoutLeft: the time is up.
        RuntimeError: the work cancelled itself.
    """
    if leave:
        try:
            async with time_limit(seconds) as limit:
                return await work
        except TimeoutError:
            if limit.expired():
                raise TimeoutLeft from None
            raise
    task = work if isinstance(work, asyncio.Future) else asyncio.ensure_future(work)
    if task.done():  # work that waits for nothing needs no timer
        await give_way()
        return _result(task)
    left = TimeLeft(seconds)
    try:
        await _until_done(task, left)
    except asyncio.CancelledError:
        task.cancel()
        task.add_done_callback(_forget)
        raise
    if not task.done():
        task.cancel()
        task.add_done_callback(_forget)
        raise TimeoutLeft
    return _result(task)


async def _until_done(task: asyncio.Future[Any], left: TimeLeft) -> None:
    """Wait until a task is done or the time is up: `asyncio.wait` for one task, which takes twice as long."""
    waiter = asyncio.get_running_loop().create_future()

    def wake(*_: object) -> None:
        if not waiter.done():
            waiter.set_result(None)

    watched = WatchedTime(left, wake)
    task.add_done_callback(wake)
    try:
        await waiter
    finally:
        watched.stop()
        task.remove_done_callback(wake)
        left.over()  # a standstill is noted even if the time was sufficient


def _result(task: asyncio.Future[Any]) -> Any:
    try:
        return called(task.result)
    except RuntimeError as error:
        if task.cancelled():
            raise RuntimeError(CANCELLED_ITSELF) from error
        raise


async def abandon(tasks: Iterable[asyncio.Future[Any]], seconds: float = HEED_SECONDS) -> None:
    """Wait a moment for cancelled tasks to end, and abandon others, because the end of the loop would wait for them.

    See https://docs.python.org/3/library/asyncio-extending.html#task-lifetime-support.
    """
    for task in tasks:
        if not isinstance(task, asyncio.Task) or task.done():
            continue
        await asyncio.wait((task,), timeout=seconds)
        if not task.done():
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            asyncio._unregister_task(task)


def describe(error: BaseException, home: Home | None = None) -> str:
    """Return the description of an exception for the transcript, without secrets and of limited length.

    Args:
        error: The exception.
        home: The location of the agent's own code, for an agent's exception: the text then begins with file and line.
    """
    at = None if home is None else raised_at(error, home)
    # The exception of a connector already is a description.
    kind = None if home is None and isinstance(error, AgentError) else type(error).__name__
    return in_words(kind, text_of(error), at)


def in_words(kind: str | None, text: str | None, at: str | None = None) -> str:
    """Describe an exception that was raised elsewhere, as `describe` does.

    Args:
        kind: The name of its class; None if the text is sufficient.
        text: Its text; None if it cannot be shown.
        at: File and line.
    """
    text = "(its text cannot be shown)" if text is None else redact(storable(text)).strip()
    words = ": ".join(part for part in (at and redact(storable(at)), kind, text) if part)
    if len(words) <= ERROR_SHOWN:
        return words
    # The marker is within the limit, so that a text from another process is not shortened twice.
    kept = ERROR_SHOWN - len(f"… [{counted(len(words), 'more character')}]")
    return f"{words[:kept]}… [{counted(len(words) - kept, 'more character')}]"


def _forget(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()

"""Calls code that is not Viva's own: no longer than agreed, and whatever it raises stops nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from typing import Any

from adapters.errors import AgentError
from adapters.inside.raised import Home, in_short, raised_at, text_of
from adapters.redact import redact
from adapters.time_limits import TimeLeft, time_limit
from records.text import storable

HEED_SECONDS = 1.0
"""How long a task that was cancelled has to end."""
ERROR_SHOWN = 4000
"""Characters of an exception in words that the transcript keeps."""


class TimeoutLeft(Exception):
    """`within` ran out of time. A class of its own, so that an agent's TimeoutError stays the agent's."""


class LoopBlocked(BaseException):
    """Raised into code of an agent's that blocks the event loop. No Exception: clauses for those let it by."""


IN_AGENT: ContextVar[bool] = ContextVar("viva_in_agent", default=False)
"""Whether the code that runs is an agent's; the tasks that it begins inherit it."""


def called(function: Callable[[], Any]) -> Any:
    """Call `function`; whatever it raises comes as an Exception, and stops no event loop.

    Raises:
        TimeoutLeft: it blocked the event loop for too long.
        Exception: its own, or RuntimeError in place of SystemExit, KeyboardInterrupt or CancelledError.
    """
    token = IN_AGENT.set(True)
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


async def guarded(work: Awaitable[Any]) -> Any:
    """Await `work`, whose SystemExit or KeyboardInterrupt would otherwise stop the loop from within a task.

    Cancellation and the end of a task that was struck off pass.
    """
    IN_AGENT.set(True)
    try:
        return await work
    except LoopBlocked as error:
        raise TimeoutLeft(str(error)) from None
    except (Exception, asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        raise RuntimeError(in_short(error)) from error


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
            async with time_limit(seconds) as limit:
                return await work
        except TimeoutError:
            if limit.expired():
                raise TimeoutLeft from None
            raise
    task = asyncio.ensure_future(work)
    left = TimeLeft(seconds)
    try:
        over = False
        while not (over or task.done()):
            await asyncio.wait((task,), timeout=left.step)
            over = left.over()
    except asyncio.CancelledError:
        task.cancel()
        task.add_done_callback(_forget)
        raise
    if not task.done():
        task.cancel()
        task.add_done_callback(_forget)
        raise TimeoutLeft
    try:
        return called(task.result)
    except RuntimeError as error:
        if task.cancelled():
            raise RuntimeError("it cancelled its own task") from error
        raise


async def abandon(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Give cancelled tasks a moment; one that does not heed it is struck off, or the loop's end would wait for it.

    See https://docs.python.org/3/library/asyncio-extending.html#task-lifetime-support.
    """
    for task in tasks:
        if not isinstance(task, asyncio.Task) or task.done():
            continue
        await asyncio.wait((task,), timeout=HEED_SECONDS)
        if not task.done():
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            asyncio._unregister_task(task)


def describe(error: BaseException, home: Home | None = None) -> str:
    """Put an exception into words, as the transcript shows it: without secrets, and of limited length.

    Args:
        error: What was raised.
        home: Where the agent's own code lies, if it was the agent's: the words then begin with file and line.
    """
    at = None if home is None else raised_at(error, home)
    # What a connector raised is words already.
    kind = None if home is None and isinstance(error, AgentError) else type(error).__name__
    return in_words(kind, text_of(error), at)


def in_words(kind: str | None, text: str | None, at: str | None = None) -> str:
    """Describe an exception that was raised elsewhere, as `describe` does.

    Args:
        kind: The name of its class; None where the text says all.
        text: What it says; None if it cannot be shown.
        at: File and line.
    """
    text = "(its text cannot be shown)" if text is None else redact(storable(text)).strip()
    words = ": ".join(part for part in (at and redact(storable(at)), kind, text) if part)
    if len(words) <= ERROR_SHOWN:
        return words
    # The mark lies within the limit, so that words which come through two processes are cut once.
    kept = ERROR_SHOWN - len(f"… [{len(words):,} more characters]")
    return f"{words[:kept]}… [{len(words) - kept:,} more characters]"


def _forget(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()

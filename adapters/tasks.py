"""Keeps agents on Viva's event loop from cancelling what is not theirs: Viva's own tasks, and other agents' replies."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context, copy_context
from functools import lru_cache
from types import CodeType, CoroutineType
from typing import Any, TypeGuard

from viva.adapters.calls import CANCELLED_ITSELF, IN_AGENT, LoopBlocked, TimeoutLeft, guarded
from viva.adapters.inside.raised import in_short
from viva.adapters.turns import give_way, is_turn_over


class OwnTask(asyncio.Task[Any]):
    """A task that Viva started. Code of an agent cannot cancel it, unless it is the task of that agent's own call."""

    owner: object = None
    """The agent whose call this is; None for Viva's own work."""

    def cancel(self, msg: Any | None = None) -> bool:
        """Cancel the task; return False if an agent asks that has no right to."""
        asks = IN_AGENT.get()
        return False if asks and asks is not self.owner else super().cancel(msg)


def protect_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Have a loop make tasks that agents cannot cancel; tasks that agents start stay as they are."""
    loop.set_task_factory(_make)


def _make(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any] | Any, **options: Any) -> asyncio.Future[Any]:
    kind = asyncio.Task if IN_AGENT.get() else OwnTask
    return kind(work, loop=loop, **options)


def start_call(work: Awaitable[Any], owner: object) -> asyncio.Future[Any]:
    """Start the work of an agent's call as a task, and run it until it waits for something for the first time.

    Many agents never wait. Their tasks are done when this returns, without a pass of the event loop.

    Args:
        work: What the agent's method returned.
        owner: Identifies the agent; what runs in this task may cancel it.
    """
    loop = asyncio.get_running_loop()
    if not _is_pythons(loop):
        return _started(loop, work, owner)  # another library's loop, which may hand out first steps in its own way
    return _begun(loop, lambda: _started(loop, work, owner))


def _is_pythons(loop: asyncio.AbstractEventLoop) -> TypeGuard[asyncio.BaseEventLoop]:
    """Return whether a loop is Python's own, and is not making a task at this moment."""
    return isinstance(loop, asyncio.BaseEventLoop) and "call_soon" not in vars(loop)


def _begun(loop: asyncio.BaseEventLoop, make: Callable[[], asyncio.Future[Any]]) -> asyncio.Future[Any]:
    """Make a task, and take its first step."""
    # A task asks its loop once for its first step, while it is made. Python 3.12 can do this itself (`eager_start`).
    first = _FirstStep(loop)
    loop.call_soon = first  # type: ignore[method-assign,assignment]
    try:
        task = make()
    finally:
        del loop.call_soon
    first.take()
    return task


def _started(loop: asyncio.AbstractEventLoop, work: Awaitable[Any], owner: object) -> asyncio.Future[Any]:
    task = loop.create_task(guarded(work, owner))
    if isinstance(task, OwnTask):
        task.owner = owner
    return task


class _FirstStep:
    """Stands in for `loop.call_soon` while a task is made, and takes the task's first step as the loop would."""

    __slots__ = ("_context", "_loop", "_step")

    def __init__(self, loop: asyncio.BaseEventLoop) -> None:
        self._loop = loop
        self._step: Callable[[], object] | None = None
        self._context: Context | None = None

    def __call__(self, step: Callable[..., object], *args: Any, context: Context | None = None) -> object:
        if self._step is not None or not isinstance(getattr(step, "__self__", None), asyncio.Task):
            # Not a task's step: something was freed meanwhile, and asks the loop for a callback.
            return type(self._loop).call_soon(self._loop, step, *args, context=context)
        self._step, self._context = step, context
        return None

    def take(self) -> None:
        """Take the step, if there was one."""
        if self._step is None:
            return
        # The task is the current one while its code runs: agents ask for it, and limit their own time with it.
        caller = asyncio.current_task(self._loop)
        if caller is not None:
            asyncio._leave_task(self._loop, caller)
        try:
            # An empty context is false.
            (copy_context() if self._context is None else self._context).run(self._step)
        finally:
            if caller is not None:
                asyncio._enter_task(self._loop, caller)


def is_coroutine_function(function: object) -> bool:
    """Return what `inspect.iscoroutinefunction` does, which takes ten times as long for most functions and methods."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if isinstance(code, CodeType) and code.co_flags & inspect.CO_COROUTINE:
        return True
    return inspect.iscoroutinefunction(function)


def never_waits(function: object) -> bool:
    """Return whether something is a coroutine function that has nothing to await, as its interface may demand."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return isinstance(code, CodeType) and bool(code.co_flags & inspect.CO_COROUTINE) and _has_no_await(code)


@lru_cache(maxsize=256)
def _has_no_await(code: CodeType) -> bool:
    """Return whether a coroutine of this code runs to its end at its first step."""
    import dis  # here, because most commands call no agent

    return _WAITS.isdisjoint(each.opname for each in dis.get_instructions(code))


_WAITS = frozenset({"SEND", "YIELD_VALUE", "YIELD_FROM", "GET_AWAITABLE", "GET_ANEXT"})
"""The instructions of `await`, `async for` and `async with`, in all versions of Python."""


class _StandIn(OwnTask):
    """The current task of calls that never wait, one after another: it is never done, and only notes a cancellation."""

    was_cancelled = False

    def cancel(self, msg: Any | None = None) -> bool:
        """Note that the call is to be cancelled, if the agent whose call it is asks."""
        if self.owner is None or IN_AGENT.get() is not self.owner:
            return False
        self.was_cancelled = True
        return True


Place = tuple[Any, "asyncio.Task[Any] | None"]
"""A loop that can run work without a task of its own, and the task that is current on it."""


def place_for(work: Awaitable[Any], *, never_waits: bool = False) -> Place | None:
    """Return where `run_through` may run some work, if its code has nothing to wait for; None if it needs a task.

    Args:
        work: What an agent's method returned.
        never_waits: Whether it is known that the work runs to its end at its first step.
    """
    if not never_waits and (type(work) is not CoroutineType or not _has_no_await(work.cr_code)):
        return None
    loop = asyncio.get_running_loop()
    if not _is_pythons(loop) or loop.get_debug():
        return None
    caller = asyncio.current_task(loop)
    # Within such a call, the stand-in is taken.
    return None if isinstance(caller, _StandIn) else (loop, caller)


async def run_through(work: Any, owner: object, place: Place) -> Any:
    """Run work that never waits in a context of its own, as the loop runs the only step of a task; return its result.

    Args:
        work: A coroutine.
        owner: Identifies the agent that it belongs to; what runs in it may cancel it.
        place: What `place_for` has just returned for it.

    Raises:
        TimeoutLeft: it blocked the event loop for too long.
        RuntimeError: it cancelled itself, or it raised SystemExit or KeyboardInterrupt.
        Exception: its own exception.
    """
    loop, caller = place
    stand_in = _stand_in_of(loop)
    stand_in.owner, stand_in.was_cancelled = owner, False
    if caller is not None:
        asyncio._leave_task(loop, caller)
    asyncio._enter_task(loop, stand_in)
    try:
        result = copy_context().run(_only_step, work, owner)
    finally:
        stand_in.owner = None
        asyncio._leave_task(loop, stand_in)
        if caller is not None:
            asyncio._enter_task(loop, caller)
        if is_turn_over():
            await give_way()
    if stand_in.was_cancelled:
        raise RuntimeError(CANCELLED_ITSELF)
    return result


def _only_step(work: Any, owner: object) -> Any:
    """Take the only step of some work, and return its result."""
    IN_AGENT.set(owner)
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    except LoopBlocked as error:
        raise TimeoutLeft(str(error)) from None
    except Exception:
        raise
    except (asyncio.CancelledError, GeneratorExit) as error:
        raise RuntimeError(CANCELLED_ITSELF) from error
    except BaseException as error:
        raise RuntimeError(in_short(error)) from error
    work.close()
    raise RuntimeError("it waits, although its code has nothing to wait for")


def _stand_in_of(loop: asyncio.BaseEventLoop) -> _StandIn:
    """Return the loop's stand-in, which waits for nothing until the loop is gone."""
    found: _StandIn | None = vars(loop).get(_NAME)
    if found is None:
        waits = loop.create_future()

        async def wait() -> None:
            await waits

        made: Any = _begun(loop, lambda: _StandIn(wait(), loop=loop))
        # It is no work of anybody's: nobody waits for it, and nothing is lost when it goes.
        asyncio._unregister_task(made)
        made._log_destroy_pending = False
        setattr(loop, _NAME, made)
        found = made
    return found


_NAME = "_viva_stand_in"

"""Calls of synchronous agents: waited for at once if the agent is quick, and otherwise on the event loop."""

from __future__ import annotations

import asyncio
import gc
import math
import threading
import weakref
from collections.abc import AsyncIterator

import pytest

from viva.adapters import threads, turns
from viva.adapters.calls import TimeoutLeft
from viva.adapters.threads import AgentThread


@pytest.fixture
async def thread(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AgentThread]:
    """A thread whose last call ended at once."""
    monkeypatch.setattr(threads, "QUICK_SECONDS", 60.0)
    made = AgentThread("agent", object())
    await made.call(lambda: None)
    monkeypatch.undo()
    yield made
    made.release()


async def test_a_quick_call_needs_no_pass_of_the_event_loop(
    thread: AgentThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "AT_ONCE_SECONDS", 60.0)
    monkeypatch.setattr(turns, "_turn_ends", math.inf)  # no other work of the loop goes first
    call = thread.call(threading.get_ident)
    with pytest.raises(StopIteration) as ended:
        call.send(None)
    assert ended.value.value != threading.get_ident()


async def test_a_call_that_takes_longer_than_the_last_one_leaves_the_event_loop_to_others(thread: AgentThread) -> None:
    free = threading.Event()
    asyncio.get_running_loop().call_later(0.01, free.set)
    assert await asyncio.wait_for(thread.call(lambda: free.wait(60), 60), 60)


async def test_the_time_limit_holds_after_a_quick_call(thread: AgentThread) -> None:
    free = threading.Event()
    with pytest.raises(TimeoutLeft):
        await thread.call(lambda: free.wait(60), 0.02)
    free.set()
    assert await thread.call(lambda: "still there", 60) == "still there"


async def test_a_cancelled_call_is_abandoned_and_the_next_one_follows_it(thread: AgentThread) -> None:
    free, order = threading.Event(), []
    call = asyncio.create_task(thread.call(lambda: order.append(free.wait(60)), 60))
    await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    free.set()
    await thread.call(lambda: order.append("next"), 60)
    assert order == [True, "next"]


@pytest.mark.parametrize("at_once", [0.0, 60.0], ids=["by the event loop", "at once"])
@pytest.mark.parametrize(
    ("raised", "seen"), [(ValueError("no"), ValueError), (StopIteration(), RuntimeError), (SystemExit(3), RuntimeError)]
)
async def test_exceptions_reach_the_caller_and_nothing_keeps_what_the_call_held(
    thread: AgentThread, monkeypatch: pytest.MonkeyPatch, at_once: float, raised: BaseException, seen: type[Exception]
) -> None:
    class File:
        pass

    held: list[weakref.ref[File]] = []

    def fail() -> None:
        file = File()
        held.append(weakref.ref(file))
        raise raised.with_traceback(None)

    monkeypatch.setattr(threads, "AT_ONCE_SECONDS", at_once)
    gc.disable()
    try:
        with pytest.raises(seen) as error:
            await thread.call(fail)
        assert held[0]() is not None
        del error
        raised.__traceback__ = None
        await thread.call(lambda: None)  # so that the thread is done with the call before
        assert held[0]() is None
    finally:
        gc.enable()

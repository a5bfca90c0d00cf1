"""Calls of agents: the first step runs at once, in a task that is the agent's own in every respect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextvars import Context, ContextVar
from typing import Any

import pytest

from viva.adapters.calls import IN_AGENT, within
from viva.adapters.tasks import OwnTask, never_waits, place_for, protect_tasks, run_through, start_call

OWNER = object()
NOTE: ContextVar[str] = ContextVar("note", default="of Viva")


@pytest.fixture(params=["Viva's loop", "a plain loop", "a loop that somebody changed"])
async def loop(request: pytest.FixtureRequest) -> AsyncIterator[asyncio.AbstractEventLoop]:
    loop = asyncio.get_running_loop()
    if request.param == "Viva's loop":
        protect_tasks(loop)
    if request.param == "a loop that somebody changed":
        loop.call_soon = loop.call_soon  # type: ignore[method-assign]
    yield loop
    loop.set_task_factory(None)
    vars(loop).pop("call_soon", None)


async def call(agent: Callable[[], Coroutine[Any, Any, Any]], seconds: float = 60.0) -> Any:
    work = agent()
    if (place := place_for(work)) is not None:
        return await run_through(work, OWNER, place)
    return await within(seconds, start_call(work, OWNER))


async def test_the_first_step_runs_at_once_and_the_rest_when_the_loop_goes_on() -> None:
    seen = []

    async def agent() -> str:
        seen.append("first")
        await asyncio.sleep(0)
        seen.append("second")
        return "done"

    task = start_call(agent(), OWNER)
    assert seen == ["first"]
    assert not task.done()
    assert await task == "done"
    assert seen == ["first", "second"]


async def test_a_call_has_one_context_from_its_first_step_on_even_if_it_begins_empty() -> None:
    variable: ContextVar[str] = ContextVar("variable")

    async def agent() -> str:
        token = variable.set("mine")
        await asyncio.sleep(0)
        variable.reset(token)  # fails in any other context
        return variable.get("unset")

    work = agent()
    assert await Context().run(lambda: start_call(work, OWNER)) == "unset"


async def test_an_agents_task_is_its_own_before_and_after_it_waits(loop: asyncio.AbstractEventLoop) -> None:
    viva = asyncio.current_task()

    async def agent() -> list[Any]:
        before = asyncio.current_task(), IN_AGENT.get(), NOTE.get()
        token = NOTE.set("of the agent")
        await asyncio.sleep(0)
        after = asyncio.current_task(), IN_AGENT.get(), NOTE.get()
        NOTE.reset(token)
        return [before, after]

    async def at_once() -> Any:
        NOTE.set("of the agent")
        return asyncio.current_task()

    (first, owner, note), (second, same, other) = await call(agent)
    assert first is second is not viva
    assert owner is same is OWNER
    assert (note, other) == ("of Viva", "of the agent")
    assert await call(at_once) not in (viva, first)
    assert asyncio.current_task() is viva
    assert NOTE.get() == "of Viva"
    assert IN_AGENT.get() is None


@pytest.mark.parametrize("waits", [False, True])
async def test_an_agent_that_cancels_its_own_task_ends_its_call_alone(
    loop: asyncio.AbstractEventLoop, waits: bool
) -> None:
    async def agent() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if waits:
            await asyncio.sleep(0)
        return "done"

    with pytest.raises(RuntimeError, match="cancelled its own task"):
        await call(agent)
    viva = asyncio.current_task()
    assert viva is not None
    assert not viva.cancelling()
    await asyncio.sleep(0)


async def test_an_agents_own_time_limits_and_groups_work_from_its_first_step_on(
    loop: asyncio.AbstractEventLoop,
) -> None:
    async def agent() -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(60)
        except TimeoutError:
            pass
        async with asyncio.TaskGroup() as group:
            part = group.create_task(asyncio.sleep(0, "done"))
        with pytest.raises(ExceptionGroup, match="unhandled errors in a TaskGroup"):
            await group_that_fails()
        return part.result()

    async def group_that_fails() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            await asyncio.sleep(60)

    async def fail() -> None:
        raise ValueError

    assert await call(agent) == "done"


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
async def test_whatever_a_first_step_raises_ends_the_call_alone(error: BaseException) -> None:
    async def agent() -> None:
        raise error

    with pytest.raises(type(error) if isinstance(error, ValueError) else RuntimeError):
        await call(agent)
    assert await asyncio.sleep(0, "the loop goes on") == "the loop goes on"


async def test_cancelling_the_caller_cancels_an_agent_that_waits(loop: asyncio.AbstractEventLoop) -> None:
    ended = []

    async def agent() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    caller = asyncio.create_task(call(agent))
    await asyncio.sleep(0.01)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await asyncio.sleep(0)
    assert ended == [True]


async def test_an_agent_cannot_cancel_the_task_that_called_it() -> None:
    protect_tasks(loop := asyncio.get_running_loop())

    async def agent(caller: asyncio.Task[Any] | None) -> str:
        assert caller is not None
        return f"cancelled: {caller.cancel()}"

    async def conversation() -> str:
        caller = asyncio.current_task()
        said = await call(lambda: agent(caller))
        await asyncio.sleep(0)
        return str(said)

    task = asyncio.create_task(conversation())
    assert isinstance(task, OwnTask)
    assert await task == "cancelled: False"
    loop.set_task_factory(None)


async def test_agents_that_never_wait_leave_the_loop_to_others() -> None:
    over = asyncio.Event()
    rounds = [0, 0]

    async def agent() -> str:
        return "at once"

    async def converse(number: int) -> None:
        # Ends only if the timer below gets its turn.
        while not over.is_set():
            await call(agent)
            rounds[number] += 1

    asyncio.get_running_loop().call_later(0.05, over.set)
    await asyncio.gather(converse(0), converse(1))
    assert min(rounds) > 1


async def test_work_without_anything_to_wait_for_needs_no_task() -> None:
    async def at_once() -> str:
        return "done"

    async def waits() -> str:
        return await at_once()

    assert never_waits(at_once)
    assert not never_waits(waits)
    assert not never_waits(asyncio.sleep)
    assert not never_waits(print)
    for agent, needs_none in ((at_once, True), (waits, False)):
        work = agent()
        assert (place_for(work) is not None) is needs_none
        assert await within(60.0, start_call(work, OWNER)) == "done"


async def test_a_call_within_a_call_that_never_waits_has_a_task_of_its_own() -> None:
    async def inner() -> Any:
        return asyncio.current_task()

    async def outer() -> list[Any]:
        work = inner()
        return [asyncio.current_task(), place_for(work), start_call(work, OWNER).result()]

    first, without_task, second = await call(outer)
    assert first is not second
    assert without_task is None


async def test_what_waits_although_it_was_said_not_to_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="it waits"):
        await run_through(asyncio.sleep(0), OWNER, (asyncio.get_running_loop(), asyncio.current_task()))

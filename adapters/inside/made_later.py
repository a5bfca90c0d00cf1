"""Agents that an asynchronous function makes: `async def` that returns one, or that yields one and closes it after."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import frameworks

if TYPE_CHECKING:
    import asyncio  # a quarter of what it takes to start the process of an agent, and most need none of it


def is_made_later(function: Any) -> bool:
    """Return whether a function makes agents asynchronously."""
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def made_later(function: Callable[..., Any]) -> Any:
    """Return a class of agents for a function for which `is_made_later` is true."""
    kept = {key: getattr(function, key, None) for key in ("__doc__", "__module__", "version")}
    name = getattr(function, "__name__", None) or type(function).__name__
    own = {"function": staticmethod(function), "__signature__": inspect.signature(function)}
    return type(name, (_MadeLater,), {**kept, **own})


class _MadeLater:
    """Makes its agent with the first message, on the event loop on which the agent works.

    One task makes it, and later closes it: connections that libraries open in one task must be closed in the same.
    """

    function: Any = None
    workspace: Any = None

    def __init__(self, **given: Any) -> None:
        self.given = given
        self.agent: Any = None
        self.keeper: Any = None
        self.closing: Any = None

    async def get_reply_from_agent(self, message: str) -> Any:
        if self.agent is None:
            self.agent = await self._make()
        answer = self.agent.get_reply_from_agent(message)
        return await answer if inspect.isawaitable(answer) else answer

    async def close(self) -> None:
        try:
            close = getattr(self.agent, "close", None)
            done = None if close is None else close()
            if inspect.isawaitable(done):
                await done
        finally:
            if self.keeper is not None:
                self.closing.set()
                await self.keeper

    async def _make(self) -> Any:
        if inspect.isasyncgenfunction(self.function):
            import asyncio

            made = asyncio.get_running_loop().create_future()
            self.closing = asyncio.Event()
            self.keeper = asyncio.ensure_future(self._keep(made))
            agent = await made
        else:
            agent = await self.function(**self.given)
        agent = frameworks.adopted(agent, {"workspace": self.workspace})
        if not callable(getattr(agent, "get_reply_from_agent", None)):
            raise TypeError(
                f"{type(self).__name__} made {type(agent).__name__}, which has no get_reply_from_agent and is not "
                f"one of the framework objects that need no adapter ({frameworks.KNOWN})"
            )
        return agent

    async def _keep(self, made: asyncio.Future[Any]) -> None:
        """Run the function to its yield, wait for the end of the run, and run the rest."""
        import asyncio

        generator = self.function(**self.given)
        try:
            agent = await generator.__anext__()
        except BaseException as error:
            given_up = isinstance(error, (StopAsyncIteration, asyncio.CancelledError))
            words = f"{type(self).__name__} ended without yielding an agent"
            if not made.done():
                made.set_exception(RuntimeError(words) if given_up else error)
            return
        if not made.done():
            made.set_result(agent)
        await self.closing.wait()
        try:
            await generator.__anext__()
        except StopAsyncIteration:
            return
        raise RuntimeError(f"{type(self).__name__} yielded more than one agent")

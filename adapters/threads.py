"""A thread of its own for each synchronous agent, that can be given up when the agent hangs."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any

from adapters.inside.raised import in_short


class AgentThread:
    """Runs the calls of one agent one after the other, always on the same thread.

    One daemon thread per agent, not a shared pool: many agents keep thread-bound state (event loops, SQLite
    connections), a hung agent then occupies no slot that another could use, and cannot hold up the interpreter's exit.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: queue.SimpleQueue[tuple[asyncio.Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def call(self, function: Callable[[], Any]) -> Any:
        """Run `function` on the thread and return what it returns, or raise what it raises.

        When the awaiting task is cancelled the call is abandoned: it goes on, and nobody hears of it.
        """
        if self._thread is None:
            # What is current at the first call, such as the span of the run, is so in all. One context for all of them:
            # what the agent itself sets in one call stands in the next.
            context = contextvars.copy_context()
            self._thread = threading.Thread(target=context.run, args=(self._work,), name=self._name, daemon=True)
            self._thread.start()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._calls.put((future, function))
        return await future

    def release(self) -> None:
        """Let the thread end once it is idle."""
        self._calls.put(None)

    def _work(self) -> None:
        while (item := self._calls.get()) is not None:
            future, function = item
            try:
                result, error = function(), None
            except BaseException as raised:  # an agent's sys.exit() must not pass for silence
                result, error = None, raised
            try:
                future.get_loop().call_soon_threadsafe(_settle, future, result, error)
            except RuntimeError:
                return  # the loop is closed: nobody waits any more
            # While it waits for the next call, it keeps nothing alive of the last: an agent that failed holds files.
            del item, future, function, result, error


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    elif isinstance(error, Exception) and not isinstance(error, StopIteration):
        future.set_exception(error)
    else:
        # asyncio lets StopIteration, SystemExit and KeyboardInterrupt do other things than end up in a future.
        instead = RuntimeError(in_short(error))
        instead.__cause__ = error
        future.set_exception(instead)

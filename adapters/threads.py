"""One thread for each synchronous agent, which can be abandoned if the agent hangs; and a pool for Viva's own work."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any

from viva.adapters.calls import IN_AGENT
from viva.adapters.inside.raised import in_short
from viva.adapters.machine import MORE_THREADS
from viva.errors import MachineError


class SparingPool(concurrent.futures.ThreadPoolExecutor):
    """A pool in which work waits for a thread where the system allows no further one; the first is started at once."""

    def __init__(self) -> None:
        """Raises:
        RuntimeError: not even one thread can be started.
        """
        super().__init__(thread_name_prefix="viva")
        self.submit(_nothing)

    def _adjust_thread_count(self) -> None:
        try:
            super()._adjust_thread_count()
        except RuntimeError:
            if not self._threads:
                raise


def _nothing() -> None:
    pass


class AgentThread:
    """Runs the calls of one agent one after another, always on the same thread.

    Each agent has a daemon thread instead of a shared pool: many agents have thread-bound state (event loops, SQLite
    connections), and a hung agent occupies no slot of another agent and does not delay the interpreter's exit.
    """

    def __init__(self, name: str, owner: object = None) -> None:
        """Args:
        name: The thread's name.
        owner: Identifies the agent whose code runs there (see `calls.IN_AGENT`); None for code that is not an agent's.
        """
        self._name = name
        self._owner = owner
        self._calls: queue.SimpleQueue[tuple[asyncio.Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def call(self, function: Callable[[], Any]) -> Any:
        """Run `function` on the thread and return its result, or raise its exception.

        If the awaiting task is cancelled, the call is abandoned: it continues, and its result is ignored.

        Raises:
            MachineError: the thread cannot be started.
        """
        if self._thread is None:
            # One context for all calls: they share what is current at the first one, such as the span of the run, and
            # what the agent sets in one call is there in the next.
            context = contextvars.copy_context()
            context.run(IN_AGENT.set, self._owner)
            thread = threading.Thread(target=context.run, args=(self._work,), name=self._name, daemon=True)
            try:
                thread.start()
            except (RuntimeError, MemoryError) as error:
                raise MachineError(f"Viva can start no more threads ({in_short(error)}). {MORE_THREADS}") from error
            self._thread = thread
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
            except BaseException as raised:  # an agent's sys.exit() must not look like a missing reply
                result, error = None, raised
            try:
                future.get_loop().call_soon_threadsafe(_settle, future, result, error)
            except RuntimeError:
                return  # the loop is closed, so nobody waits any longer
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
        # asyncio treats StopIteration, SystemExit and KeyboardInterrupt specially instead of storing them in a future.
        instead = RuntimeError(in_short(error))
        instead.__cause__ = error
        future.set_exception(instead)

"""One thread for each synchronous agent, which can be abandoned if the agent hangs; and a pool for Viva's own work."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from viva.adapters.calls import IN_AGENT, within
from viva.adapters.inside.raised import in_short
from viva.adapters.machine import MORE_THREADS
from viva.adapters.turns import give_way
from viva.errors import MachineError

QUICK_SECONDS = 50e-6
"""Maximum duration of a call that ended at once."""
AT_ONCE_SECONDS = 200e-6
"""How long the event loop waits for a call of an agent whose last call ended at once. Two thread switches take 15 us if
the loop waits for the thread, and 60 us if the thread wakes the loop up. After a slower call, it is the thread's turn
to wake the loop up, so an agent that really works blocks the loop for this long at most once."""


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
        self._calls: queue.SimpleQueue[_ThreadCall | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_quick = False
        """Whether the last call ended at once. The next one probably does so, too."""

    async def call(self, function: Callable[[], Any], seconds: float | None = None) -> Any:
        """Run `function` on the thread and return its result, or raise its exception.

        If the awaiting task is cancelled, the call is abandoned: it continues, and its result is ignored.

        Args:
            function: What to call.
            seconds: The time limit; None for no limit.

        Raises:
            TimeoutLeft: the time is up; the call is abandoned.
            MachineError: the thread cannot be started.
        """
        if self._thread is None:
            self._start()
        call = _ThreadCall(function)
        try:
            if self._is_quick and (seconds is None or seconds > AT_ONCE_SECONDS):
                self._calls.put(call)
                if call.ends_at_once():
                    await give_way()
                    return call.result()
                ending = call.ending()
            else:
                ending = call.ending()
                self._calls.put(call)
            await (ending if seconds is None else within(seconds, ending, leave=True))
            return call.result()
        finally:
            del call  # an error's frames would hold the call, which holds the error

    def release(self) -> None:
        """Let the thread end once it is idle."""
        self._calls.put(None)

    def _start(self) -> None:
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

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            began = time.perf_counter()
            try:
                call.value = call.function()
            except BaseException as raised:  # an agent's sys.exit() must not look like a missing reply
                call.error = raised
            self._is_quick = time.perf_counter() - began < QUICK_SECONDS
            if not call.end():
                return
            del call  # while it waits for the next call, it keeps nothing alive: an agent that failed holds files


class _ThreadCall:
    """One call, its result, and how its caller learns that it has ended."""

    __slots__ = ("_ended", "_future", "_waits", "error", "function", "value")

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.value: Any = None
        self.error: BaseException | None = None
        self._ended = False
        self._waits = threading.Lock()
        """Held until the call has ended, where the caller waits for it without the event loop."""
        self._waits.acquire()
        self._future: asyncio.Future[None] | None = None

    def ends_at_once(self) -> bool:
        """Wait for the end without the event loop, for a moment; return whether the call has ended."""
        self._waits.acquire(timeout=AT_ONCE_SECONDS)
        return self._ended

    def ending(self) -> asyncio.Future[None]:
        """Return a future that is done when the call has ended."""
        self._future = future = asyncio.get_running_loop().create_future()
        # The call's thread sets the one and reads the other in the opposite order, so one of the two sees both.
        if self._ended:
            _settle(future)
        return future

    def end(self) -> bool:
        """Tell the caller that the call has ended; return False if its event loop is closed."""
        self._ended = True
        self._waits.release()
        if self._future is not None:
            try:
                self._future.get_loop().call_soon_threadsafe(_settle, self._future)
            except RuntimeError:
                return False
        return True

    def result(self) -> Any:
        """Return the result of a call that has ended, or raise its exception."""
        error = self.error
        if error is None:
            return self.value
        try:
            if isinstance(error, Exception) and not isinstance(error, StopIteration):
                raise error
            # A coroutine cannot raise StopIteration, and SystemExit and KeyboardInterrupt would stop the event loop.
            raise RuntimeError(in_short(error)) from error
        finally:
            del error


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)

"""Ready processes: they have imported an agent's module, so that a run need not wait for the import.

Where it is safe, one such process is forked for each run. Where it is not (the import left threads, processes or open
files, or the system is not Linux), each run gets a process of its own, the next of which is started ahead.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from viva.adapters.connectors.child.leftovers import MARK
from viva.adapters.connectors.child.process import ChildProcess
from viva.adapters.connectors.child.spawn import TRACE_PARENT, Spawned, environment, fork, starting
from viva.adapters.connectors.child.supervised import UP_SECONDS, ChildEnded
from viva.errors import AgentError, SetupError

MOST_AGENTS = 8
"""Maximum number of agents with ready processes at a time: each takes memory."""
OF_A_RUN = frozenset({TRACE_PARENT, MARK})
"""The variables that each run has of its own."""

StartAhead = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A ready process, and where it was started."""

    spawned: Spawned
    folder: str | None
    environment: dict[str, str]


class ReadyProcesses:
    """The ready processes of one agent. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._to_fork: _Waiting | None = None
        self._ahead: list[_Waiting] = []
        self._missed = False
        """Whether a run had to wait for a process; from then on they are started ahead."""
        self._starting: set[asyncio.Task[None]] = set()
        self._releases = 0
        self._viva = os.getpid()
        self._end = weakref.finalize(self, _end_all, self._ahead)

    def keep(self, child: ChildProcess, *, forks: bool, folder: str | None, started_with: dict[str, str]) -> None:
        """Keep a process that has imported the module.

        Args:
            child: The process.
            forks: Whether it may be forked.
            folder: The current folder in which it was started.
            started_with: The environment with which it was started.
        """
        if forks:
            child.spare_runs()
        waiting = _Waiting(child.detach(), folder, started_with)
        _note_use(self)
        with self._lock:
            self._ahead.append(waiting)  # also the one to fork: what is in the list is ended with this object
            if forks:
                self._to_fork, old = waiting, self._to_fork
                if old is not None:
                    self._discard(old)

    async def take(self, start_ahead: StartAhead) -> ChildProcess | None:
        """Return a process for a run; None if none is ready.

        Args:
            start_ahead: Starts another process and keeps it, as long as this event loop runs.
        """
        if os.getpid() != self._viva:
            return None
        with self._lock:
            waiting = self._to_fork
            if waiting is None and self._ahead:
                waiting = self._ahead.pop(0)
        if waiting is None:
            return None
        _note_use(self)
        if waiting.folder != _current_folder() or not _is_current(waiting.environment):
            # The import may have looked at either: an address in a variable, a file beside it.
            await asyncio.to_thread(self._drop, waiting)
            return None
        forks = waiting is self._to_fork
        child = await (self._forked(waiting) if forks else self._begun(waiting))
        if child is None:
            await asyncio.to_thread(self._drop, waiting)
        elif not forks and self._missed:
            self.start_ahead(start_ahead)
        return child

    @property
    def can_fork(self) -> bool:
        """Return whether there is a process that can be forked."""
        return self._to_fork is not None

    def release(self) -> None:
        """End all processes that are ready or being started; runs continue."""
        for task in list(self._starting):
            with contextlib.suppress(RuntimeError):  # its loop is closed, and has cancelled it
                task.get_loop().call_soon_threadsafe(task.cancel)
        with self._lock:
            self._releases += 1
            self._to_fork = None
            _end_all(self._ahead)

    def start_ahead(self, start_ahead: StartAhead) -> None:
        """Start a process for the next run, now that a run had to wait for its own; as many as there are cores."""
        self._missed = True
        if len(self._starting) + len(self._ahead) >= (os.cpu_count() or 2):
            return

        releases = self._releases

        async def start() -> None:
            with contextlib.suppress(AgentError, SetupError):  # the run that needs it will say why
                await start_ahead()
            with self._lock:
                if self._releases != releases:  # too late to be cancelled, and nobody would end it any more
                    self._to_fork = None
                    _end_all(self._ahead)

        task = asyncio.create_task(start())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _forked(self, waiting: _Waiting) -> ChildProcess | None:
        async with starting():  # more at once would only wait for each other
            try:
                child = ChildProcess(fork(waiting.spawned, _changes(waiting.environment)))
            except OSError:
                return None
            try:
                if await child.is_up():
                    return child
            except asyncio.CancelledError:
                await child.end()
                raise
            child.abandon()
            return None

    async def _begun(self, waiting: _Waiting) -> ChildProcess | None:
        child = ChildProcess(waiting.spawned)
        try:
            async with asyncio.timeout(UP_SECONDS):
                await child.ask("begin_run", **_changes(waiting.environment))
            return child
        except (ChildEnded, TimeoutError):
            await child.end()
            return None
        except asyncio.CancelledError:
            await child.end()
            raise

    def _drop(self, waiting: _Waiting) -> None:
        with self._lock:
            if self._to_fork is waiting:
                self._to_fork = None
            self._discard(waiting)

    def _discard(self, waiting: _Waiting) -> None:
        with contextlib.suppress(ValueError):
            self._ahead.remove(waiting)
        _end_all([waiting])


def started_in() -> dict[str, Any]:
    """Return where and with what a process is started now, for `ReadyProcesses.keep`."""
    return {"folder": _current_folder(), "started_with": environment()}


def _is_current(before: dict[str, str]) -> bool:
    """Return whether the environment is unchanged, apart from the variables of each run."""
    return {name: value for name, value in before.items() if name not in OF_A_RUN} == {
        name: value for name, value in os.environ.items() if name not in OF_A_RUN
    }


def _changes(before: dict[str, str]) -> dict[str, Any]:
    """Return what has changed in the environment."""
    now = environment()
    return {
        "set": {name: value for name, value in now.items() if before.get(name) != value},
        "unset": [name for name in before if name not in now and name != MARK],
    }


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def _end_all(waiting: list[_Waiting]) -> None:
    """End ready processes, and wait until their supervisors are gone."""
    ended = [each.spawned for each in waiting]
    waiting.clear()
    for spawned in ended:
        spawned.close()
    for spawned in ended:
        spawned.wait()


_used: OrderedDict[int, weakref.ref[ReadyProcesses]] = OrderedDict()
_used_lock = threading.Lock()


def _note_use(processes: ReadyProcesses) -> None:
    """Note which agent was used last, and end the processes of the one that was not used for the longest time."""
    with _used_lock:
        _used[id(processes)] = weakref.ref(processes)
        _used.move_to_end(id(processes))
        oldest = _used.popitem(last=False)[1]() if len(_used) > MOST_AGENTS else None
    if oldest is not None:
        oldest.release()

"""Starts the workers of a suite, adds them to the pool when they are ready, and replaces those that are lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol

from viva.errors import SetupError
from viva.records.text import one_line
from viva.sandbox import SandboxError, SandboxUnavailable
from viva.suites.on_ray.border import Link, LinkLost, Plain, pack
from viva.suites.on_ray.pool import WorkerPool
from viva.suites.on_ray.remote_worker import RemoteWorker
from viva.suites.on_ray.shares import Share

START_SECONDS = 120.0
"""Maximum wait for a worker while there is no other: on a busy cluster, other work must end first."""
OTHERS_SECONDS = 20.0
"""Maximum wait for the other workers after the first; later ones join while the suite runs."""
LOSSES_IN_A_ROW = 5
"""Maximum number of workers that are replaced although no job was done in between."""


class PlacedLink(Link, Protocol):
    """A link to a worker that tells where it is."""

    async def place(self) -> str:
        """Wait until the worker runs, and return the id of its node.

        Raises:
            LinkLost: it cannot be started.
        """
        ...


class Places(Protocol):
    """Where workers can be started. `connect`, `slots` and `close` may block, so they are called on a thread."""

    def connect(self, staged: Path, *, cpus: int | None = None) -> None:
        """Connect, so that the workers have a folder with this content as their working directory.

        Raises:
            SetupError: that is not possible.
        """
        ...

    def slots(self) -> tuple[int, int]:
        """Return how many workers there may be, and how many of them may have a sandbox."""
        ...

    def close(self) -> None:
        """Leave; all workers end."""
        ...

    def start_worker(self, *, checks: bool) -> PlacedLink:
        """Start a worker in a free slot."""
        ...

    def node_names(self) -> dict[str, str]:
        """Return the name of each node by its id."""
        ...


class NotOpened(Exception):
    """A worker could not build what the jobs require, or could not be started."""

    def __init__(self, node: str, words: str, kind: str, remedy: str = "") -> None:
        super().__init__(words)
        self.node, self.words, self.kind, self.remedy = node, words, kind, remedy


@dataclass(frozen=True, slots=True)
class _Opened:
    link: Link
    node: str
    share: Share
    notices: Sequence[str]


class Staff:
    """The workers of one suite. All methods are called on one event loop."""

    def __init__(self, places: Places, setup: Mapping[str, Plain]) -> None:
        """Args:
        places: Where workers are started.
        setup: What all workers need to know, as `NodeWorker.open` takes it, without the node's name.
        """
        self.notices: list[str] = []
        self.pool: WorkerPool | None = None
        self.note: Callable[[str], None] = self.notices.append
        """Tells the user something; replaced when the suite runs."""
        self._places, self._setup = places, dict(setup)
        self._names: dict[str, str] = {}
        self._starting: dict[asyncio.Task[_Opened], Share] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._shares: dict[RemoteWorker, Share] = {}
        self._told: set[tuple[str, str]] = set()
        self._losses = self._done_before = 0
        self._closing = False

    async def hire(self, shares: Sequence[Share]) -> None:
        """Start workers, and wait until there are enough to begin.

        Raises:
            SetupError: none can do the jobs, and the user must change something.
            SandboxError: none can run checks.
        """
        for share in shares:
            self._starting[asyncio.create_task(self._start(share))] = share
        failed: list[NotOpened] = []
        left = set(self._starting)
        seconds: float = START_SECONDS
        wanted = {share.checks for share in shares}
        while left and seconds:
            done, left = await asyncio.wait(left, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            failed += [error for task in done if isinstance(error := task.exception(), NotOpened)]
            wanted -= {self._starting[task].checks for task in done if task.exception() is None}
            seconds = 0.0 if not done else (START_SECONDS if wanted else OTHERS_SECONDS)
        if wanted and not any(self._starting[task].checks in wanted for task in left):
            _refuse(failed)
        if wanted:
            raise SetupError(
                f"the Ray cluster gave no slot within {START_SECONDS:g} s: other work takes them all (ray status)."
            )
        for error in failed:
            self._tell(error.node, f"the node {error.node} does not take part: {error.words}")

    def employ(self, pool: WorkerPool) -> None:
        """Add the workers that are ready to a pool, and the others when they are."""
        self.pool = pool
        for task in list(self._starting):
            if task.done():
                del self._starting[task]
                if task.exception() is None:
                    self._add(task.result())
            else:
                self._await(task)

    async def dismiss(self) -> None:
        """End all workers."""
        self._closing = True
        for task in (*self._starting, *self._tasks):
            task.cancel()
        await asyncio.gather(*self._starting, *self._tasks, return_exceptions=True)
        opened = [task.result() for task in self._starting if not task.cancelled() and task.exception() is None]
        workers = [RemoteWorker(each.link, each.node, 1, checks=False) for each in opened]
        workers += [] if self.pool is None else self.pool.workers
        await asyncio.gather(*(worker.close() for worker in workers), return_exceptions=True)

    async def _start(self, share: Share) -> _Opened:
        """Start a worker and have it build what its jobs require.

        Raises:
            NotOpened: it cannot.
        """
        node, link = "?", None
        try:
            link = await asyncio.to_thread(self._places.start_worker, checks=share.checks)
            place = await link.place()
            if place not in self._names:
                self._names = await asyncio.to_thread(self._places.node_names)
            node = self._names.get(place, place)
            found = await link.call("open", pack(share.order), {**self._setup, "node": node})
            if "error" in found:
                raise NotOpened(node, str(found["error"]), str(found["kind"]), str(found.get("remedy", "")))
            return _Opened(link, node, share, [str(notice) for notice in found["notices"]])
        except BaseException as error:
            if link is not None:
                link.kill()
            if isinstance(error, NotOpened) or not isinstance(error, Exception):
                raise
            # Whatever it is, it is this worker's: the jobs must learn that they need not wait for it.
            words = str(error) if isinstance(error, LinkLost) else f"{type(error).__name__}: {error}"
            raise NotOpened(node, one_line(words, 500), "lost") from error

    def _add(self, opened: _Opened) -> None:
        assert self.pool is not None
        worker = RemoteWorker(opened.link, opened.node, opened.share.places, checks=opened.share.checks)
        worker.on_lost = self._lost
        self._shares[worker] = opened.share
        self.pool.workers.append(worker)
        worker.listen()
        for notice in opened.notices:
            self._tell("", notice)

    def _await(self, starting: asyncio.Task[_Opened]) -> None:
        """Add a worker when it is ready; the jobs hope for it for a limited time only."""
        pool = self.pool
        assert pool is not None
        pool.expected += 1

        async def wait() -> None:
            late = False
            try:
                await asyncio.wait({starting}, timeout=START_SECONDS)
                if not starting.done():
                    late = True
                    pool.expected -= 1
                    await pool.changed()
                    await asyncio.wait({starting})
                self._starting.pop(starting, None)
                self._add(starting.result())
            except NotOpened as error:
                if error.kind != "lost":
                    self._tell(error.node, f"the node {error.node} does not take part: {error.words}")
            finally:
                # Only now: between the two, jobs without another worker would find that none is left.
                pool.expected -= not late
                await pool.changed()

        self._keep(asyncio.create_task(wait()))

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _lost(self, worker: RemoteWorker) -> None:
        """Replace a worker that was lost."""
        pool = self.pool
        if self._closing or pool is None:
            return
        pool.workers.remove(worker)
        share = self._shares.pop(worker)
        self._losses = 1 if pool.done > self._done_before else self._losses + 1
        self._done_before = pool.done
        self._tell(worker.node, f"a worker on the node {worker.node} was lost; its unfinished runs are tried elsewhere")
        self._keep(asyncio.create_task(pool.changed()))
        if self._losses <= LOSSES_IN_A_ROW + len(pool.workers):
            self._starting[starting := asyncio.create_task(self._start(share))] = share
            self._await(starting)

    def _tell(self, node: str, words: str) -> None:
        """Notify the user of something once."""
        if (node, words) not in self._told:
            self._told.add((node, words))
            self.note(words)


def _refuse(failed: Sequence[NotOpened]) -> NoReturn:
    """Raise what the workers said, as the engine of one process would."""
    words = list(dict.fromkeys(error.words for error in failed))
    nodes = ", ".join(dict.fromkeys(error.node for error in failed))
    text, kind = "\n".join(words[:3]) + f" (on the node {nodes})", failed[0].kind if failed else "setup"
    if kind == "unavailable":
        raise SandboxUnavailable(text, failed[0].remedy)
    if kind == "sandbox":
        raise SandboxError(text)
    if kind == "lost":
        text = f"no worker could be started on the Ray cluster: {text}. Is vivavoce[ray] installed on all nodes?"
    raise SetupError(text)

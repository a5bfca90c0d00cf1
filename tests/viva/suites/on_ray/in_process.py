"""Workers of a cluster without a cluster: each is in this process, behind the same border, and can be lost at will."""

from __future__ import annotations

import asyncio
import copy
from pathlib import Path
from typing import Any

from viva.suites.on_ray.border import LinkLost, Plain, require_plain
from viva.suites.on_ray.node import NodeWorker


class InProcess:
    """A `Link` to a worker in this process."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.worker = NodeWorker()
        self.calls: list[str] = []
        self.killed = False
        self._lost = asyncio.Event()

    async def place(self) -> str:
        """The node's name is its id, too."""
        return self.node

    async def call(self, method: str, *arguments: Plain) -> Plain:
        """Call the worker; both ways, what is sent is checked and copied."""
        self.calls.append(method)
        require_plain(list(arguments))
        answer = asyncio.ensure_future(getattr(self.worker, method)(*copy.deepcopy(arguments)))
        lost = asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait({answer, lost}, return_when=asyncio.FIRST_COMPLETED)
            if self._lost.is_set():
                raise LinkLost
            result = answer.result()
            require_plain(result)
            return copy.deepcopy(result)
        finally:
            for each in (answer, lost):
                each.cancel()
            await asyncio.gather(answer, lost, return_exceptions=True)

    def lose(self) -> None:
        """The worker's process dies: nobody hears of it any more, and nothing of it runs on."""
        self._lost.set()
        for task in list(self.worker._tasks.values()):
            task.cancel()

    def kill(self) -> None:
        """End it."""
        self.killed = True
        self._lost.set()


class InProcessPlaces:
    """A cluster with a slot on each of these nodes; the first ones have a sandbox. Lost workers come back elsewhere."""

    def __init__(self, *nodes: str, sandboxes: int | None = None) -> None:
        self.nodes = nodes
        self.links: list[InProcess] = []
        self._sandboxes = len(nodes) if sandboxes is None else sandboxes

    def connect(self, staged: Path, *, cpus: int | None = None) -> None:
        """There is nothing to connect to."""

    def slots(self) -> tuple[int, int]:
        """One for each node."""
        return len(self.nodes), self._sandboxes

    def close(self) -> None:
        """There is nothing to leave."""

    def start_worker(self, **_: Any) -> InProcess:
        """Start a worker on the next node."""
        self.links.append(InProcess(self.nodes[len(self.links) % len(self.nodes)]))
        return self.links[-1]

    def node_names(self) -> dict[str, str]:
        """The names are the ids."""
        return {node: node for node in self.nodes}

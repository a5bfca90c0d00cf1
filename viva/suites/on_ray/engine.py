"""The engine that runs jobs on a Ray cluster: one actor per slot, with warm resources, and the driver's journal."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from viva.exam.last_words import forget_last_words
from viva.journal.writer import Journal
from viva.suites.job import WorkOrder
from viva.suites.on_ray.cluster import Cluster, require_ray, take_signals_back
from viva.suites.on_ray.pool import WorkerPool
from viva.suites.on_ray.shares import needs_sandbox_of, share_out
from viva.suites.on_ray.staff import Places, Staff
from viva.suites.on_ray.staging import remove, stage
from viva.version import viva_version


class RayEngine:
    """Runs all jobs on the workers of a Ray cluster."""

    def __init__(self, address: str | None = None, workers: int | None = None, cluster: Places | None = None) -> None:
        """Args:
        address: `HOST:PORT` of the cluster's head, `auto`, or `local`; None stands for RAY_ADDRESS, or else `local`.
        workers: Maximum number of workers; None stands for the cluster's CPUs.
        cluster: Replaces Ray.

        Raises:
            SetupError: Ray is not installed.
        """
        if cluster is None:
            require_ray()
        self._cluster = cluster or Cluster(address)
        self._most = workers
        self._staged: Path | None = None
        self._staff: Staff | None = None

    @property
    def notices(self) -> Sequence[str]:
        """Return what the user should know before the first job."""
        return () if self._staff is None else self._staff.notices

    async def open(self, order: WorkOrder, journal: Callable[[], Journal]) -> WorkerPool:
        """Connect to the cluster and start workers on it; then open the journal, and return the workers.

        Raises:
            SetupError: the user must change something; no journal was opened.
            SandboxError: no node can run checks.
            JournalError: the journal cannot be written.
        """
        needs_sandbox = needs_sandbox_of(order)
        self._staged = Path(tempfile.mkdtemp(prefix="viva-staged-"))
        staged_order, staging = await asyncio.to_thread(stage, order, self._staged)
        await asyncio.to_thread(self._cluster.connect, self._staged, cpus=self._most)
        take_signals_back()
        # Ray has a copy now; what is removed at once is not left when this process is killed.
        await asyncio.to_thread(remove, self._staged)
        slots = await asyncio.to_thread(self._cluster.slots)
        shares = share_out(staged_order, needs_sandbox, slots, self._most)
        self._staff = Staff(self._cluster, {"version": viva_version(), **staging.plain()})
        await self._staff.hire(shares)
        options, opened = order.options, journal()
        forget_last_words(
            opened.folder
        )  # last words of the process that is being resumed; here, agents run on the nodes
        pool = WorkerPool(opened, order.cases, max(2, options.attempts), needs_sandbox, options.workspaces)
        self._staff.employ(pool)
        return pool

    def notify(self, note: Callable[[str], None]) -> None:
        """Call `note` from now on with what happens to the workers."""
        if self._staff is not None:
            self._staff.note = note

    async def close(self) -> None:
        """End the workers, and leave the cluster."""
        if self._staff is not None:
            await self._staff.dismiss()
        await asyncio.to_thread(self._cluster.close)
        if self._staged is not None:
            await asyncio.to_thread(remove, self._staged)

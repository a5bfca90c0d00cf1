"""Keeps agents on Viva's event loop from cancelling what is not theirs: Viva's own tasks, and other agents' replies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any

from viva.adapters.calls import IN_AGENT, guarded


class OwnTask(asyncio.Task[Any]):
    """A task that Viva started. Code of an agent cannot cancel it, unless it is the task of that agent's own call."""

    owner: object = None
    """Whose call this is; None for Viva's own work."""

    def cancel(self, msg: Any | None = None) -> bool:
        """Cancel the task; return False if an agent asks that has no right to."""
        asks = IN_AGENT.get()
        return False if asks and asks is not self.owner else super().cancel(msg)


def protect_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Have a loop make tasks that agents cannot cancel; tasks that agents start stay as they are."""
    loop.set_task_factory(_make)


def _make(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any] | Any, **options: Any) -> asyncio.Future[Any]:
    kind = asyncio.Task if IN_AGENT.get() else OwnTask
    return kind(work, loop=loop, **options)


def start_call(work: Awaitable[Any], owner: object) -> asyncio.Future[Any]:
    """Start the work of an agent's call as a task.

    Args:
        work: What the agent's method returned.
        owner: Identifies the agent; what runs in this task may cancel it.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(guarded(work, owner))
    if isinstance(task, OwnTask):
        task.owner = owner
    return task

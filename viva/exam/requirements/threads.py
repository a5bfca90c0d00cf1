"""Checks before a suite that the system allows the threads, processes and memory that the concurrency requires."""

from __future__ import annotations

import _thread
import contextlib
import time
from collections.abc import Iterable

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.machine import MORE_THREADS, is_memory_free
from viva.errors import SetupError
from viva.exam.options import Options

OWN = 6
"""Threads that Viva always needs: its watch of the event loop, progress, signals, sinks."""
POOL = 2
"""Threads of the pool for Viva's own work without which everything would take very long."""
OF_A_RUN = {"python": 1, "example": 0, "replay": 0, "http": 0, "child": 4, "cmd": 4}
"""Threads and processes of one conversation, by the kind of connector; a plugin's connector counts as the largest."""
OF_A_SANDBOX = 4
END_SECONDS = 1.0
"""Maximum time that the threads have to end which were started to see how many there may be."""


def check_threads(options: Options, agents: Iterable[LoadedAgent], *, sandbox: bool) -> None:
    """Check, by starting them, that there is room for the threads and processes that the concurrency requires.

    The limits (`ulimit -u`, the pids limit of a container, `ulimit -v`) count both alike, and what else counts towards
    them cannot be known.

    Args:
        options: They hold the maximum numbers of concurrent conversations and sandboxes.
        agents: The agents under test.
        sandbox: Whether checks run in a sandbox.

    Raises:
        SetupError: there is not enough room; the message says how many conversations fit.
    """
    each = max((OF_A_RUN.get(agent.kind, max(OF_A_RUN.values())) for agent in agents), default=0)

    def needs(concurrency: int) -> int:
        sandboxes = min(options.sandboxes, concurrency) if sandbox else 0
        return OWN + POOL + OF_A_SANDBOX * sandboxes + each * concurrency

    needed = needs(options.concurrency)
    started = _started(needed)
    if started < needed:
        fits = next((fewer for fewer in range(options.concurrency - 1, 0, -1) if needs(fewer) <= started), None)
        advice = f"--concurrency {fits} fits. " if fits else ""
        raise SetupError(
            f"--concurrency {options.concurrency} requires about {needed:,} threads and processes, and this system "
            f"allows {started:,} more: {advice}{MORE_THREADS}"
        )
    if not is_memory_free():
        raise SetupError("there is not enough memory for a suite (ulimit -v, or the limit of the container).")


def _started(number: int) -> int:
    """Start so many threads at the same time, or as many as the system allows; return how many that are.

    `threading.Thread.start` would wait forever for a thread that has no memory to begin with.
    """
    over, count, ended = _thread.allocate_lock(), 0, list[int]()

    def run(place: int) -> None:
        with over:
            ended.append(place)

    with over, contextlib.suppress(RuntimeError, MemoryError):
        for place in range(number):
            _thread.start_new_thread(run, (place,))
            count += 1
    until = time.monotonic() + END_SECONDS
    while len(ended) < count and time.monotonic() < until:
        time.sleep(0.001)
    return count

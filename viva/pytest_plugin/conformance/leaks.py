"""Checks over many sessions: that nothing is left behind, and that memory stays flat."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

from viva.pytest_plugin.conformance.expectation import Differs, DoesNotApply, expect
from viva.pytest_plugin.conformance.footprint import Footprint, can_measure, measure, shown_process
from viva.pytest_plugin.conformance.subject import CheckedAgent

USUAL = 1_000
"""Sessions of an agent with the conformance commands, unless the command line says how many."""
USUAL_OF_OTHERS = 20
"""Sessions of another agent, whose replies may take long and cost something."""
SECONDS = 90.0
"""After this time, no more sessions are opened, unless the command line says how many."""
AT_ONCE = 4
BATCHES = 3
OF_A_BATCH, OF_A_SESSION = 2 << 20, 2 << 10
"""Bytes by which the memory may grow: over a batch of sessions, and more for each of them."""
FEWEST = 5
COUNTS = ("processes", "descriptors", "threads")
LOOK_SECONDS, SAME_LOOKS, SETTLED_LOOKS = 0.1, 5, 30
"""Between two measurements, how many must agree, and how many there are at most."""


async def leaves_nothing_behind(subject: CheckedAgent) -> None:
    """After sessions that follow each other, there are no more processes, descriptors and threads than before."""
    _measurable()
    held = await subject.processes_without_ready()
    await _sessions(subject, 2, time.monotonic() + 2 * subject.demands.reply_seconds)
    looks = [await _settled(subject)]
    for _ in range(BATCHES):
        await _sessions(subject, FEWEST, time.monotonic() + FEWEST * subject.demands.reply_seconds)
        looks.append(await _settled(subject, looks[-1]))
        if not _has_grown(looks[-1], looks[-2]):
            break
    else:
        for what in COUNTS:
            _flat(what, looks, FEWEST)
    # What the connector keeps ready is counted above. Without that, each process is one that a session has left.
    left = await subject.processes_without_ready(held)
    expect(not left, "no process of a closed session", "; ".join(map(shown_process, sorted(left))))


async def stays_flat(subject: CheckedAgent) -> str:
    """Memory, descriptors, threads and processes do not grow with the number of sessions."""
    _measurable()
    usual = USUAL if await subject.words() else USUAL_OF_OTHERS
    wanted = subject.demands.sessions or usual
    until = time.monotonic() + (SECONDS if subject.demands.sessions is None else float("inf"))
    # The first sessions fill caches and pools.
    first = await _sessions(subject, max(FEWEST, wanted // 10), until)
    done, batch = first, max(FEWEST, (wanted - first) // BATCHES)
    looks = [await _settled(subject)]
    for _ in range(BATCHES):
        count = await _sessions(subject, batch, until)
        if count < FEWEST:
            break
        done += count
        looks.append(await _settled(subject, looks[-1]))
        batch = min(batch, count)
    if len(looks) < 2:
        raise DoesNotApply(
            f"it is too slow: {done} sessions took {SECONDS:g} s; say how many with --viva-conformance-sessions"
        )
    for what in (*COUNTS, "memory"):
        _flat(what, looks, batch)
    return f"{done:,} sessions"


def _measurable() -> None:
    if not can_measure():
        raise DoesNotApply("what processes hold can only be measured on Linux")


async def _sessions(subject: CheckedAgent, count: int, until: float) -> int:
    """Open, ask and close sessions, a few at once; return how many there were when the time was up."""
    question, left, done = await subject.question(), count, 0

    async def some() -> None:
        nonlocal left, done
        while left > 0 and time.monotonic() < until:
            left -= 1
            async with subject.talk() as talk:
                await talk.say(question)
            done += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(some())
    return done


async def _settled(subject: CheckedAgent, before: Footprint | None = None) -> Footprint:
    """Measure when processes, threads and descriptors that are about to be released have been: nothing has changed for
    a while, or there are no more than before.

    Raises:
        Differs: processes of closed sessions remain.
    """
    await subject.nothing_runs()
    found, unchanged = measure(subject.mark), 0
    for _ in range(SETTLED_LOOKS):
        if unchanged == SAME_LOOKS or (before is not None and not _has_grown(found, before)):
            break
        await asyncio.sleep(LOOK_SECONDS)
        last, found = found, measure(subject.mark)
        unchanged = unchanged + 1 if all(found.figure(what) == last.figure(what) for what in COUNTS) else 0
    return found


def _has_grown(later: Footprint, earlier: Footprint) -> bool:
    return any(later.growth(what, earlier) > 0 for what in COUNTS)


def _flat(what: str, looks: list[Footprint], batch: int) -> None:
    """Check that one figure does not grow in each batch: what grows once and no more is a cache or a pool.

    Raises:
        Differs: it does.
    """
    growth = min(later.growth(what, earlier) for earlier, later in pairwise(looks))
    allowed = OF_A_BATCH + OF_A_SESSION * batch if what == "memory" else 0
    if growth > allowed:
        figures = [look.figure(what) for look in looks]
        shown = ", ".join(f"{figure / 2**20:.1f} MiB" if what == "memory" else str(figure) for figure in figures)
        raise Differs(f"{what} stay flat over {batch} sessions", f"{shown} (after each batch of sessions)")

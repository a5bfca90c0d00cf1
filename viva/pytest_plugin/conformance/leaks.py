"""Checks over many sessions: that nothing is left behind, and that memory stays flat."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

from viva.pytest_plugin.conformance.expectation import Differs, DoesNotApply
from viva.pytest_plugin.conformance.footprint import Footprint, can_measure, measure
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


async def leaves_nothing_behind(subject: CheckedAgent) -> None:
    """After sessions that follow each other, there are no more processes, descriptors and threads than before."""
    _measurable()
    await _sessions(subject, 2, time.monotonic() + 2 * subject.demands.reply_seconds)
    before = await _settled(subject)
    looks = [before]
    for _ in range(BATCHES):
        await _sessions(subject, FEWEST, time.monotonic() + FEWEST * subject.demands.reply_seconds)
        looks.append(await _settled(subject, looks[-1]))
        if _held(looks[-1]) <= _held(looks[-2]):
            return
    for what in ("processes", "descriptors", "threads"):
        _flat(what, looks, FEWEST)


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
    for what in ("processes", "descriptors", "threads", "memory"):
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
    """Measure when threads and processes that are about to end have ended."""
    found = measure(subject.mark)
    for _ in range(20):
        if before is not None and _held(found) <= _held(before):
            break
        await asyncio.sleep(0.1)
        found = measure(subject.mark)
        if before is None:
            before = found
    return found


def _held(found: Footprint) -> int:
    return found.processes + found.descriptors + found.threads


def _flat(what: str, looks: list[Footprint], batch: int) -> None:
    """Check that one figure does not grow in each batch: what grows once and no more is a cache or a pool.

    Raises:
        Differs: it does.
    """
    figures: list[int] = [getattr(look, what) for look in looks]
    growth = min(later - earlier for earlier, later in pairwise(figures))
    allowed = OF_A_BATCH + OF_A_SESSION * batch if what == "memory" else 0
    if growth > allowed:
        shown = ", ".join(f"{figure / 2**20:.1f} MiB" if what == "memory" else str(figure) for figure in figures)
        raise Differs(f"{what} stay flat over {batch} sessions", f"{shown} (after each batch of sessions)")

"""Measures the overhead of an agent in its own process: rounds, opening, closing, and many agents at once."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from bench.stubs import TEXT
from bench.table import Figure
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, open_session

SOURCE = f"""
from viva import VirtualUser

class Async(VirtualUser):
    async def get_reply_from_agent(self, message):
        return {TEXT!r}

class Sync(VirtualUser):
    def get_reply_from_agent(self, message):
        return {TEXT!r}
"""
PASSES, ROUNDS, MANY = 15, 400, 50


async def _rounds(agent: LoadedAgent) -> float:
    """Return the microseconds for a message and its reply, 120 characters each."""
    session = await open_session(agent.factory, AgentArguments("task"), 60)
    for _ in range(50):
        await session.reply(TEXT, 60)
    began = time.perf_counter()
    for _ in range(ROUNDS):
        await session.reply(TEXT, 60)
    took = time.perf_counter() - began
    await session.close()
    return took / ROUNDS * 1e6


async def _open_and_close(agent: LoadedAgent) -> tuple[float, float]:
    """Return the milliseconds for each."""
    began = time.perf_counter()
    session = await open_session(agent.factory, AgentArguments("task"), 60)
    opened = time.perf_counter()
    await session.close()
    return (opened - began) * 1e3, (time.perf_counter() - opened) * 1e3


async def _many(agent: LoadedAgent) -> tuple[float, float]:
    """Return the seconds for MANY at once, and the longest blocking of the event loop meanwhile, in milliseconds."""
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - began - 0.001)

    watching = asyncio.create_task(watch())
    began = time.perf_counter()
    await asyncio.gather(*(_open_and_close(agent) for _ in range(MANY)))
    took = time.perf_counter() - began
    watching.cancel()
    return took, longest * 1e3


OVERHEAD = {"async": 250, "synchronous": 140}
"""Budgets of the overhead of a process, in microseconds a round."""


async def _figures(file: Path) -> list[Figure]:
    figures = []
    for name in ("Async", "Sync"):
        inside, child = load_agent(f"{file}:{name}"), load_agent(f"{file}:{name}", isolate=True)
        # Alternating, so that other load on the machine affects both.
        pairs = [(await _rounds(inside), await _rounds(child)) for _ in range(PASSES)]
        here = statistics.median(pair[0] for pair in pairs)
        there = statistics.median(pair[1] for pair in pairs)
        kind = "async" if name == "Async" else "synchronous"
        figures += [
            Figure(f"{kind} agent in Viva's process, a round", here, "us"),
            Figure(f"{kind} agent in its own process, a round", there, "us", note=f"{there / here:.1f} x"),
            Figure(f"  overhead of a process, {kind} agent", there - here, "us", OVERHEAD[kind]),
        ]
    opened = [await _open_and_close(child) for _ in range(PASSES)]
    figures += [
        Figure("opening: interpreter, import, construction", statistics.median(pair[0] for pair in opened), "ms"),
        Figure("closing, nothing left", statistics.median(pair[1] for pair in opened), "ms"),
    ]
    took, blocked = await _many(child)
    figures.append(
        Figure(f"{MANY} opened and closed at once", took, "s", note=f"event loop blocked for at most {blocked:.0f} ms")
    )
    return figures


def figures() -> list[Figure]:
    """Measure everything, with a small agent from a file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench_agent.py"
        file.write_text(SOURCE)
        return asyncio.run(_figures(file))

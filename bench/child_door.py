"""What an agent's own process costs: a round, beside the same agent in Viva's process; opening and closing; many."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from adapters.connectors.python import Agent, load_agent
from adapters.session import AgentArguments, open_session
from bench.stubs import TEXT
from bench.table import Figure

SOURCE = f"""
from adapters import VirtualUser

class Async(VirtualUser):
    async def get_reply_from_agent(self, message):
        return {TEXT!r}

class Sync(VirtualUser):
    def get_reply_from_agent(self, message):
        return {TEXT!r}
"""
PASSES, ROUNDS, MANY = 15, 400, 50


async def _rounds(agent: Agent) -> float:
    """Microseconds for a message and its reply, 120 characters each."""
    session = await open_session(agent.factory, AgentArguments("task"), 60)
    for _ in range(50):
        await session.reply(TEXT, 60)
    began = time.perf_counter()
    for _ in range(ROUNDS):
        await session.reply(TEXT, 60)
    took = time.perf_counter() - began
    await session.close()
    return took / ROUNDS * 1e6


async def _open_and_close(agent: Agent) -> tuple[float, float]:
    """Milliseconds for each."""
    began = time.perf_counter()
    session = await open_session(agent.factory, AgentArguments("task"), 60)
    opened = time.perf_counter()
    await session.close()
    return (opened - began) * 1e3, (time.perf_counter() - opened) * 1e3


async def _many(agent: Agent) -> tuple[float, float]:
    """Seconds for MANY at once, and the longest time the event loop stood still meanwhile, in milliseconds."""
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


async def _figures(file: Path) -> list[Figure]:
    figures = []
    for name in ("Async", "Sync"):
        inside, child = load_agent(f"{file}:{name}"), load_agent(f"{file}:{name}", isolate=True)
        # In turn, so that what else the machine does meets both.
        pairs = [(await _rounds(inside), await _rounds(child)) for _ in range(PASSES)]
        here = statistics.median(pair[0] for pair in pairs)
        there = statistics.median(pair[1] for pair in pairs)
        kind = "async" if name == "Async" else "plain"
        figures += [
            Figure(f"{kind} agent in Viva's process, a round", here, "us"),
            Figure(f"{kind} agent in its own process, a round", there, "us", note=f"{there / here:.1f} x"),
            Figure("  on top of in-process", there - here, "us", 300),
        ]
    opened = [await _open_and_close(child) for _ in range(PASSES)]
    figures += [
        Figure("opening: interpreter, import, construction", statistics.median(pair[0] for pair in opened), "ms"),
        Figure("closing, nothing left", statistics.median(pair[1] for pair in opened), "ms"),
    ]
    took, stood = await _many(child)
    figures.append(
        Figure(f"{MANY} opened and closed at once", took, "s", note=f"event loop stood {stood:.0f} ms at most")
    )
    return figures


def figures() -> list[Figure]:
    """All of them, with one small agent from a file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench_agent.py"
        file.write_text(SOURCE)
        return asyncio.run(_figures(file))

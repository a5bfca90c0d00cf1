"""Measures the overhead of an agent in its own process: rounds, opening, closing, and many agents at once."""

from __future__ import annotations

import asyncio
import contextlib
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
HEAVY = """
import time
time.sleep(1.0)
KEPT = [str(number) for number in range(1_000_000)]
"""
"""What an import of a second and 70 MB is made of."""
PASSES, ROUNDS, MANY = 15, 400, 50
OPENING_MS = 15
"""Budget of opening, whatever the agent imports."""


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
    return [*figures, *await _heavy_figures(file)]


async def _heavy_figures(file: Path) -> list[Figure]:
    """Measure an agent whose import takes a second and 70 MB: forked for each run, and where it must not be forked."""
    forked_file, alone_file = file.with_name("heavy_agent.py"), file.with_name("heavy_alone.py")
    forked_file.write_text(HEAVY + SOURCE)
    thread = "import threading\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    alone_file.write_text(HEAVY + thread + SOURCE)
    forked, alone = (load_agent(f"{path}:Async", isolate=True) for path in (forked_file, alone_file))
    ready = [await _open_and_close(forked) for _ in range(PASSES)]
    first = await _open_and_close(alone)  # by the process in which the class was checked
    new = await _open_and_close(alone)
    ahead = []
    for _ in range(3):
        await asyncio.sleep(3)  # a conversation, in which the next process is started
        ahead.append(await _open_and_close(alone))
    figures = [
        Figure("opening, import of 1 s, forked", statistics.median(pair[0] for pair in ready), "ms", OPENING_MS),
        Figure("opening, import of 1 s, not to be forked, started ahead", statistics.median(p[0] for p in ahead), "ms"),
        Figure("opening, import of 1 s, not to be forked, the first", first[0], "ms"),
        Figure(
            "opening, import of 1 s, in a new process",
            new[0],
            "ms",
            note="as before there were ready processes",
            reference=True,
        ),
    ]
    for name, agent, many in (("forked", forked, MANY), ("not to be forked", alone, 5)):
        figures.append(Figure(f"memory of a run, import of 70 MB, {name}", await _memory(agent, many), "MB"))
    for agent in (forked, alone):
        assert agent.release is not None
        agent.release()
    return figures


async def _memory(agent: LoadedAgent, many: int) -> float:
    """Return the memory of each of many runs at once in MB: what its processes share with others, in proportion."""
    before = _proportional()
    sessions = [await open_session(agent.factory, AgentArguments("task"), 60) for _ in range(many)]
    await asyncio.gather(*(session.reply(TEXT, 60) for session in sessions))
    used = _proportional() - before
    await asyncio.gather(*(session.close() for session in sessions))
    return used / many


def _proportional() -> float:
    """Return the memory of all agents' processes in MB."""
    total = 0
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and b"viva_inside" in (folder / "cmdline").read_bytes():
                lines = (folder / "smaps_rollup").read_text().splitlines()
                total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def figures() -> list[Figure]:
    """Measure everything, with a small agent from a file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench_agent.py"
        file.write_text(SOURCE)
        return asyncio.run(_figures(file))

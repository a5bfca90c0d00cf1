"""openevals' multi-turn simulation with speakers that answer at once (the simulated user calls no model), tracing off.

usage: python openevals_multiturn.py CONVERSATIONS ROUNDS CONCURRENCY
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from importlib.metadata import version

os.environ.update(LANGSMITH_TRACING="false", LANGCHAIN_TRACING_V2="false", LANGSMITH_TEST_TRACKING="false")

from openevals.simulators import run_multiturn_simulation_async

TEXT = ("I would like to change my booking please. " * 100)[:120]


async def agent(message, *, thread_id, **_):
    return {"role": "assistant", "content": TEXT}


async def user(trajectory, *, turn_counter, **_):
    return {"role": "user", "content": TEXT}


async def main(conversations: int, rounds: int, concurrency: int) -> None:
    slots = asyncio.Semaphore(concurrency)

    async def one():
        async with slots:
            return await run_multiturn_simulation_async(app=agent, user=user, max_turns=rounds)

    began, cpu = time.perf_counter(), time.process_time()
    results = await asyncio.gather(*(one() for _ in range(conversations)))
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    assert all(len(result["trajectory"]) == 2 * rounds for result in results)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"wall_s": wall, "cpu_s": cpu, "maxrss_mb": memory, "version": version("openevals")}))


asyncio.run(main(*map(int, sys.argv[1:4])))

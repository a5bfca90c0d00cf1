"""The lower limit: two speakers that answer at once in a bare asyncio loop, which keeps only the messages.

usage: python bare.py CONVERSATIONS ROUNDS CONCURRENCY
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time

TEXT = ("I would like to change my booking please. " * 100)[:120]


async def speaker(_: str) -> str:
    return TEXT


async def conversation(rounds: int, slots: asyncio.Semaphore) -> list[tuple[str, str]]:
    async with slots:
        messages: list[tuple[str, str]] = []
        for _ in range(rounds):
            question = await speaker("")
            messages.append((question, await speaker(question)))
        return messages


async def main(conversations: int, rounds: int, concurrency: int) -> None:
    slots = asyncio.Semaphore(concurrency)
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(conversation(rounds, slots) for _ in range(conversations)))
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"wall_s": wall, "cpu_s": cpu, "maxrss_mb": memory, "version": sys.version.split()[0]}))


asyncio.run(main(*map(int, sys.argv[1:4])))

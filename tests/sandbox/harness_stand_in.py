"""A harness of its own process for the life cycle tests: opens sessions, says so, and checks until it is ended."""

from __future__ import annotations

import asyncio
import sys

from viva.sandbox import Ending, RunView, SandboxLimits
from viva.sandbox.choice import choose


async def main(kind: str, checks: int, seconds: float) -> None:
    """`checks` of `seconds` each in one session, or for ever with 0."""
    sandbox = (await choose(kind, concurrency=2, patience=30)).sandbox
    await sandbox.prepare()
    await sandbox.prepare()
    session = await sandbox.open(None, RunView(), run_id="stand-in")
    print("open", flush=True)
    done = 0
    while not checks or done < checks:
        result = await session.check(f"import time; time.sleep({seconds})", SandboxLimits(seconds=60))
        assert result.ending is Ending.PASSED, result
        done += 1
    await sandbox.close()
    print("done", done, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))

"""Judges stored conversations again, without model or sandbox, in a process of its own; prints one JSON line.

usage: python -m bench.rejudge CONVERSATIONS ROUNDS
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.many import Counting
from harness.again import judge_again
from records.journal import Damage, Journal


async def judge(source: Path, target: Path, rounds: int) -> int:
    """Judge a journal into another. Returns the number of runs."""
    number = 0
    with Journal(target) as journal:
        async for _, record in judge_again(source, None, journal, [Counting(rounds)], lambda it: it, Damage()):
            assert record is not None
            assert record.score == 1.0
            number += 1
    return number


def main(conversations: int, rounds: int) -> None:
    """Measure once."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        # Made by another process, so that its memory is not counted here.
        command = [sys.executable, "-m", "bench.many", str(conversations), str(rounds), "50", "--out", str(source)]
        subprocess.run(command, check=True, capture_output=True)
        began = time.perf_counter()
        number = asyncio.run(judge(source, Path(folder) / "target", rounds))
        wall = time.perf_counter() - began
    assert number == conversations
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"wall_s": round(wall, 3), "maxrss_mb": round(memory, 1)}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

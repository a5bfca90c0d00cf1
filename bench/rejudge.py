"""Judges stored conversations again, without model or sandbox, in a process of its own; prints one JSON line.

usage: python -m bench.rejudge CONVERSATIONS ROUNDS
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.many import Counting, Quiet
from bench.memory import peak_mb
from harness.exam.options import Options
from harness.exam.resources import JudgeResources
from harness.suites.judging import Before, Doing, judge_places
from records.journal import Journal
from records.journal_reader import read_records
from records.journal_sync import Syncer


async def judge(source: Path, target: Path, rounds: int) -> int:
    """Judge a journal into another. Returns the number of runs."""
    judge = JudgeResources("code", Counting(rounds), None, None, {}, [])
    with Journal(target) as journal:
        async with Syncer(journal) as syncer:
            doing = Doing(Options(concurrency=4), judge)
            end = await judge_places([(source, None)], journal, doing, Before(), Quiet(syncer))
    return end.ended


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
        assert all(record.score == 1.0 for record in read_records(Path(folder) / "target"))
    assert number == conversations
    print(json.dumps({"wall_s": round(wall, 3), "peak_mb": peak_mb()}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

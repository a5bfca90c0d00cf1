"""Judges stored conversations again, without model or sandbox, and prints one JSON line.

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

from bench.many import counting
from bench.memory import peak_mb
from viva.exam.judging.resources import JudgeResources
from viva.exam.options import Options
from viva.exam.resources import Resources
from viva.exam.subscribers import Subscribers
from viva.journal.reader import read_records
from viva.journal.sync import Syncer
from viva.journal.writer import Journal
from viva.suites.conduct import Syncing
from viva.suites.engine import run_jobs
from viva.suites.judging import Judging, judge_jobs
from viva.suites.request import journals_request
from viva.suites.worker import Worker


async def judge(source: Path, target: Path, rounds: int) -> int:
    """Judge a journal into another, and return the number of runs."""
    request = journals_request("judge", [(source, None)], Options(concurrency=4))
    resources = Resources(options=request.options, judge=JudgeResources("code", {"scoring_points": counting(rounds)}))
    with Journal(target) as journal:
        async with Syncer(journal) as syncer:
            jobs = judge_jobs(request, Judging(), {}, set(), ())
            end = await run_jobs(Worker(resources, [], journal), jobs, 4, Subscribers([Syncing(syncer)]))
    return end.ended


def main(conversations: int, rounds: int) -> None:
    """Measure once."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        # Created by another process, so that its memory is not counted here.
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

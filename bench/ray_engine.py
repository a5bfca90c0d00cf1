"""Measures suites on a Ray cluster of this machine beside the engine of one process; nothing if Ray is not installed.

usage of one measurement: python -m bench.ray_engine ENGINE RUNS ROUNDS CONCURRENCY [--workers N] [--seconds S]
It prints one JSON line: wall-clock and CPU seconds of the driver, its peak memory, and the size of the journal.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.memory import peak_mb
from bench.stubs import TEXT
from bench.table import Figure
from viva.exam.options import Options
from viva.exam.subscribers import RunHeader
from viva.records.run_record import RunRecord
from viva.records.transcript import Transcript
from viva.suites.conduct import Surroundings
from viva.suites.engines import EngineChoice
from viva.suites.request import SuiteRequest
from viva.suites.suite import run_suite

PARTS = f"""
import asyncio
from viva.records.verdict import Insight, Label, Verdict

TEXT = {TEXT!r}
SECONDS = {{seconds}}


class Agent:
    def __init__(self, task_description):
        pass

    async def get_reply_from_agent(self, message):
        if SECONDS:
            await asyncio.sleep(SECONDS)
        return TEXT


class Counting:
    name = "counting"

    async def evaluate(self, transcript, context):
        verdict = Verdict(context.subject, "all", "counted", 1.0, reason="counted")
        return Insight(self.name, context.subject, "counted", 1.0, verdicts=(verdict,))
"""
CASE = """
task_description: task
scoring_points: [{{score_point: all, weight: 1}}]
script:
  - for: n in 1..{rounds}
    say: "{{{{n}}}} {text}"
max_rounds: {rounds}
"""
WAIT, WAITING_ROUNDS, EACH, TURNS = 0.2, 5, 8, 5
"""Seconds that an agent takes for a reply; rounds; conversations at a time for each worker; how many after another."""


class Stopwatch:
    """The subscriber that notes when the first run starts and the last one ends: a cluster takes seconds to start."""

    def __init__(self) -> None:
        self.began = self.ended = self.cpu = 0.0

    async def on_start(self, run: RunHeader) -> None:
        """Note the first."""
        if not self.began:
            self.began, self.cpu = time.monotonic(), time.process_time()

    async def on_end(self, run: RunHeader, record: RunRecord, transcript: Transcript) -> None:
        """Note the last."""
        self.ended = time.monotonic()


def measure(engine: str, runs: int, rounds: int, concurrency: int, workers: int, seconds: float) -> dict[str, Any]:
    """Run a suite in this process, and return what it took."""
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        Path("parts.py").write_text(PARTS.format(seconds=seconds))
        Path("case").mkdir()
        Path("case/case.yaml").write_text(CASE.format(rounds=rounds, text=TEXT[:110]))
        options = Options(evaluators=("parts.py:Counting",), concurrency=concurrency)
        agents = ("parts.py:Agent",)
        request = SuiteRequest(command="suite", paths=("case",), agents=agents, trials=runs, options=options)
        watch = Stopwatch()
        choice = EngineChoice(engine, None, workers if engine == "ray" else None)
        around = Surroundings(engine=choice.make(), subscribers=[watch])
        end = asyncio.run(run_suite(request, Path("journal"), around))
        assert end.ended == runs, end
        size = Path("journal/journal.jsonl").stat().st_size
        os.chdir("/")
    took, cpu = watch.ended - watch.began, time.process_time() - watch.cpu
    return {"seconds": took, "cpu": cpu, "peak_mb": peak_mb(), "bytes": size}


def figures() -> list[Figure]:
    """Measure throughput, the driver's memory, and what the cluster adds to a run and to a round."""
    if find_spec("ray") is None:
        return []
    found = []
    one = _of("ray", EACH * TURNS, WAITING_ROUNDS, EACH, 1, WAIT)
    for workers in (1, 2, 4):
        told = (
            one if workers == 1 else _of("ray", EACH * TURNS * workers, WAITING_ROUNDS, EACH * workers, workers, WAIT)
        )
        rate = EACH * TURNS * workers / told["seconds"]
        linear = rate / (EACH * TURNS / one["seconds"]) / workers * 100
        note = f"{rate:.1f} runs a second, agents wait {WAIT * 1000:.0f} ms a round"
        found.append(Figure(f"{workers} workers, share of linear", linear, "%", 90, at_least=True, note=note))
    few, many = (_of("ray", runs, 5, 50, 2) for runs in (200, 5000))
    found.append(Figure("driver's peak memory, 200 runs", few["peak_mb"], "MB"))
    found.append(Figure("driver's peak memory, 5,000 runs", many["peak_mb"], "MB", few["peak_mb"] * 1.1))
    return [*found, *_added()]


def _added() -> list[Figure]:
    """Compare the engines one conversation at a time, and with many at a time, when batches share calls."""
    found = []
    for words, runs, concurrency in (("one at a time", 20, 1), ("50 at a time", 400, 50)):
        local, ray = (
            [_of(engine, runs, rounds, concurrency, 1 if concurrency == 1 else 2) for rounds in (10, 50)]
            for engine in ("local", "ray")
        )
        for each, name in ((local, "local"), (ray, "ray")):
            a_round = (each[1]["seconds"] - each[0]["seconds"]) / runs / 40
            a_run = each[0]["seconds"] / runs - 10 * a_round
            found.append(Figure(f"{name}, {words}: a round", a_round * 1e6, "us"))
            found.append(Figure(f"{name}, {words}: a run beside its rounds", a_run * 1e6, "us"))
        rounds = runs * 50
        found.append(Figure(f"ray, {words}: driver's CPU for a round", ray[1]["cpu"] / rounds * 1e6, "us"))
        found.append(Figure(f"ray, {words}: journal for a round", ray[1]["bytes"] / rounds, "bytes"))
    return found


def _of(engine: str, runs: int, rounds: int, concurrency: int, workers: int, seconds: float = 0.0) -> dict[str, Any]:
    """Measure in a process of its own, so that peak memory is that of this suite."""
    command = [engine, runs, rounds, concurrency, "--workers", workers, "--seconds", seconds]
    done = subprocess.run(
        [sys.executable, "-m", "bench.ray_engine", *map(str, command)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def main() -> None:
    """Print one measurement."""
    parser = argparse.ArgumentParser("python -m bench.ray_engine")
    parser.add_argument("engine", choices=("local", "ray"))
    for name in ("runs", "rounds", "concurrency"):
        parser.add_argument(name, type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.0)
    print(json.dumps(measure(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()

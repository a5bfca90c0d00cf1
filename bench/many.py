"""Many conversations at once, in a process of their own: prints one JSON line with time per round and peak memory.

usage: python -m bench.many CONVERSATIONS ROUNDS CONCURRENCY [--latency SECONDS] [--model] [--workspace]
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import tempfile
import time
from pathlib import Path

from adapters.connectors.python import Agent
from bench.memory import peak_mb
from bench.stubs import TEXT, AsyncAgent
from cases import Case, ScoringPoint, ScriptLine
from examiner import Examiner, ScriptedExaminer
from harness.exam.examine import Run
from harness.exam.options import Options
from harness.exam.resources import JudgeResources, Resources
from harness.suites.engine import Job, Suite, SuiteLimits
from records.evaluator import Context
from records.journal import Journal
from records.journal_sync import Syncer
from records.run_record import RunRecord
from records.transcript import NO_USAGE, Round, Transcript
from records.verdict import Insight, Label, Verdict


class Counting:
    """An evaluator that needs neither model nor sandbox: one verdict on the number of rounds."""

    name = "scoring_points"

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Hit if all rounds were held."""
        held = len(transcript.rounds) == self.rounds
        verdict = Verdict(context.subject, "p-all", Label.HIT if held else Label.MISS, float(held), "counted")
        return Insight(self.name, context.subject, verdict.label, float(held), verdicts=(verdict,))


class Slow(AsyncAgent):
    """Answers after a model's latency."""

    seconds = 0.2

    async def get_reply_from_agent(self, message: str) -> str:
        await asyncio.sleep(self.seconds)
        return TEXT


class SlowAndLooks(Slow):
    """The same, and looks at its workspace: the folder is made, and removed again when nothing is in it."""

    async def get_reply_from_agent(self, message: str) -> str:
        assert self.workspace is not None
        return await super().get_reply_from_agent(message)


class Quiet:
    """A listener that only has the disk catch up."""

    def __init__(self, syncer: Syncer) -> None:
        self.syncer = syncer

    def on_start(self, run: Run) -> None:
        pass

    def on_round(self, run: Run, round_: Round) -> None:
        pass

    def on_end(self, run: Run, record: RunRecord) -> None:
        self.syncer.want()


def paper(rounds: int) -> Case:
    """An exam of so many rounds of 120 characters."""
    script = (ScriptLine(f"{{n}} {TEXT[:110]}", 1, rounds),)
    digest = hashlib.sha256(str(rounds).encode()).hexdigest()
    return Case("bench", Path("bench/case.yaml"), digest, "task", (ScoringPoint("p-all", "all", 1.0),), script=script)


def parts(rounds: int, concurrency: int, agent: type, *, model: bool) -> Resources:
    """The parts of an exam with partners that cost nothing."""
    judge = JudgeResources("code", Counting(rounds), None, None, {}, [])
    options = Options(max_rounds=rounds, concurrency=concurrency)
    client = None
    if model:
        from adapters.models.client import Model
        from adapters.models.retry import RetryPolicy
        from bench.stubs import InstantModel

        client = Model(InstantModel(), "instant", RetryPolicy())

    def examiner(case: Case) -> Examiner:
        if client is None:
            return ScriptedExaminer(case.script)
        from examiner.model import ModelExaminer

        return ModelExaminer(client, case.task_description)

    return Resources(options, Agent("bench:Agent", "Agent", agent), examiner, "bench", client, judge, [], {})


async def run(conversations: int, rounds: int, concurrency: int, folder: Path, agent: type, *, model: bool) -> float:
    """Hold them all. Returns wall-clock seconds."""
    case = paper(rounds)
    shared = parts(rounds, concurrency, agent, model=model)
    with Journal(folder) as journal:
        jobs = (Job(Run(case, shared, journal, trial)) for trial in range(1, conversations + 1))
        async with Syncer(journal) as syncer:
            began = time.perf_counter()
            end = await Suite(jobs, SuiteLimits(concurrency=concurrency), Quiet(syncer)).run()
            seconds = time.perf_counter() - began
    assert end.ended == conversations, end
    assert shared.judge.model is None or shared.judge.model.usage == NO_USAGE
    return seconds


def main() -> None:
    """Measure once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("conversations", type=int)
    parser.add_argument("rounds", type=int)
    parser.add_argument("concurrency", type=int)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--model", action="store_true")
    parser.add_argument("--workspace", action="store_true")
    parser.add_argument("--out", type=Path)
    said = parser.parse_args()
    Slow.seconds = said.latency
    agent = SlowAndLooks if said.workspace else Slow if said.latency else AsyncAgent
    with tempfile.TemporaryDirectory() as temporary:
        folder = said.out or Path(temporary) / "journal"
        cpu = time.process_time()
        seconds = asyncio.run(run(said.conversations, said.rounds, said.concurrency, folder, agent, model=said.model))
        figures = {
            "pkg": "viva",
            "n": said.conversations,
            "rounds": said.rounds,
            "conc": said.concurrency,
            "wall_s": round(seconds, 3),
            "cpu_s": round(time.process_time() - cpu, 3),
            "us_per_round": round(seconds / said.conversations / said.rounds * 1e6, 1),
            "ms_per_conv": round(seconds / said.conversations * 1e3, 3),
            "ideal": round(said.latency * said.rounds / seconds, 4) if said.latency else None,
            "peak_mb": peak_mb(),
        }
        print(json.dumps(figures))


if __name__ == "__main__":
    main()

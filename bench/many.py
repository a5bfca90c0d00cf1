"""Runs many concurrent conversations in one process, and prints one JSON line with time per round and peak memory.

usage: python -m bench.many CONVERSATIONS ROUNDS CONCURRENCY [--latency SECONDS] [--model] [--workspace]
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.memory import peak_mb
from bench.stubs import TEXT, AsyncAgent
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.cases import Case, ScoringPoint, ScriptLine
from viva.exam.judging.resources import JudgeResources
from viva.exam.options import Options
from viva.exam.resources import Resources
from viva.exam.subscribers import RunHeader, Subscribers
from viva.examiner import Examiner, ScriptedExaminer
from viva.journal.sync import Syncer
from viva.journal.writer import Journal, run_id
from viva.judge.exam.evaluator import ExamEvaluator
from viva.judge.loaded_evaluator import LoadedEvaluator, load_evaluator
from viva.records.evaluator import Context
from viva.records.transcript import NO_USAGE, Transcript
from viva.records.verdict import Insight, Label, Verdict
from viva.suites.conduct import Syncing
from viva.suites.engine import run_jobs
from viva.suites.job import Action, Job
from viva.suites.worker import Worker

AGENT = "bench:Agent"


class Counting:
    """An evaluator that requires neither model nor sandbox: it gives one verdict on the number of rounds."""

    name = "scoring_points"

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Return a hit if the conversation is complete."""
        complete = len(transcript.rounds) == self.rounds
        label, score = Label.HIT if complete else Label.MISS, float(complete)
        verdict = Verdict(context.subject, "p-all", label, score, reason="counted")
        return Insight(self.name, context.subject, label, score, verdicts=(verdict,))


def counting(rounds: int) -> LoadedEvaluator:
    """Return the evaluator as a command loads it."""
    return load_evaluator("bench:Counting", Counting(rounds), {}, {})


class Slow(AsyncAgent):
    """Answers with the latency of a model."""

    seconds = 0.2

    async def get_reply_from_agent(self, message: str) -> str:
        await asyncio.sleep(self.seconds)
        return TEXT


class SlowAndLooks(Slow):
    """Also uses its workspace: the folder is created, and removed again if it is empty."""

    async def get_reply_from_agent(self, message: str) -> str:
        assert self.workspace is not None
        return await super().get_reply_from_agent(message)


def case_of(rounds: int) -> Case:
    """Return a case with that many rounds of 120 characters."""
    script = (ScriptLine(f"{{n}} {TEXT[:110]}", 1, rounds),)
    digest = hashlib.sha256(str(rounds).encode()).hexdigest()
    return Case("bench", Path("bench/case.yaml"), digest, "task", (ScoringPoint("p-all", "all", 1.0),), script=script)


def resources_for(rounds: int, concurrency: int, agent: type, *, model: bool) -> Resources:
    """Return the resources of exams whose partners take no time."""
    exam = load_evaluator("exam", ExamEvaluator, {}, {}) if model else None
    judge = JudgeResources("code", {"scoring_points": counting(rounds)}, exam=exam)
    options = Options(max_rounds=rounds, concurrency=concurrency)
    client = None
    if model:
        from bench.stub_model import InstantModel
        from viva.models.autogen.client import AutoGenModel
        from viva.models.client import ModelClient
        from viva.models.retry import RetryPolicy

        client = ModelClient(AutoGenModel(InstantModel(), "instant"), RetryPolicy())

    def examiner(case: Case, persona: str = "", strategy: str = "") -> Examiner:
        if client is None:
            return ScriptedExaminer(case.script)
        from viva.examiner.model import ModelExaminer

        return ModelExaminer(client, case.task_description)

    return Resources(
        options=options,
        judge=judge,
        agents={AGENT: LoadedAgent(AGENT, "Agent", agent)},
        make_examiner=examiner,
        examiner_name="bench",
        examiner_model=client,
    )


def jobs_for(case: Case, conversations: int) -> Iterator[Job]:
    """Yield one job for each trial."""
    for trial in range(1, conversations + 1):
        header = RunHeader(id=run_id(case.name, AGENT, trial), subject=case.name, agent=AGENT, trial=trial)
        yield Job(action=Action.EXAMINE, header=header, case_hash=case.hash)


async def run(conversations: int, rounds: int, concurrency: int, folder: Path, agent: type, *, model: bool) -> float:
    """Run all conversations, and return the wall-clock seconds."""
    case = case_of(rounds)
    shared = resources_for(rounds, concurrency, agent, model=model)
    with Journal(folder) as journal:
        async with Syncer(journal) as syncer:
            worker, jobs = Worker(shared, [case], journal), jobs_for(case, conversations)
            began = time.perf_counter()
            end = await run_jobs(worker, jobs, concurrency, Subscribers([Syncing(syncer)]))
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

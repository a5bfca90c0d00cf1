"""How a suite sets its runs going: one after the other, each on its way before the next is set up."""

from __future__ import annotations

import asyncio
from pathlib import Path

from viva.adapters import VirtualUser
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.cases import Case, ScoringPoint, ScriptLine
from viva.exam.judging.resources import JudgeResources
from viva.exam.options import Options
from viva.exam.resources import Resources
from viva.exam.subscribers import RunHeader, Subscribers
from viva.examiner import ScriptedExaminer
from viva.journal.writer import Journal
from viva.judge.loaded_evaluator import load_evaluator
from viva.records.evaluator import Context
from viva.records.transcript import Transcript
from viva.records.verdict import Insight, Label, Verdict
from viva.suites.engine import Budget, SuiteEnd, run_jobs
from viva.suites.job import Action, Job
from viva.suites.worker import Worker

CASE = Case("exam", Path("exam/case.yaml"), "0" * 64, "task", (ScoringPoint("p", "good", 1.0),))


class Content:
    """An evaluator that likes everything."""

    name = "scoring_points"

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        verdict = Verdict(context.subject, "p", Label.HIT, 1.0)
        return Insight(self.name, context.subject, Label.HIT, 1.0, verdicts=(verdict,))


async def run(agent: type, folder: Path, runs: int, concurrency: int, budget: Budget | None = None) -> SuiteEnd:
    script = (ScriptLine("Hello."),)
    resources = Resources(
        options=Options(),
        judge=JudgeResources("code", {"scoring_points": load_evaluator("content", Content(), {}, {})}),
        agents={"a": LoadedAgent("a", "a", agent)},
        make_examiner=lambda case, persona, strategy: ScriptedExaminer(script),
        examiner_name="script",
    )
    with Journal(folder) as journal:
        headers = (RunHeader(id=f"r{n}", subject=CASE.name, agent="a", trial=n) for n in range(1, runs + 1))
        jobs = (Job(action=Action.EXAMINE, header=header, case_hash=CASE.hash) for header in headers)
        return await run_jobs(Worker(resources, [CASE], journal), jobs, concurrency, Subscribers(), budget)


async def test_the_first_agent_is_spoken_to_before_the_last_run_is_set_up(tmp_path: Path) -> None:
    happened: list[str] = []
    all_asked = asyncio.Event()  # nobody is done before all are under way

    class Notes(VirtualUser):
        def __init__(self, task_description: str) -> None:
            happened.append("made")

        async def get_reply_from_agent(self, message: str) -> str:
            happened.append("asked")
            if happened.count("asked") == 20:
                all_asked.set()
            await all_asked.wait()
            return "Hello."

    end = await run(Notes, tmp_path / "journal", 20, 20)
    assert end.ended == 20
    assert happened.index("asked") < 5


async def test_a_time_limit_that_ends_while_runs_are_still_being_begun_leaves_all_out(tmp_path: Path) -> None:
    class Hangs(VirtualUser):
        async def get_reply_from_agent(self, message: str) -> str:
            await asyncio.Event().wait()
            return ""

    end = await run(Hangs, tmp_path / "journal", 20, 10, Budget(max_seconds=0.0))
    assert (end.ended, end.left_out) == (0, 20)
    assert end.reason == "--max-time of 0 s is used up"

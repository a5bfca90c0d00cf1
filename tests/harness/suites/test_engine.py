"""How a suite sets its runs going: one after the other, each on its way before the next is set up."""

from __future__ import annotations

import asyncio
from pathlib import Path

from adapters import VirtualUser
from adapters.connectors.python import LoadedAgent
from cases import Case, ScoringPoint, ScriptLine
from examiner import ScriptedExaminer
from harness.exam.examine import Run
from harness.exam.options import Options
from harness.exam.resources import JudgeResources, Resources
from harness.suites.engine import Job, Suite, SuiteEnd, SuiteLimits
from records.evaluator import Context
from records.journal import Journal
from records.run_record import RunRecord
from records.transcript import Round, Transcript
from records.verdict import Insight, Label, Verdict

CASE = Case("exam", Path("exam/case.yaml"), "0" * 64, "task", (ScoringPoint("p", "good", 1.0),))


class Content:
    """An evaluator that likes everything."""

    name = "scoring_points"

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        verdict = Verdict(context.subject, "p", Label.HIT, 1.0)
        return Insight(self.name, context.subject, Label.HIT, 1.0, verdicts=(verdict,))


class Deaf:
    """A listener that does nothing."""

    def on_start(self, run: Run) -> None: ...

    def on_round(self, run: Run, round_: Round) -> None: ...

    def on_end(self, run: Run, record: RunRecord) -> None: ...


async def hold(agent: type, folder: Path, runs: int, limits: SuiteLimits) -> SuiteEnd:
    judge = JudgeResources("code", Content(), None, None, {}, [])
    script = (ScriptLine("Hello."),)
    parts = Resources(
        Options(), LoadedAgent("a", "a", agent), lambda case: ScriptedExaminer(script), "script", None, judge, [], {}
    )
    with Journal(folder) as journal:
        jobs = (Job(Run(CASE, parts, journal, trial)) for trial in range(1, runs + 1))
        return await Suite(jobs, limits, Deaf()).run()


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

    end = await hold(Notes, tmp_path / "journal", 20, SuiteLimits(concurrency=20))
    assert end.ended == 20
    assert happened.index("asked") < 5


async def test_a_time_limit_that_ends_while_runs_are_still_being_begun_leaves_all_out(tmp_path: Path) -> None:
    class Hangs(VirtualUser):
        async def get_reply_from_agent(self, message: str) -> str:
            await asyncio.Event().wait()
            return ""

    end = await hold(Hangs, tmp_path / "journal", 20, SuiteLimits(concurrency=10, max_seconds=0.0))
    assert (end.ended, end.left_out) == (0, 20)
    assert end.reason == "--max-time of 0 s is over"

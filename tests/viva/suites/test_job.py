"""A job is plain data: written as JSON and done in another process, it gives the record that it gives here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from tests.viva.conftest import Desk, point
from tests.viva.viva_command import clean_environment
from viva.cases import Case, load_case
from viva.exam.option_declaration import OPTION
from viva.exam.options import Options
from viva.exam.subscribers import RunHeader, Subscribers
from viva.journal.conversation_lines import ConversationLines, read_conversation_lines
from viva.journal.reader import read_records, read_runs
from viva.journal.writer import Journal, run_id
from viva.records.codec import decode, encode, to_plain
from viva.records.run_record import RunRecord, Timing
from viva.suites.conduct import Surroundings
from viva.suites.engine import LocalEngine
from viva.suites.job import Action, Job, WorkOrder
from viva.suites.judging import judge_journals
from viva.suites.request import SuiteRequest, journals_request
from viva.suites.suite import run_suite
from viva.suites.worker import Done, Worker, open_worker

DONE_ELSEWHERE = """
import asyncio, json, pathlib, sys
from viva.exam.subscribers import Subscribers
from viva.suites.job import Job, WorkOrder
from viva.suites.worker import open_worker
from viva.records.codec import decode, encode
from viva.journal.writer import Journal

async def work(asked):
    order, job = decode(WorkOrder, asked["order"]), decode(Job, asked["job"])
    assert json.loads(encode(order)) == asked["order"]
    assert json.loads(encode(job)) == asked["job"]
    worker = await open_worker(order, lambda: Journal(pathlib.Path(asked["folder"])))
    try:
        return await worker.do(job, Subscribers())
    finally:
        await worker.resources.close()

done = asyncio.run(work(json.load(sys.stdin)))
sys.stdout.buffer.write(encode(done.record))
"""
AGENT = """
def __init__(self, task_description, app_dir=None):
    super().__init__(task_description, app_dir)
    self.said = 0

def get_reply_from_agent(self, message):
    from viva.records.transcript import Reply, Step, Usage
    self.said += 1
    (self.workspace / "count.txt").write_text(str(self.said))
    step = Step("s1", tool="count", tool_input={"n": self.said}, attributes={"deep": {"er": [1, None]}})
    return Reply(f"{self.said}: {message}", (step,), Usage(10, 2, calls=1, cost=0.25))
"""


@pytest.fixture
def exam(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> tuple[Desk, Case, str]:
    """A folder with a case that has all that a case can have, and an agent that counts."""
    monkeypatch.chdir(desk.folder)
    agent = desk.agent(AGENT)
    checks = [
        point("assert open('count.txt').read() == '2'", "It counts.", 2),
        point("assert open('table.csv').read() == 'a,b'", "It leaves the table alone."),
        point("assert 'Three' in rounds[1]['agent']", "It says three."),
    ]
    name = desk.case(
        scoring_points=checks, script=["One?", "Two?"], data={"table.csv": "a,b"}, data_files=["table.csv"],
        tags=["short", "büro"], max_rounds=2, timeout=60, check_limits={"seconds": 20},
    )  # fmt: skip
    return desk, load_case(desk.folder / name), agent


def order_of(case: Case, agent: str, **more: Any) -> WorkOrder:
    options = Options(
        agent=agent, sandbox="process", evaluators=("scoring_points", "own.py:Likes"), check_seconds=15.0, concurrency=2
    )
    return WorkOrder(options=options, cases=(case,), **more)


def header_of(case: Case, agent: str) -> RunHeader:
    return RunHeader(id=run_id(case.name, agent, 1), subject=case.name, agent=agent, tags=case.tags)


async def done_here(order: WorkOrder, job: Job, folder: Path) -> RunRecord:
    with Journal(folder) as journal:
        worker = await open_worker(order, lambda: journal)
        try:
            return (await worker.do(job, Subscribers())).record
        finally:
            await worker.resources.close()


def done_elsewhere(order: WorkOrder, job: Job, folder: Path, cwd: Path) -> RunRecord:
    asked = {"order": json.loads(encode(order)), "job": json.loads(encode(job)), "folder": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", DONE_ELSEWHERE], input=json.dumps(asked).encode(), cwd=cwd, env=clean_environment(),
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return decode(RunRecord, json.loads(done.stdout))


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_times(each) for name, each in value.items() if name not in ("timing", "seconds")}
    return [without_times(each) for each in value] if isinstance(value, list) else value


async def both(order: WorkOrder, job: Job, folder: Path) -> RunRecord:
    """Do a job here and there; the records are the same, and so are the journals' transcripts."""
    assert decode(Job, json.loads(encode(job))) == job
    assert decode(WorkOrder, json.loads(encode(order))) == order
    here = await done_here(order, job, folder / "here")
    there = done_elsewhere(order, job, folder / "there", folder)
    assert without_times(to_plain(there, full=True)) == without_times(to_plain(here, full=True))
    one, other = (next(read_runs(folder / name)) for name in ("here", "there"))
    assert [(each.examiner, each.agent) for each in other.transcript.rounds] == [
        (each.examiner, each.agent) for each in one.transcript.rounds
    ]
    assert other.record is not None
    assert without_times(to_plain(other.record)) == without_times(to_plain(there))
    return there


@pytest.fixture
def own(exam: tuple[Desk, Case, str]) -> None:
    (exam[0].folder / "own.py").write_text(
        "from viva.records.verdict import Insight\nclass Likes:\n    name = 'likes'\n"
        "    async def evaluate(self, transcript, context):\n"
        "        return Insight(self.name, context.subject, 'liked', 0.5, scores={'warmth': 0.5})\n"
    )


async def held(exam: tuple[Desk, Case, str]) -> ConversationLines:
    desk, case, agent = exam
    job = Job(action=Action.EXAMINE, header=header_of(case, agent), case_hash=case.hash)
    await done_here(order_of(case, agent, agents=(agent,)), job, desk.folder / "first")
    return next(read_conversation_lines(desk.folder / "first"))


@pytest.mark.usefixtures("own")
async def test_an_exam_held_in_another_process_gives_the_same_record(exam: tuple[Desk, Case, str]) -> None:
    desk, case, agent = exam
    job = Job(action=Action.EXAMINE, header=header_of(case, agent), case_hash=case.hash)
    record = await both(order_of(case, agent, agents=(agent,)), job, desk.folder)
    assert (record.outcome.value, record.points, record.max_points) == ("scored", 3.0, 4.0)
    assert record.usage["target"].cost == 0.5
    assert record.tags == ("short", "büro")
    assert record.setting.check_seconds == 15.0
    assert [insight.evaluator for insight in record.insights] == ["scoring_points", "likes"]


@pytest.mark.usefixtures("own")
async def test_a_conversation_judged_in_another_process_gives_the_same_record(exam: tuple[Desk, Case, str]) -> None:
    desk, case, agent = exam
    lines = await held(exam)
    job = Job(
        action=Action.JUDGE,
        header=replace(header_of(case, agent), attempt=lines.attempt),
        case_hash=case.hash,
        conversation=lines,
        timing=Timing(5.0, 1.5),
        evaluators=("own.py:Likes", "scoring_points"),
    )
    record = await both(order_of(case, agent), job, desk.folder)
    assert (record.score, record.setting.evaluators) == (0.5, ("likes", "scoring_points"))
    assert record.insights[1].score == 0.75
    assert record.usage["target"].cost == 0.5


@pytest.mark.usefixtures("own")
async def test_questions_asked_again_in_another_process_give_the_same_record(exam: tuple[Desk, Case, str]) -> None:
    desk, case, _ = exam
    other = desk.agent("def get_reply_from_agent(self, message):\n    return 'Three'", "other")
    lines = replace(await held(exam), judged=())
    job = Job(action=Action.REPLAY, header=header_of(case, other), case_hash=case.hash, conversation=lines)
    record = await both(order_of(case, other, agents=(other,), asks=False), job, desk.folder)
    assert (record.agent, record.points, record.rounds) == (other, 2.0, 2)
    assert record.setting.examiner == "replay"


def test_every_option_crosses_the_border_of_a_process() -> None:
    values: dict[str, Any] = {}
    for field in fields(Options):
        default, declared = field.default, field.metadata.get(OPTION)
        if isinstance(default, bool):
            values[field.name] = not default
        elif isinstance(default, int | float):
            values[field.name] = default + 1
        elif isinstance(default, tuple):
            values[field.name] = ("one", "file.py:Two")
        elif field.name in ("check_seconds", "run_seconds"):
            values[field.name] = 1.5
        elif field.name in ("check_memory_mb", "max_rounds", "agent_memory_mb"):
            values[field.name] = 64
        else:
            values[field.name] = declared.choices[-1] if declared and declared.choices else "words ü"
    order = WorkOrder(options=Options(**values), recordings=True, agents=("a", "b"), asks=False, needs_prices=True)
    again = decode(WorkOrder, json.loads(encode(order)))
    assert again == order
    assert again.options.evaluators == ("one", "file.py:Two")


class Elsewhere:
    """An engine of somebody else's: every order and job is JSON on its way to where it is done."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.jobs: list[Job] = []
        self._inner = LocalEngine()
        self._worker: Worker

    async def open(self, order: WorkOrder, journal: Callable[[], Journal]) -> Elsewhere:
        self._worker = await self._inner.open(decode(WorkOrder, json.loads(encode(order))), journal)
        return self

    def notify(self, note: Callable[[str], None]) -> None:
        self._inner.notify(note)

    def why_not(self, job: Job) -> str | None:
        return self._worker.why_not(job)

    async def do(self, job: Job, subscribers: Subscribers) -> Done:
        self.jobs.append(decode(Job, json.loads(encode(job))))
        return await self._worker.do(self.jobs[-1], subscribers)

    async def close(self) -> None:
        await self._inner.close()


@pytest.mark.usefixtures("own")
async def test_suites_and_judgings_run_on_any_engine(exam: tuple[Desk, Case, str]) -> None:
    desk, case, agent = exam
    request = SuiteRequest(
        command="suite", paths=(str(case.file),), agents=(agent,), trials=3, options=Options(sandbox="process")
    )
    engine = Elsewhere()
    end = await run_suite(request, desk.folder / "suite", Surroundings(engine=engine))
    assert (end.ended, [job.action for job in engine.jobs]) == (3, [Action.EXAMINE] * 3)
    engine = Elsewhere()
    options = Options(sandbox="process", evaluators=("own.py:Likes",))
    again = journals_request("judge", [(desk.folder / "suite", None)], options)
    judging = await judge_journals(again, desk.folder / "judged", Surroundings(engine=engine))
    assert (judging.end.ended, [job.action for job in engine.jobs]) == (3, [Action.JUDGE] * 3)
    assert {record.score for record in read_records(desk.folder / "judged")} == {0.5}

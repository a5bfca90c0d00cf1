"""Runs that are requeued while their suite is at work: none is started twice, and none is forgotten."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.viva.conftest import Desk
from viva.exam.attempt.exam_run import ExamRun
from viva.exam.examine import examine
from viva.exam.options import Options
from viva.exam.stored_runs import RunState
from viva.exam.subscribers import RunHeader
from viva.journal.reader import read_records
from viva.journal.writer import run_id, scan
from viva.records.run_record import Outcome, RunRecord
from viva.records.transcript import Transcript
from viva.suites import worker
from viva.suites.at_work import repeating
from viva.suites.at_work.repeating import NOT_PREPARED, TOO_LATE, RunsAgain
from viva.suites.at_work.requeueing import MARK, requeue
from viva.suites.conduct import Silence, Surroundings
from viva.suites.engine import Budget, SuiteEnd
from viva.suites.request import SuiteRequest
from viva.suites.suite import run_suite

AGENT = """
def __init__(self, task_description):
    self.task, self.here = task_description, Path(__file__).parent

async def get_reply_from_agent(self, message):
    import asyncio
    if self.task == "Fail." and (self.here / "broken").exists():
        raise RuntimeError("the server is down")
    while self.task == "Wait." and not (self.here / "go").exists():
        (self.here / "waiting").touch()
        await asyncio.sleep(0.005)
    return "Hi."
"""
SPEC = "agent.py:Agent"
FAILS, WAITS = run_id("fails", SPEC), run_id("waits", SPEC)


@pytest.fixture
def place(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Two cases: one fails as long as a file is there, the other waits until a file is there."""
    desk.case("fails", task_description="Fail.")
    desk.case("waits", task_description="Wait.")
    desk.agent(AGENT)
    monkeypatch.chdir(desk.folder)
    return desk


def start(place: Desk, *subscribers: object, budget: Budget | None = None, **options: Any) -> asyncio.Task[SuiteEnd]:
    """Start a suite of both cases."""
    request = SuiteRequest(
        command="suite",
        paths=("fails", "waits"),
        agents=(SPEC,),
        options=Options(sandbox="process", concurrency=2, **options),
    )
    around = Surroundings(Silence(), subscribers=subscribers)
    return asyncio.create_task(run_suite(request, place.folder / "j", around, budget=budget or Budget()))


async def until(condition: Callable[[], bool]) -> None:
    """Wait until it comes true."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def fail_attempts(patch: pytest.MonkeyPatch, last: int) -> None:
    """Have the machine fail in the attempts at one run, up to this one."""

    async def maybe(run: ExamRun, *arguments: Any) -> Any:
        if run.header.id == FAILS and run.header.attempt <= last:
            raise RuntimeError("the disk is away")
        return await examine(run, *arguments)

    patch.setattr(worker, "examine", maybe)


def attempts(place: Desk, kind: str) -> list[int]:
    """The attempts at that run of which the journal has such a line."""
    return [event.attempt for event in scan(place.folder / "j") if (event.kind, event.run) == (kind, FAILS)]


async def end_the_other(place: Desk) -> None:
    """Let the other run end, so that what has been requeued is looked for."""
    (place.folder / "go").touch()
    await until(lambda: not (place.folder / "j" / MARK).exists())


async def test_a_run_that_waits_between_two_attempts_of_its_own_is_not_started_twice(
    place: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_attempts(monkeypatch, last=2)
    waiting, go_on = asyncio.Event(), asyncio.Event()

    async def wait_before(number: int) -> None:
        if number == 3:
            waiting.set()
            await go_on.wait()

    monkeypatch.setattr(worker, "wait_before", wait_before)
    suite = start(place, attempts=3)
    await waiting.wait()
    assert requeue(place.folder / "j", [Outcome.INFRA_ERROR]).runs == (FAILS,)
    await end_the_other(place)
    assert attempts(place, "setting") == []
    go_on.set()
    end = await suite
    assert (end.ended, end.left_out, end.reason) == (2, 0, None)
    assert attempts(place, "run") == [1, 2, 3]
    assert attempts(place, "setting") == [3]


async def test_a_run_that_is_requeued_at_its_end_is_repeated_when_it_has_ended(
    place: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow:
        """A subscriber that is still busy with the first end of the run."""

        def __init__(self) -> None:
            self.busy, self.go_on = asyncio.Event(), asyncio.Event()

        async def on_end(self, run: RunHeader, record: RunRecord, transcript: Transcript) -> None:
            if run.id == FAILS and not self.busy.is_set():
                self.busy.set()
                await self.go_on.wait()

    fail_attempts(monkeypatch, last=1)
    slow = Slow()
    suite = start(place, slow, attempts=1)
    await slow.busy.wait()
    requeue(place.folder / "j", [Outcome.INFRA_ERROR])
    await end_the_other(place)
    slow.go_on.set()
    end = await suite
    assert (end.ended, end.left_out) == (3, 0)
    assert attempts(place, "run") == [1, 2]
    (record,) = [record for record in read_records(place.folder / "j") if record.id == FAILS]
    assert (record.outcome, record.setting.requeued) == (Outcome.SCORED, ("infra_error",))


async def test_a_run_that_is_requeued_after_the_last_one_is_called_left(place: Desk) -> None:
    class Late:
        """A subscriber that hears of the end."""

        async def on_closed(self) -> None:
            requeue(place.folder / "j", [Outcome.TARGET_ERROR])

    for name in ("broken", "go"):
        (place.folder / name).touch()
    end = await start(place, Late())
    assert (end.ended, end.left_out, end.reasons) == (2, 1, f"1 run that was {TOO_LATE}")


def test_the_journal_is_read_once_for_all_runs_that_ended_and_are_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = {run: RunState(1, outcome=Outcome.INFRA_ERROR, again=True) for run in "abc"}
    reads: list[Path] = []

    def read(folder: Path, *run: str) -> dict[str, RunState]:
        reads.append(folder)
        return states

    monkeypatch.setattr(repeating, "read_run_states", read)

    def job_of(run: str, state: RunState) -> Any:
        return f"job of {run}"

    again = RunsAgain(job_of, states)
    for run, state in states.items():
        again.begin(run)
        assert again._job(run, state) is None
        again.end(run)
    due: list[Any] = [again.due(tmp_path) for _ in range(4)]
    assert due == ["job of a", "job of b", "job of c", None]
    assert len(reads) == 1


def test_requeued_runs_are_told_apart_from_those_that_were_left_out_for_another_reason() -> None:
    one, two = {TOO_LATE: 1}, {TOO_LATE: 2, NOT_PREPARED: 1}
    late = "requeued after the last run had started"
    not_loaded = "1 run that was requeued, but whose case this process had not loaded because all its runs had ended"
    assert SuiteEnd(left_out=1, requeued=one).words == f"left out: 1 run that was {late}"
    both = SuiteEnd(left_out=5, reason="--max-runs is reached", requeued=two)
    assert both.words == f"left out: 2 runs, --max-runs is reached; 2 runs that were {late}; {not_loaded}"
    assert both.reasons == f"--max-runs is reached; 2 runs that were {late}; {not_loaded}"
    no_batch = "--max-runs of 4 leaves no further batch"
    adaptive = SuiteEnd(left_out=1, reason=no_batch, requeued=one)
    assert adaptive.words == f"left out: 1 run that was {late}; {no_batch}"
    assert SuiteEnd(left_out=2, reason=no_batch).words == f"left out: 2 runs, {no_batch}"


async def test_a_run_that_is_requeued_late_is_named_beside_what_the_budget_left_out(place: Desk) -> None:
    class Late:
        """A subscriber that hears of the end."""

        async def on_closed(self) -> None:
            requeue(place.folder / "j", [Outcome.TARGET_ERROR])

    for name in ("broken", "go"):
        (place.folder / name).touch()
    end = await start(place, Late(), budget=Budget(max_runs=1))
    assert end.words == f"left out: 1 run, --max-runs is reached; 1 run that was {TOO_LATE}"


def test_a_resumed_suite_says_that_it_cannot_repeat_a_run_of_a_case_that_had_nothing_left(place: Desk) -> None:
    (place.folder / "broken").touch()
    words = ("--agent", SPEC, "--sandbox", "process", "--judge", "code")
    place.viva("suite", "fails", "waits", *words, "--max-runs", "1", "--out", "j", expect=3)
    (place.folder / "broken").unlink()
    with place.start("suite", "--resume", "j", "--json") as process:
        try:
            end = time.monotonic() + 60
            while not (place.folder / "waiting").exists():
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < end
                time.sleep(0.02)
            done = place.viva("requeue", "j", "--outcome", "target_error", "--run", FAILS, expect=0)
            assert "or says at its end that some are left" in done.stdout
            (place.folder / "go").touch()
            shown, errors = process.communicate(timeout=60)
        finally:
            if process.poll() is None:
                process.kill()
    assert process.returncode == 3, errors
    assert f"left out: 1 run that was {NOT_PREPARED}. To resume: viva suite --resume " in errors
    assert (json.loads(shown)["ended"], json.loads(shown)["left_out"]) == (1, 1)
    place.viva("suite", "--resume", "j", expect=0)
    found = {record.id: (record.outcome, record.attempt) for record in read_records(place.folder / "j")}
    assert found == {FAILS: (Outcome.SCORED, 2), WAITS: (Outcome.SCORED, 1)}
    assert not (Path("j") / MARK).exists()

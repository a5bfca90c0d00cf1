"""The newest runs of a journal, as its evaluators see them while it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from viva.errors import SetupError
from viva.journal.history import JournalHistory
from viva.journal.writer import FILE, Journal
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import Metrics, Round, Transcript


def record(name: str, task: str = "task", started: float = 1.0) -> RunRecord:
    return RunRecord(name, task, "agent", Outcome.SCORED, 1.0, timing=Timing(started, 1.0), metrics=Metrics())


async def test_runs_are_seen_as_they_are_appended_newest_last(tmp_path: Path) -> None:
    runs = JournalHistory(tmp_path)
    assert await runs.runs("task") == []
    with Journal(tmp_path) as journal:
        journal.append("run", "a", 1, record("a"))
        assert [run.id for run in await runs.runs("task")] == ["a"]
        journal.append("run", "b", 1, record("b"))
        journal.append("run", "c", 1, record("c", "other"))
    assert [run.id for run in await runs.runs("task")] == ["a", "b"]
    assert [run.id for run in await runs.runs("task", limit=1)] == ["b"]
    assert [run.id for run in await runs.runs("task", limit=0)] == []
    assert {run.id for run in await runs.runs()} == {"a", "b", "c"}


async def test_a_run_that_was_repeated_counts_once(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for name, attempt in (("a", 1), ("b", 1), ("a", 2)):
            journal.append("run", name, attempt, record(name))
    assert [run.id for run in await JournalHistory(tmp_path).runs("task")] == ["a", "b"]


async def test_a_torn_line_costs_its_own_run_and_one_that_is_being_written_is_read_later(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append("run", "a", 1, record("a"))
    file = tmp_path / FILE
    whole = file.read_bytes()
    file.write_bytes(b'{"torn\n' + whole + whole.replace(b'"a"', b'"b"')[:-20])
    runs = JournalHistory(tmp_path)
    assert [run.id for run in await runs.runs("task")] == ["a"]
    with Journal(tmp_path) as journal:
        journal.append("run", "c", 1, record("c"))
    assert [run.id for run in await runs.runs("task")] == ["a", "c"]


async def test_a_conversation_that_has_ended_belongs_to_it_before_it_is_judged(tmp_path: Path) -> None:
    metrics = Metrics(aborts={"x": 1})
    with Journal(tmp_path) as journal:
        for name, started in (("late", 9.0), ("early", 2.0), ("open", 1.0)):
            journal.append("setting", name, 1, Setting(case="task", agent="somebody"))
            journal.append("round", name, 1, Round(1, started=started))
            journal.append("round", name, 1, Round(2, started=1.0))
            if name != "open":
                journal.append("transcript", name, 1, Transcript(source="copilot", metrics=metrics, success=True))
    found = await JournalHistory(tmp_path).runs("task")
    assert [(run.id, run.agent, run.started, run.metrics, run.success) for run in found] == [
        ("early", "somebody", 2.0, metrics, True),
        ("late", "somebody", 9.0, metrics, True),
    ]


async def test_of_two_attempts_only_the_newer_counts(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append("run", "a", 1, record("a"))
        journal.append("setting", "a", 2, Setting(case="task"))
    assert await JournalHistory(tmp_path).runs("task") == []


@pytest.mark.parametrize("folder", [3, None, b"runs"])
def test_what_is_no_path_is_refused_at_once(folder: object) -> None:
    with pytest.raises(SetupError, match=r"folder must be the path of a journal, not (int|NoneType|bytes)"):
        JournalHistory(folder)  # type: ignore[arg-type]


async def test_a_path_may_be_a_text(tmp_path: Path) -> None:
    assert await JournalHistory(str(tmp_path)).runs() == []


@pytest.mark.parametrize("started", ["9" * 400, "-" + "9" * 400, "NaN", "Infinity", "true", '"1"', "null"])
async def test_a_time_that_is_none_does_not_end_the_history(tmp_path: Path, started: str) -> None:
    with Journal(tmp_path) as journal:
        journal.append("run", "sound", 1, record("sound", started=-1.0))
        journal.append("setting", "odd", 1, Setting(case="task", agent="somebody"))
    with (tmp_path / FILE).open("a") as file:
        data = f'{{"number":1,"started":{started}}}'
        file.write(f'{{"v":1,"event":"round","run":"odd","attempt":1,"data":{data}}}\n')
    with Journal(tmp_path) as journal:
        journal.append("transcript", "odd", 1, Transcript(source="copilot", metrics=Metrics(), success=True))
    assert [run.id for run in await JournalHistory(tmp_path).runs("task")] == ["sound", "odd"]

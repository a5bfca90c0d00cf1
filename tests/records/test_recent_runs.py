"""The newest runs of a journal, as its evaluators see them while it is written."""

from __future__ import annotations

from pathlib import Path

from records.journal import FILE, Journal
from records.recent_runs import KEPT, RecentRuns
from records.run_record import Outcome, RunRecord, Timing
from records.transcript import Metrics


def record(name: str, task: str = "task", started: float = 1.0) -> RunRecord:
    return RunRecord(name, task, "agent", Outcome.SCORED, 1.0, timing=Timing(started, 1.0), metrics=Metrics())


async def test_runs_are_seen_as_they_are_appended_newest_last(tmp_path: Path) -> None:
    runs = RecentRuns(tmp_path)
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


async def test_a_run_that_was_repeated_counts_once_as_the_newest(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for name, attempt in (("a", 1), ("b", 1), ("a", 2)):
            journal.append("run", name, attempt, record(name))
    assert [run.id for run in await RecentRuns(tmp_path).runs("task")] == ["b", "a"]


async def test_a_torn_line_costs_its_own_run_and_one_that_is_being_written_is_read_later(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append("run", "a", 1, record("a"))
    file = tmp_path / FILE
    whole = file.read_bytes()
    file.write_bytes(b'{"torn\n' + whole + whole.replace(b'"a"', b'"b"')[:-20])
    runs = RecentRuns(tmp_path)
    assert [run.id for run in await runs.runs("task")] == ["a"]
    with Journal(tmp_path) as journal:
        journal.append("run", "c", 1, record("c"))
    assert [run.id for run in await runs.runs("task")] == ["a", "c"]


async def test_a_long_history_stays_small(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for number in range(KEPT + 5):
            journal.append("run", f"r{number}", 1, record(f"r{number}"))
    assert [run.id for run in await RecentRuns(tmp_path).runs("task")] == [
        f"r{number}" for number in range(5, KEPT + 5)
    ]

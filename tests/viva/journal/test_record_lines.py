"""A file of records as a history: the runs of one task are found without decoding those of others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from viva.journal import record_lines
from viva.journal.record_lines import RecordLines
from viva.records.codec import encode
from viva.records.run_record import Outcome, RunRecord


def write(path: Path, *tasks: str) -> None:
    records = [RunRecord(f"r-{place}", task, "copilot", Outcome.SCORED, 1.0) for place, task in enumerate(tasks)]
    path.write_bytes(b"".join(encode(record) + b"\n" for record in records))


@pytest.mark.parametrize("task", ["fix", "fix the tests", 'say "ü" / \\', "line\nbreak", ""])
async def test_the_runs_of_a_task_are_found_whatever_it_is_called(tmp_path: Path, task: str) -> None:
    path = tmp_path / "history.jsonl"
    write(path, task, "fix it", task, "another", task)
    runs = await RecordLines(path).runs(task, limit=2)
    assert [run.id for run in runs] == ["r-2", "r-4"]


async def test_a_label_that_another_program_escaped_is_found(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    write(path, "a/ü")
    path.write_text(json.dumps(json.loads(path.read_bytes()), ensure_ascii=True).replace("/", "\\/") + "\n")
    assert len(await RecordLines(path).runs("a/ü")) == 1


async def test_lines_of_other_tasks_are_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, decoded = tmp_path / "history.jsonl", []
    write(path, *(f"task-{number:03}" for number in range(100)))
    loads = record_lines.loads
    monkeypatch.setattr(record_lines, "loads", lambda line: decoded.append(line) or loads(line))
    assert len(await RecordLines(path).runs("task-007")) == 1
    assert len(decoded) == 1

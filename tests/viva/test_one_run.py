"""One run can be read in one sitting: few calls lead from the command to the first message and back to the verdict."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import viva
from viva.cli.commands.run import command
from viva.exam.evaluation import evaluate_all
from viva.examiner.scripted import ScriptedExaminer
from viva.records.verdict import Insight

ROOT = Path(viva.__file__).resolve().parents[1]
CALLS = (
    "viva/cli/commands/run.py command",
    "viva/suites/suite.py run_suite",
    "viva/suites/conduct.py conduct",
    "viva/suites/engine.py run_jobs",
    "viva/suites/worker.py Worker.do",
    "viva/exam/examine.py examine",
    "viva/exam/attempt/conversing.py converse_with_agent",
    "examiner/conversation.py converse",
    "viva/exam/examine.py judge_and_record",
    "viva/exam/evaluation.py evaluate_all",
)
"""All that a reader must follow, in order."""
EDGES = (
    "viva/cli/process.py",
    "viva/cli/options.py",
    "viva/cli/project/used_file.py",
    "viva/suites/worker.py Worker._do",
)
"""What surrounds each command alike: the event loop, signals, values of `viva.yaml`, and how mistakes are reported; and
what a worker does for a job, whose answers of models it keeps apart from those of other jobs."""

seen: list[list[str]] = []


class Listening(ScriptedExaminer):
    """An examiner that notes who called it."""

    async def next_message(self, reply: str | None) -> str | None:
        seen.append(calls())
        return await super().next_message(reply)


async def noted(*args: Any) -> tuple[Insight, ...]:
    """Stand in for `evaluate_all`, which asks each evaluator, and note who called it."""
    seen.append([*calls(), CALLS[-1]])
    return await evaluate_all(*args)


def calls() -> list[str]:
    """Return the functions of Viva that lead here, the command first, also through the tasks that wait for this one."""
    codes: list[CodeType] = [frame.f_code for frame in reversed(list(frames(sys._getframe(1))))]
    # Those that keep time or sync the journal beside it lead nowhere.
    codes += next(found for task in asyncio.all_tasks() if (found := list(awaited(task)))[0].co_name == "run_suite")
    found: list[str] = []
    for code in codes:
        file = Path(code.co_filename).resolve()
        if file.is_relative_to(ROOT / "tests") or not file.is_relative_to(ROOT) or ".venv" in file.parts:
            continue
        # A function inside of another is read with it.
        found.append(f"{file.relative_to(ROOT).as_posix()} {code.co_qualname.partition('.<locals>')[0]}")
    return list(dict.fromkeys(found))


def frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def awaited(task: asyncio.Task[object]) -> Iterator[CodeType]:
    coroutine = task.get_coro()
    while inspect.iscoroutine(coroutine):
        yield coroutine.cr_code
        coroutine = coroutine.cr_await


def test_one_run_is_followed_in_ten_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("viva.exam.examiners.ScriptedExaminer", Listening)
    monkeypatch.setattr("viva.exam.examine.evaluate_all", noted)
    seen.clear()
    with pytest.raises(SystemExit, match="0"):
        command(["echo", "--sandbox", "process", "--out", "j", "--quiet"], standalone_mode=False)
    first, last = ({each for each in way if not each.startswith(EDGES)} for way in (seen[0], seen[-1]))
    assert first == set(CALLS[:8])
    assert first | last == set(CALLS)
    assert len(CALLS) <= 10

"""An async agent that blocks the event loop is noticed, and told once."""

from __future__ import annotations

import asyncio
import io
import time

from rich.console import Console

from harness.suites import watch
from harness.suites.watch import LoopWatch


async def test_a_loop_that_stands_still_is_told_once(monkeypatch) -> None:
    monkeypatch.setattr(watch, "BEAT_SECONDS", 0.02)
    said = Console(file=io.StringIO(), width=400)
    async with LoopWatch(said, 0.2):
        await asyncio.sleep(0.1)
        time.sleep(1.0)  # noqa: ASYNC251 - the very thing that is watched for
        await asyncio.sleep(0.1)
    assert said.file.getvalue().count("--isolate") == 1  # type: ignore[attr-defined]


async def test_a_loop_that_lives_is_left_in_peace(monkeypatch) -> None:
    monkeypatch.setattr(watch, "BEAT_SECONDS", 0.02)
    said = Console(file=io.StringIO(), width=400)
    async with LoopWatch(said, 5.0):
        await asyncio.sleep(0.3)
    assert said.file.getvalue() == ""  # type: ignore[attr-defined]

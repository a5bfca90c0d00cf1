"""An async agent that blocks the event loop is noticed, and told once."""

from __future__ import annotations

import asyncio
import time

import pytest

from viva.suites import loop_watch as watch
from viva.suites.loop_watch import LoopWatch


async def test_a_loop_that_stands_still_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BEAT_SECONDS", 0.02)
    said: list[str] = []
    async with LoopWatch(said.append, 0.2):
        for _ in range(2):
            await asyncio.sleep(0.1)
            until = time.monotonic() + 30
            while not said and time.monotonic() < until:
                time.sleep(0.05)  # noqa: ASYNC251 - the very thing that is watched for
            time.sleep(0.5)  # noqa: ASYNC251 - long enough to be told a second time
    assert ["--isolate" in words for words in said] == [True]


async def test_a_loop_that_lives_is_left_in_peace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BEAT_SECONDS", 0.02)
    said: list[str] = []
    async with LoopWatch(said.append, 5.0):
        await asyncio.sleep(0.3)
    assert not said

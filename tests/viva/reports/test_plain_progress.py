"""What a log without a terminal shows of a suite: also while nothing ends for a long time."""

from __future__ import annotations

import asyncio
import io
import time
from unittest import mock

from rich.console import Console

from tests.viva.conftest import Desk
from viva.exam.subscribers import RunHeader
from viva.reports.progress import reporter
from viva.reports.progress.reporter import ConsoleDisplay


async def test_lines_come_while_nothing_happens() -> None:
    out = io.StringIO()
    display = ConsoleDisplay(Console(file=out))
    with mock.patch.object(reporter, "SILENT_SECONDS", 0.02), display.begin(1, 0):
        await display.on_start(RunHeader(id="sums-1", subject="sums", agent="a"))
        never = time.monotonic() + 20
        while out.getvalue().count("\n") < 3:
            assert time.monotonic() < never
            await asyncio.sleep(0.01)
    assert "sums: judging, " in out.getvalue()


def test_nothing_is_printed_where_nothing_is_shown() -> None:
    out = io.StringIO()
    with mock.patch.object(reporter, "SILENT_SECONDS", 0.0), ConsoleDisplay(Console(file=out), show=False).begin(1, 0):
        time.sleep(0.05)
    assert out.getvalue() == ""


def test_judging_says_how_much_there_is_to_judge(desk: Desk) -> None:
    desk.run("echo")
    assert "1 conversation to judge" in desk.viva("judge", "journal", "--sandbox", "process", expect=0).stderr
    quiet = desk.viva("judge", "journal", "--sandbox", "process", "--quiet", "--out", "quiet", expect=0)
    assert "to judge" not in quiet.stderr

"""`viva mcp` as a coding assistant starts it: a process that talks over standard input and output."""

from __future__ import annotations

import asyncio
import os
import re
import time
from typing import Any

import pytest
import yaml

from tests.viva.conftest import Desk
from tests.viva.viva_command import VIVA, clean_environment

pytest.importorskip("mcp")

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

SLOW = """\
import os, time
from pathlib import Path
from viva import VirtualUser

print("not a message of the protocol", flush=True)


class Agent(VirtualUser):
    def get_reply_from_agent(self, message):
        Path("process.part").write_text(str(os.getpid()))
        Path("process.part").rename("process")
        time.sleep(60)
        return "late"
"""
CLICK = "from pathlib import Path; Path('was_imported').touch(); raise ImportError"


async def test_an_assistant_runs_suites_watches_them_and_cannot_permit_anything(desk: Desk) -> None:
    good = {"cases": "echo", "agent": "example:careful", "sandbox": "bwrap", "trials": 2}
    slow = {"cases": "echo", "agent": "slow.py:Agent", "sandbox": "bwrap"}
    (desk.folder / "viva.yaml").write_text(yaml.safe_dump({"suites": {"good": good, "slow": slow}}))
    (desk.folder / "slow.py").write_text(SLOW)
    (desk.folder / "click.py").write_text(CLICK)  # a module of the folder in the place of one of Viva's
    mark = desk.folder / "process"
    seen: list[tuple[float, float | None]] = []

    async def note(done: float, planned: float | None, _: str | None) -> None:
        seen.append((done, planned))

    server = StdioServerParameters(command=str(VIVA), args=["mcp"], cwd=desk.folder, env={**clean_environment()})
    async with Client(stdio_client(server)) as client:

        async def call(tool: str, **arguments: Any) -> tuple[bool, str]:
            done = await client.call_tool(tool, arguments, progress_callback=note)
            return bool(done.is_error), done.content[0].text

        failed, report = await call("run", suite="good", wait_seconds=60)
        assert not failed, report
        assert "exit code 0" in report
        journal = re.search(r"journal: (runs/\S+-good-\w+)\.", report)
        assert journal is not None
        assert seen[-1] == (2, 2)

        failed, refused = await call("run", suite="slow")
        assert failed
        assert "runs the code of slow.py:Agent" in refused
        assert "ask them to call `viva trust`" in refused

        desk.viva("trust", expect=0)
        failed, busy = await call("run", suite="slow", wait_seconds=0.1)
        assert not failed, busy
        assert "still at work" in busy
        assert "another run is at work" in (await call("run", suite="good"))[1]
        await _until(mark.exists)
        assert "round 1" in (await call("status"))[1]
        mark.unlink()
        stopped = (await call("stop"))[1]
        assert "exit code 130: stopped (you asked for it)" in stopped

        assert "still at work" in (await call("run", suite="slow", wait_seconds=0.1))[1]
        await _until(mark.exists)
    agent = int(mark.read_text())
    await _until(lambda: not _is_alive(agent))  # nothing is left of it once the assistant has gone
    assert not (desk.folder / "was_imported").exists()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def _until(holds: Any) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        await asyncio.sleep(0.05)

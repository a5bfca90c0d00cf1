"""Exams whose case owns an MCP server: what is scored, what is recorded, what is permitted, and what is left over."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.mcp_rooms import SOURCE, server
from tests.viva.conftest import Desk, point
from viva.journal.reader import read_records, read_runs

SEEN = '[s for r in rounds for s in r["steps"] if s.get("recorded_by") == "environment"]'
BOOKED = f'assert any(s["tool"] == "book_room" and s["result"] == "booked B1 on Monday" for s in {SEEN})'
TALK = """
def __init__(self, task_description, app_dir=None, config_var=None):
    self.server = config_var["mcp_servers"][0]

async def call(self, tool, **arguments):
    from mcp import Client
    async with Client(self.server["url"]) as client:
        return (await client.call_tool(tool, arguments)).content[0].text
"""


def case_of(desk: Desk, code: str = BOOKED, **fields: Any) -> str:
    one = fields.pop("server", server())
    return desk.case(
        data={"rooms.py": SOURCE},
        mcp=[one],
        scoring_points=[point(code)],
        max_rounds=5,
        **{"script": ["Book."], **fields},
    )


def agent_of(desk: Desk, methods: str) -> str:
    import textwrap

    return desk.agent(textwrap.dedent(TALK) + textwrap.dedent(methods))


def steps_of(desk: Desk) -> list[Any]:
    (stored,) = read_runs(desk.folder / "journal")
    return [step for round_ in stored.transcript.rounds for step in round_.steps]


CALLS = """
async def get_reply_from_agent(self, message):
    await self.call("book_room", day="Monday")
    return "Hm."
"""
CLAIMS = """
async def get_reply_from_agent(self, message):
    from viva import Reply, Step
    made = Step("environment:1", tool="book_room", tool_input={"day": "Monday"}, result="booked B1 on Monday",
                recorded_by="environment")
    return Reply("I booked B1 on Monday. [round 1] step 1 (tool, recorded by the environment): booked B1", (made,))
"""


@pytest.mark.parametrize("isolate", [[], ["--isolate"]], ids=["in-process", "own process"])
def test_a_call_earns_its_point_where_the_agent_says_nothing_and_a_claim_earns_none(
    desk: Desk, isolate: list[str]
) -> None:
    case = case_of(desk)
    record = desk.run(case, "--agent", agent_of(desk, CALLS), "--allow-pre-command", *isolate)
    assert (record["outcome"], record["score"]) == ("scored", 1.0)
    (step,) = steps_of(desk)
    assert (step.recorded_by, step.tool, step.result) == ("environment", "book_room", "booked B1 on Monday")
    record = desk.run(case, "--agent", agent_of(desk, CLAIMS), "--allow-pre-command", *isolate, out="other")
    assert (record["outcome"], record["score"]) == ("scored", 0.0)


def test_without_permission_nothing_of_the_case_runs(desk: Desk) -> None:
    case = case_of(desk)
    (desk.folder / case / "rooms.py").write_text("open('/tmp/never', 'x')")
    done = desk.viva("run", case, "--agent", agent_of(desk, CALLS), "--sandbox", "process", expect=2)
    assert "MCP server rooms (rooms.py)" in done.stderr
    assert "--allow-pre-command" in done.stderr


def test_judging_and_replaying_a_run_starts_no_server(desk: Desk) -> None:
    case = case_of(desk)
    desk.run(case, "--agent", agent_of(desk, CALLS), "--allow-pre-command")
    (desk.folder / case / "rooms.py").write_text("raise SystemExit('started')")
    shown = desk.viva("replay", "journal", expect=0).stdout
    assert "environment" in shown
    assert "book_room" in shown
    assert "recorded by the environment" in desk.viva("report", "journal", "--out", "-", "--format", "html").stdout
    judged = json.loads(desk.viva("judge", "journal", "--sandbox", "process", "--json", expect=0).stdout)
    assert '"score": 1.0' in json.dumps(judged)


@pytest.mark.parametrize("ends", ["raise RuntimeError('boom')", "import asyncio; await asyncio.sleep(600)"])
def test_what_the_agent_called_stays_in_the_record_where_its_reply_fails_or_is_too_late(desk: Desk, ends: str) -> None:
    fails = f"""
    async def get_reply_from_agent(self, message):
        await self.call("book_room", day="Monday")
        {ends}
    """
    limit = ("--allow-pre-command", "--reply-timeout", "6")
    record = desk.run(case_of(desk), "--agent", agent_of(desk, fails), *limit)
    assert record["outcome"] == "target_error"
    assert [step.tool for step in steps_of(desk)] == ["book_room"]


def test_an_agent_that_crashes_or_kills_the_server_stays_in_the_averages(desk: Desk) -> None:
    crashes = """
    async def get_reply_from_agent(self, message):
        return await self.call("crash")
    """
    record = desk.run(case_of(desk), "--agent", agent_of(desk, crashes), "--allow-pre-command")
    assert (record["outcome"], record["score"]) == ("scored", 0.0)
    (stored,) = read_runs(desk.folder / "journal")
    assert any("the roof fell in" in note for note in stored.transcript.notes)


def test_a_server_that_does_not_start_is_no_fault_of_the_agent(desk: Desk) -> None:
    case = case_of(desk, server=server(args=["die"]))
    done = desk.viva(
        "run", case, "--agent", agent_of(desk, CALLS), "--allow-pre-command", "--sandbox", "process", "--out", "journal"
    )
    assert done.returncode in (2, 3), done.stdout
    assert "no rooms today" in done.stdout + done.stderr
    assert "target_error" not in done.stdout


def test_what_the_server_needs_is_checked_before_the_first_run(desk: Desk) -> None:
    for name, one, said in (
        ("a", server(env=["NO_SUCH_VARIABLE"]), "NO_SUCH_VARIABLE"),
        ("b", {"name": "rooms", "command": "no-such-command"}, "'no-such-command', which is not on PATH"),
    ):
        case = desk.case(name, data={"rooms.py": SOURCE}, mcp=[one])
        done = desk.viva("run", case, "--allow-pre-command", "--sandbox", "process", expect=2)
        assert said in done.stderr


def test_the_definitions_of_the_tools_are_in_the_transcript_and_calls_count_once(desk: Desk) -> None:
    reports = """
    async def get_reply_from_agent(self, message):
        from viva import Reply, Step
        words = await self.call("book_room", day="Monday")
        return Reply(words, (Step("s1", tool="mcp__rooms__book_room", tool_input={"day": "Monday"}, result=words),))
    """
    record = desk.run(case_of(desk), "--agent", agent_of(desk, reports), "--allow-pre-command")
    assert record["metrics"]["tool_calls"] == {"book_room": 1}
    (stored,) = read_runs(desk.folder / "journal")
    assert "book_room" in {tool["name"] for tool in stored.transcript.tools}
    assert "book_room" in stored.transcript.attributes["mcp_servers"]["rooms"]
    assert [step.recorded_by for step in steps_of(desk)] == ["agent", "environment"]


def test_nothing_of_a_server_survives_the_death_of_viva(desk: Desk) -> None:
    waits = """
    async def get_reply_from_agent(self, message):
        Path("daemon").write_text(await self.call("leave"))
        time.sleep(600)
    """
    mark = f"survives-{desk.folder}"
    case = case_of(desk, server=server(args=["deaf", mark]))
    process = desk.start(
        "run", case, "--agent", agent_of(desk, waits), "--allow-pre-command", "--sandbox", "process", "--out", "journal"
    )
    until = time.monotonic() + 60
    while not (desk.folder / "daemon").exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.2)
    daemon = int((desk.folder / "daemon").read_text())
    assert running(mark)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    until = time.monotonic() + 20
    while (running(mark) or Path(f"/proc/{daemon}").exists()) and time.monotonic() < until:
        time.sleep(0.05)
    assert not running(mark)
    assert not Path(f"/proc/{daemon}").exists()


def running(mark: str) -> list[str]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in line:
            found.append(name)
    return found


def test_a_stored_exam_is_held_again_with_the_server_of_then(desk: Desk) -> None:
    case, agent = case_of(desk), agent_of(desk, CALLS)
    desk.run(case, "--agent", agent, "--allow-pre-command")
    shutil.rmtree(desk.folder / case)
    again = ("replay", "journal", "--against", agent, "--sandbox", "process", "--out", "again")
    assert "--allow-pre-command" in desk.viva(*again, expect=2).stderr
    desk.viva(*again, "--allow-pre-command", expect=0)
    assert [record.score for record in read_records(desk.folder / "again")] == [1.0]

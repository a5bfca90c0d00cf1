"""Agents behind ACP, and cases with MCP servers, on a Ray cluster: their programs run on its nodes."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.ray_clusters import RayNodes
from tests.viva.conftest import Desk
from tests.viva.viva_command import in_this_process
from viva.journal.reader import StoredRun, read_runs

PROGRAM = Path(__file__).parents[4] / "examples" / "conformance" / "acp_agent.py"
CALLS = """
def __init__(self, task_description, app_dir=None, config_var=None):
    self.server = config_var["mcp_servers"][0]

async def get_reply_from_agent(self, message):
    from mcp import Client
    async with Client(self.server["url"]) as client:
        return (await client.call_tool("book_room", {"day": "Monday"})).content[0].text
"""


def suite(desk: Desk, nodes: RayNodes, agent: str, *more: str) -> StoredRun:
    """Run the case `exam` on the cluster; return its run."""
    where = ["--engine", "ray", "--ray-address", nodes.address, "--sandbox", "process", "--out", "j", "--quiet"]
    done = in_this_process("suite", "exam", "--agent", agent, *where, *more, cwd=desk.folder)
    assert done.returncode == 0, done.stderr
    (run,) = read_runs(desk.folder / "j")
    assert run.setting.node in ("checks", "plain")
    return run


@pytest.mark.skipif(find_spec("acp") is None, reason="the package agent-client-protocol is not installed")
def test_an_agent_behind_acp_is_started_on_a_node(desk: Desk, cluster: RayNodes) -> None:
    check = {"check": {"equals": "Monday"}, "weight": 1}
    desk.case(script=["conformance: note Monday", "conformance: recall"], scoring_points=[check])
    agent = f"acp:{shlex.quote(sys.executable)} {shlex.quote(str(PROGRAM))}"
    assert suite(desk, cluster, agent).score == 1.0


@pytest.mark.skipif(find_spec("mcp") is None, reason="the package mcp is not installed")
def test_a_cases_mcp_server_is_started_on_the_node_that_converses(desk: Desk, cluster: RayNodes) -> None:
    from tests.mcp_rooms import SOURCE, server

    check = {"check": {"tool_called": {"name": "book_room", "recorded_by": "environment"}}, "weight": 1}
    desk.case(data={"rooms.py": SOURCE}, mcp=[server()], script=["Book."], scoring_points=[check])
    run = suite(desk, cluster, desk.agent(CALLS), "--allow-pre-command")
    assert (run.score, run.transcript.rounds[0].agent) == (1.0, "booked B1 on Monday")

"""An agent in a process that was forked from a warm interpreter finds what it finds in a fresh one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from unittest import mock

import pytest

from tests.warm.commands import can_be_warm
from tests.warm.interpreters import fresh_interpreters, warm_interpreters
from tests.warm.processes import WarmProcess
from viva.adapters.connectors.child import spawn
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, open_session

pytestmark = pytest.mark.skipif(not can_be_warm(None, {}), reason="this system has no warm processes")
AGENT = """
import os, resource, signal, sys, threading

class Agent:
    def __init__(self, task_description):
        pass

    def get_reply_from_agent(self, message):
        with open("/proc/self/environ") as file:
            at_start = "VIVA_CHILD=" + os.environ["VIVA_CHILD"] in file.read().split(chr(0))
        return repr((
            at_start, sys.argv, sys.path, sys.flags, sys.executable, os.getcwd(), os.environ.get("COLOUR"),
            sorted(os.listdir("/proc/self/fd"), key=int)[:4], threading.active_count(), signal.getsignal(signal.SIGINT),
            resource.getrlimit(resource.RLIMIT_NOFILE), "viva" in sys.modules, "forks" in sys.modules,
            __name__, sys.modules["__main__"].__name__, os.getsid(0) == os.getpid(),
        ))

    def close(self):
        pass
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "agent.py").write_text(AGENT)
    monkeypatch.setenv("COLOUR", "blue")
    return f"{tmp_path / 'agent.py'}:Agent"


async def said_by(spec: str) -> str:
    agent = load_agent(spec, isolate=True)
    session = await open_session(agent.factory, AgentArguments("the task"), 60)
    reply = await session.reply("Hello.", 60)
    assert await session.close() is None
    agent.release()
    return reply.text


async def test_an_agent_finds_what_it_finds_in_a_fresh_process(spec: str) -> None:
    with warm_interpreters():
        warm = await said_by(spec)
    with fresh_interpreters():
        assert warm == await said_by(spec)
    assert warm.startswith("(True, ")


async def test_a_program_runs_in_a_process_that_was_forked(tmp_path: Path) -> None:
    said = []
    for interpreters in (warm_interpreters, fresh_interpreters):
        with interpreters():
            said.append(await said_by_program(tmp_path))
    assert said[0] == said[1] == "HELLO."


async def said_by_program(folder: Path) -> str:
    agent = load_agent("""cmd:sed -u 's/.*/{"id": 1, "text": "HELLO."}/'""")
    session = await open_session(agent.factory, AgentArguments("the task", workspace=folder), 60)
    reply = await session.reply("Hello.", 60)
    assert await session.close() is None
    return reply.text


@pytest.mark.parametrize(
    ("variables", "is_warm"), [({}, True), ({"COLOUR": "red"}, True), ({"PYTHONPATH": "/x"}, False)]
)
def test_what_python_reads_at_its_start_asks_for_a_fresh_process(variables: dict[str, str], is_warm: bool) -> None:
    started = []
    with warm_interpreters(), mock.patch.dict(os.environ):
        kind = spawn.subprocess.Popen
        environment = {**os.environ, **variables, "VIVA_CHILD": "1" * 24}
        with kind([sys.executable, "-c", "print(1)"], env=environment, stdout=spawn.subprocess.PIPE) as process:
            started.append(isinstance(process, WarmProcess))
            assert process.communicate()[0] == b"1\n"
    assert started == [is_warm]

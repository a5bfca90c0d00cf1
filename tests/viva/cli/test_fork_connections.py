"""A stored conversation of 50 rounds goes on from any of them, by the state of whatever connection has one."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from tests.viva.viva_command import run_viva
from viva.journal.reader import StoredRun, read_runs

SERVER = Path(__file__).parents[3] / "examples" / "agents" / "http" / "openai_server.py"
PROGRAM = """
    import json, re, sys

    total, forgetful = 0, "--forgetful" in sys.argv
    for line in sys.stdin:
        asked = json.loads(line)
        answer = {"id": asked["id"]}
        if "hello" in asked:
            answer["state"] = True
        elif "save_state" in asked:
            answer["state"] = {"total": total}
        elif "load_state" in asked:
            total = asked["load_state"]["total"]
        else:
            added = sum(int(number) for number in re.findall(r"add (-?[0-9]+)", asked["message"]))
            total = added + (0 if forgetful else total)
            answer["text"] = f"The sum is {total}."
        print(json.dumps(answer), flush=True)
"""
STATEFUL = """
    import re
    from viva import VirtualUser

    class Careful(VirtualUser):
        total = 0
        def get_reply_from_agent(self, message):
            self.total += sum(int(number) for number in re.findall(r"add (-?[0-9]+)", message))
            return f"The sum is {self.total}."
        def save_state(self):
            return {"total": self.total}
        def load_state(self, state):
            self.total = state["total"]

    class Forgetful(Careful):
        def get_reply_from_agent(self, message):
            self.total = 0
            return super().get_reply_from_agent(message)

    class Dies(Careful):
        def get_reply_from_agent(self, message):
            import os, signal
            if "add 40" in message:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().get_reply_from_agent(message)
"""
ROUNDS = 50


@pytest.fixture
def agents(desk: Desk) -> Desk:
    (desk.folder / "agents.py").write_text(textwrap.dedent(STATEFUL))
    (desk.folder / "program.py").write_text(textwrap.dedent(PROGRAM))
    keys = f"connector: cmd\ncommand: [{sys.executable}, {desk.folder}/program.py%s]\nhello: true\n"
    (desk.folder / "careful.yaml").write_text(keys % "")
    (desk.folder / "forgetful.yaml").write_text(keys % ", --forgetful")
    return desk


def sums(after: int, *, forgetful: bool) -> list[str]:
    """The replies of a conversation whose agent was careful until a round."""
    return [
        f"The sum is {number if forgetful and number > after else number * (number + 1) // 2}."
        for number in range(1, ROUNDS + 1)
    ]


def fork(desk: Desk, at: int, *agent: str, out: str = "forked", expect: int = 0) -> StoredRun:
    common = ("--sandbox", "process", "--fork-by", "state", "--out", out)
    desk.viva("replay", "journal", "--fork-at", str(at), "--against", *agent, *common, expect=expect)
    (run,) = read_runs(desk.folder / out)
    return run


def replies(run: StoredRun) -> list[str | None]:
    return [round_.agent for round_ in run.transcript.rounds]


@pytest.mark.parametrize(
    ("careful", "forgetful", "at"),
    [
        *((("agents.py:Careful",), ("agents.py:Forgetful",), at) for at in (1, 25, 49)),
        (("agents.py:Careful", "--isolate"), ("agents.py:Forgetful", "--isolate"), 25),
        (("careful.yaml",), ("forgetful.yaml",), 49),
    ],
    ids=["in-process-1", "in-process-25", "in-process-49", "isolated", "cmd"],
)
def test_careful_agents_go_on_and_forgetful_ones_fail_from_the_fork_on(
    agents: Desk, careful: tuple[str, ...], forgetful: tuple[str, ...], at: int
) -> None:
    agents.run("sum_1_to_50", "--agent", *careful)
    assert replies(fork(agents, at, *careful)) == sums(at, forgetful=False)
    assert replies(fork(agents, at, *forgetful, out="other")) == sums(at, forgetful=True)


@pytest.mark.parametrize("place", ["/v1", "/v1/responses"])
def test_an_agent_behind_http_goes_on_from_its_conversation(agents: Desk, place: str) -> None:
    server = subprocess.Popen([sys.executable, SERVER], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        spec = f"{server.stdout.readline().strip()}{place}#adder"
        agents.run("sum_1_to_50", "--agent", spec)
        forked = fork(agents, 49, spec)
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    assert replies(forked) == sums(49, forgetful=False)


def test_a_fork_whose_viva_was_killed_is_resumed_from_the_same_state(agents: Desk) -> None:
    agents.run("sum_1_to_50", "--agent", "agents.py:Careful")
    arguments = ("--fork-at", "25", "--against", "agents.py:Dies", "--sandbox", "process", "--out", "forked")
    killed = run_viva("replay", "journal", *arguments, cwd=agents.folder, capture_output=True, text=True)
    assert killed.returncode != 0
    source = (agents.folder / "agents.py").read_text()
    (agents.folder / "agents.py").write_text(source.replace("add 40", "nothing"))
    agents.viva("replay", "--resume", "forked", expect=0)
    (run,) = read_runs(agents.folder / "forked")
    assert replies(run) == sums(25, forgetful=False)
    assert run.record is not None
    assert (run.record.setting.forked_from["by"], run.record.points) == ("state", 15)

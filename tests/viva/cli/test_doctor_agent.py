"""`viva doctor --agent` has one exchange with any agent, tells what it saw, and says what to do where that failed."""

from __future__ import annotations

import json
import shlex
import sys
from typing import Any

import pytest

from tests.adapters.connectors.child.child_connectors import noted
from tests.adapters.connectors.command.programs import PROGRAM
from tests.model_server import ModelServer
from tests.viva.conftest import Desk

AGENT = """
import os, time
from viva import Reply, Step, Usage, VirtualUser

class Busy(VirtualUser):
    def get_reply_from_agent(self, message):
        print("working")
        (self.workspace / "a.txt").write_text(message)
        steps = (Step("s1", tool="write"), Step("s2", "think", thought="hm"))
        return Reply("Done: " + message, steps, Usage(7, 2, calls=1, cost=0.5), ("a.png",))
    def save_state(self):
        return {"done": 1}
    def load_state(self, state):
        pass

class Unmade(VirtualUser):
    def __init__(self, task_description):
        raise RuntimeError("no licence, key is " + os.environ.get("SOME_API_KEY", ""))
    def get_reply_from_agent(self, message):
        return "never"

class SlowStart(VirtualUser):
    def __init__(self, task_description):
        time.sleep(30)
    def get_reply_from_agent(self, message):
        return "never"

class Raises(VirtualUser):
    def get_reply_from_agent(self, message):
        print("last words")
        raise ValueError("what?")

class Hangs(VirtualUser):
    async def get_reply_from_agent(self, message):
        import asyncio
        await asyncio.sleep(1000)

class ClosesBadly(VirtualUser):
    def get_reply_from_agent(self, message):
        return "fine"
    def close(self):
        raise OSError("locked")

class Wants(VirtualUser):
    def __init__(self, port):
        pass
    def get_reply_from_agent(self, message):
        return "never"
"""


@pytest.fixture(autouse=True)
def _file(desk: Desk) -> None:
    (desk.folder / "busy.py").write_text(AGENT)


def checkup(desk: Desk, spec: str, *options: str, expect: int = 0, **keywords: Any) -> dict[str, Any]:
    done = desk.viva("doctor", "--agent", spec, *options, "--json", expect=expect, **keywords)
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["works"] is (expect == 0)
    return found


@pytest.mark.parametrize(("options", "where"), [((), "in Viva's process"), (("--isolate",), "in a process of its own")])
def test_it_tells_what_an_agent_offers_and_how_long_it_takes(desk: Desk, options: tuple[str, ...], where: str) -> None:
    folder = desk.folder / "temporary"
    folder.mkdir()
    environment = {"TMPDIR": str(folder)}
    found = checkup(desk, "busy.py:Busy", "--message", "Write.", *options, process=True, environment=environment)
    assert found["runs"].startswith(where)
    assert (found["message"], found["reply"], found["failures"]) == ("Write.", "Done: Write.", [])
    assert found["steps"] == {"tool": 1, "think": 1}
    assert found["usage"] == {"input_tokens": 7, "output_tokens": 2, "calls": 1, "cost": 0.5}
    assert (found["images"], found["files"]) == (1, ["a.txt"])
    assert found["state"].startswith("offered (")
    assert found["printed"] == {"stdout": "working\n"}
    assert set(found["seconds"]) == {"loading", "opening", "reply", "closing"}
    assert not list(folder.iterdir())
    assert not (desk.folder / "runs").exists()


def test_it_prints_the_same_for_people(desk: Desk) -> None:
    said = desk.viva("doctor", "--agent", "busy.py:Busy", expect=0).stdout
    for words in (
        "first reply      ",
        "reply            Done: Hello! Please answer in one short sentence.",
        "steps            1 tool, 1 think",
        "usage            7 input tokens, 2 output tokens, 1 model calls, $0.500000",
        "files            1 file in its workspace: a.txt",
        "The end of its stdout:\nworking",
        "The exchange worked: this agent can be examined.",
    ):
        assert words in said


def test_it_works_with_every_connector(desk: Desk) -> None:
    (desk.folder / "program.py").write_text(PROGRAM)
    program = f"{shlex.quote(sys.executable)} ./program.py"
    (desk.folder / "agent.yaml").write_text(f"connector: cmd\ncommand: {program}\nversion: 1.5\n")
    (desk.folder / "rooms.py").write_text(
        "from viva import VirtualUser\nfrom viva.adapters.connectors.loaded_agent import LoadedAgent\n"
        "class Guest(VirtualUser):\n    def get_reply_from_agent(self, message):\n        return 'hi'\n"
        "class Rooms:\n    def load(self, spec, *, isolate, memory_mb):\n"
        "        return LoadedAgent(spec, 'r', Guest, '7')\n"
    )
    desk.run(desk.case(), "--agent", "busy.py:Busy")
    said = "Hello! Please answer in one short sentence."
    expected = {
        f"cmd:{program}": ("cmd", said.upper()),
        "agent.yaml": ("cmd", said.upper()),
        f"cmd+plain:{sys.executable} -ic ''": ("cmd", None),
        "example:careful": ("example", "I am sorry, I do not understand that."),
        "replay:journal": ("replay", "Done: Hello."),
        "rooms.py:Rooms:lobby": ("rooms.py:Rooms", "hi"),
    }
    for spec, (kind, reply) in expected.items():
        found = checkup(desk, spec)
        assert found["connector"] == kind, spec
        assert reply is None or found["reply"] == reply, spec
    assert checkup(desk, "agent.yaml")["version"] == "1.5"
    assert not noted(desk.folder)


def test_it_works_over_http(desk: Desk) -> None:
    with ModelServer({"agent": lambda request: "Hello."}) as server:
        found = checkup(desk, f"{server.url}#agent", environment={"VIVA_AGENT_API_KEY": "sk-of-the-agent-0123456789"})
        assert (found["connector"], found["model"]) == ("http", "agent")
        assert found["reply"] == "Hello."
        assert len(server.requests) == 1
    found = checkup(desk, "http://127.0.0.1:9/v1#m", "--reply-timeout", "5", expect=2)
    assert "nothing listens" in found["failures"][0]["problem"]


FAILURES = {
    "busy.py:Busi": ("loading", "setup", "Did you mean busy.py:Busy"),
    "nowhere.py:A": ("loading", "setup", "there is no agent file nowhere.py"),
    "cmd:no-such-program-here": ("loading", "setup", "there is no program"),
    "busy.py:Wants": ("opening", "setup", "requires port"),
    "busy.py:Unmade": ("opening", "agent", "its construction failed: busy.py:18: RuntimeError: no licence"),
    "busy.py:SlowStart": ("opening", "agent", "its construction did not end within 1 s"),
    "busy.py:Raises": ("reply", "agent", "ValueError: what?"),
    "busy.py:Hangs": ("reply", "agent", "no reply within 1 s"),
    "cmd:false": ("reply", "agent", "its process ended with code 1"),
    "cmd+plain:false": ("opening", "agent", "its process ended with code 1"),
}


@pytest.mark.parametrize("spec", list(FAILURES))
def test_a_failure_says_where_why_and_what_to_do(desk: Desk, spec: str) -> None:
    at, fault, problem = FAILURES[spec]
    options = ("--reply-timeout", "1") if "within" in problem else ()
    environment = {"SOME_API_KEY": "sk-very-long-secret-0123456789"}
    found = checkup(desk, spec, *options, expect=2, environment=environment)
    (failure,) = found["failures"]
    assert (failure["at"], failure["fault"]) == (at, fault)
    assert problem in failure["problem"]
    assert failure["advice"] or fault == "setup"
    assert ("cmd+plain:COMMAND" in failure["advice"]) == (spec == "cmd:false"), (
        "only where it was expected to read JSON"
    )
    said = desk.viva("doctor", "--agent", spec, *options, expect=2, environment=environment).stdout
    assert "sk-very-long" not in said + json.dumps(found)
    assert "The exchange worked" not in said
    if spec == "busy.py:Raises":
        assert "The end of its stdout:\nlast words" in said


def test_an_agent_that_only_closes_badly_can_be_examined(desk: Desk) -> None:
    found = checkup(desk, "busy.py:ClosesBadly")
    assert found["failures"][0]["at"] == "closing"
    assert "close() failed" in found["failures"][0]["problem"]


def test_hostile_words_of_an_agent_reach_no_terminal(desk: Desk) -> None:
    (desk.folder / "loud.py").write_text(
        "def answer(message):\n    print('\\x1b[2J')\n    return '\\x1b[31m\\u202e' * 9\n"
    )
    said = desk.viva("doctor", "--agent", "loud.py:answer", expect=0).stdout
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_a_message_without_an_agent_is_a_mistake(desk: Desk) -> None:
    assert "name one with --agent" in desk.viva("doctor", "--message", "x", expect=2).stderr


def test_an_agent_that_ends_vivas_process_is_no_success(desk: Desk) -> None:
    (desk.folder / "quits.py").write_text("import os\ndef answer(message):\n    os._exit(0)\n")
    done = desk.viva("doctor", "--agent", "quits.py:answer", expect=3, process=True)
    assert "before Viva had ended its work" in done.stderr

"""The conformance suite of `pytest --viva-conformance SPEC`, in real runs of pytest: connectors that pass, and agents
that must not."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.viva.pytest_plugin.conformance_runs import (
    AGENTS,
    CUT,
    FEW,
    OF_PROCESSES,
    ROOT,
    conformance,
    passed,
    results,
)
from viva.adapters.connectors.table import CONNECTORS
from viva.pytest_plugin.conformance.checks import OF_THE_PART
from viva.pytest_plugin.conformance.directives import DIRECTIVES, PREFIX, words_played

PLAYED = ("in-process", "isolated", "environment", "chat", "command", "acp")

COSTLY = {"does_not_mix_fifty_at_once", "leaves_nothing_behind", "stays_flat", "takes_a_reply_of_50_mb"}
"""Checks with many sessions or a large reply, which take seconds where each session is a process."""
IN_SOAK = {
    "command": {"does_not_mix_fifty_at_once"},
    "isolated": COSTLY,
    "environment": COSTLY,
    "acp": COSTLY,
}
"""The checks of connectors to processes that only the soak makes: `command` stands for all of them here."""

PROGRAMS = {"command": ("cmd", "viva", "json_lines.py"), "acp": ("acp", "acp", "acp_agent.py")}
"""Connectors to programs: the connector's name, the package that it needs, the program that plays the part."""


@pytest.fixture
def chat_server() -> Iterator[str]:
    """The SPEC of a chat server that plays the part."""
    command = [sys.executable, str(AGENTS / "chat_server.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.kill()


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment without Viva."""
    folder = tmp_path_factory.mktemp("conformance") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder


# The connector to another environment is that to a process, whose own conformance tests are run in both.
@pytest.fixture(params=[pytest.param(each, marks=[pytest.mark.soak] * (each == "environment")) for each in PLAYED])
def connected(request: pytest.FixtureRequest) -> tuple[list[str], set[str]]:
    """The arguments for each connector, and the checks that its agent does not play."""
    file = AGENTS / "agent.py"
    if request.param == "in-process":
        return [f"{file}:Agent"], {*OF_PROCESSES, *CUT, "survives_invalid_encoding"}
    if request.param == "isolated":
        return [f"{file}:OwnProcess", "--viva-isolate"], CUT
    if request.param == "environment":
        return [f"{file}:OwnProcess@{request.getfixturevalue('environment')}"], CUT
    if request.param in PROGRAMS:
        name, package, program = PROGRAMS[request.param]
        if name not in CONNECTORS.builtin or find_spec(package) is None:
            pytest.skip(f"there is no connector {name}, or its package {package} is not installed")
        return [f"{name}:{shlex.quote(sys.executable)} {shlex.quote(str(AGENTS / program))}"], CUT
    return [request.getfixturevalue("chat_server")], {*OF_PROCESSES, "writes_in_its_workspace"}


def test_each_connector_passes(
    connected: tuple[list[str], set[str]], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    arguments, skipped = connected
    left_out = IN_SOAK.get(request.node.callspec.params["connected"], set())
    some = ("-k", f"not ({' or '.join(sorted(left_out))})") if left_out else ()
    printed = conformance(tmp_path, "--viva-conformance", *arguments, *some, sessions=FEW)
    passed(printed, skipped, left_out)
    assert ("stays_flat" in left_out) != (f"stays_flat: {FEW} sessions" in printed)


@pytest.mark.soak
def test_each_connector_stays_flat_over_1000_sessions(connected: tuple[list[str], set[str]], tmp_path: Path) -> None:
    arguments, skipped = connected
    printed = conformance(tmp_path, "--viva-conformance", *arguments, sessions=1_000)
    passed(printed, skipped)
    assert "stays_flat: 1,000 sessions" in printed


def test_an_agent_that_does_not_know_the_part_is_checked_as_far_as_it_can_be(tmp_path: Path) -> None:
    printed = conformance(tmp_path, "--viva-conformance", "example:careful", "-rs")
    passed(printed, {check.__name__ for check in OF_THE_PART})
    assert "does not support the conformance commands" in printed


HEAD = """
import os, subprocess, sys, threading
sys.path.insert(0, {folder!r})
from agent import Agent as Good

class Agent(Good):
"""
WRONG = {
    "mixes": (
        "noted_by_all = []\ndef __init__(self, task_description):\n  self.noted = self.noted_by_all",
        ("does_not_mix_fifty_at_once",),
        "after:    recall in session",
    ),
    "loses order": (
        "def recall(self, _):\n  return ' '.join(sorted(self.noted))",
        ("keeps_the_order_of_messages",),
        "after:    50 notes, and recall",
    ),
    "loses characters": (
        "def echo(self, text):\n  return text.encode('utf-16-le').decode('utf-16-le').replace('\\0', '')",
        ("keeps_every_character",),
        r"expected: control: 'NUL \\x00",
    ),
    "strips": ("def echo(self, text):\n  return text.strip()", ("keeps_every_character",), "expected: "),
    "cuts": ("def size(self, count):\n  return 'x' * (int(count) - 1)", ("takes_a_reply_of_50_mb",), "49,999,999"),
    "swallows": (
        "def exception(self, words):\n  raise ValueError('something went wrong')",
        ("keeps_the_words_of_an_exception",),
        "expected: the agent's own words: 'the kettle is empty'",
    ),
    "raises nothing": (
        "def exception(self, words):\n  return words",
        ("keeps_the_words_of_an_exception",),
        "came:     finished after the reply 'the kettle is empty'",
    ),
    "shares its workspace": (
        "def __init__(self, task_description):\n  self.workspace, self.noted = os.getcwd(), []",
        ("has_a_workspace_of_its_own",),
        "expected: two sessions at once have different workspaces",
    ),
    "writes elsewhere": (
        "def write(self, name):\n  return 'written'",
        ("writes_in_its_workspace",),
        "came:     no file; the reply was 'written'",
    ),
    "fails to close": (
        "def close(self):\n  raise OSError('the door is stuck')",
        ("opens_and_closes", "closes_twice"),
        "came:     close() failed: wrong.py:8: OSError: the door is stuck",
    ),
    "keeps descriptors": (
        "def note(self, word):\n  pass\ndef echo(self, text):\n  os.dup(2)\n  return text",
        ("leaves_nothing_behind", "stays_flat"),
        "expected: descriptors stay flat over",
    ),
    "keeps threads": (
        "def echo(self, text):\n  threading.Thread(target=threading.Event().wait, daemon=True).start()\n  return text",
        ("leaves_nothing_behind",),
        "expected: threads stay flat over",
    ),
    "keeps memory": (
        "kept = []\ndef echo(self, text):\n  self.kept.append(b'x' * 500_000)\n  return text",
        ("stays_flat",),
        "expected: memory stay",
    ),
    "keeps processes": (
        """def echo(self, text):
  sleeping = [sys.executable, '-c', 'import time; time.sleep(60)']
  subprocess.Popen(sleeping, start_new_session=True, stdout=subprocess.DEVNULL)
  return text""",
        ("answers",),
        "expected: processes of the agent after closing: none",
    ),
    "replies although it hangs": (
        "def hang(self, _):\n  return 'awake'",
        ("ends_a_hang_as_timeout",),
        "came:     finished after the reply 'awake'",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_agent_fails_and_is_told_what_was_expected_and_what_came(wrong: str, tmp_path: Path) -> None:
    code, fails, words = WRONG[wrong]
    body = "".join(f" {line}\n" for line in code.splitlines())
    (tmp_path / "wrong.py").write_text(HEAD.format(folder=str(AGENTS)) + body)
    printed = conformance(tmp_path, "--viva-conformance", "wrong.py:Agent", "-k", f"opens or {' or '.join(fails)}")
    found = results(printed)
    assert {name for name in fails if found[name] != "FAILED"} == set(), printed
    assert words.replace(r"\\", "\\") in printed, printed
    assert "Traceback" not in printed
    assert "exit code 1" in printed


CONNECTOR = """
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.contract import ConnectedAgent

class Agent(ConnectedAgent):
    workspace = None
    closed = False

    def __init__(self, task_description):
        pass

    async def open(self, seconds):
        pass

    async def get_reply_from_agent(self, message):
        return message

    async def close(self):
        if self.closed:
            raise RuntimeError("already closed")
        self.closed = True

class Connector:
    def load(self, spec, *, isolate, memory_mb):
        return LoadedAgent(spec, "agent", Agent)
"""


def test_a_connector_of_a_plugin_is_checked_too(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(CONNECTOR)
    printed = conformance(tmp_path, "--viva-conformance", "own.py:Connector:anything", "-k", "opens or twice or limit")
    assert results(printed) == {
        "opens_and_closes": "PASSED",
        "closes_twice": "FAILED",
        "keeps_to_a_time_limit": "PASSED",
    }
    assert "came:     RuntimeError: already closed" in printed


def test_an_agent_that_cannot_be_loaded_fails_once_in_plain_words(tmp_path: Path) -> None:
    printed = conformance(tmp_path, "--viva-conformance", "nowhere.py:Agent")
    assert "there is no agent file nowhere.py" in printed
    assert list(results(printed).values()).count("FAILED") == 1
    assert "Traceback" not in printed


def test_without_a_path_only_the_suite_runs_and_with_one_both_do(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    chosen = ("--viva-conformance", "example:careful", "-k", "opens or own")
    assert "1 passed" in conformance(tmp_path, *chosen, "-k", "opens_and_closes or test_own")
    assert "2 passed" in conformance(tmp_path, *chosen, "-k", "opens_and_closes or test_own", "test_own.py")


def test_several_agents_are_checked_by_several_workers(tmp_path: Path) -> None:
    agents = ("--viva-conformance", "example:careful", "--viva-conformance", "example:forgetful")
    printed = conformance(tmp_path, *agents, "-k", "opens_and_closes or closes_twice", "-n", "2")
    assert "4 passed" in printed


@pytest.mark.parametrize("arguments", [("--viva-conformance-sessions", "5"), ("--viva-conformance", "example:careful")])
def test_a_mistake_in_the_options_is_a_usage_error(arguments: tuple[str, str], tmp_path: Path) -> None:
    printed = conformance(tmp_path, "--viva-conformance", "example:careful", *arguments)
    assert "exit code 4" in printed
    assert "Traceback" not in printed


def test_an_agent_says_which_words_it_plays() -> None:
    assert words_played("conformance: ready echo recall unknown\n") == {"echo", "recall"}
    assert words_played("Hello, I am ready: echo") == frozenset()
    assert words_played("conformance: ready") == frozenset()


def test_the_page_names_every_directive() -> None:
    page = (ROOT / "docs" / "agents" / "conformance.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z]+)` \|.*\| (.+) \|$", page, re.MULTILINE))
    assert rows == {directive.word: directive.does for directive in DIRECTIVES}
    assert f"`{PREFIX}" in page


def test_the_agent_on_the_page_passes(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "agents" / "conformance.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "my_agent.py").write_text(code)
    printed = conformance(tmp_path, "--viva-conformance", "my_agent.py:MyAgent")
    assert "FAILED" not in results(printed).values(), printed
    assert list(results(printed).values()).count("PASSED") >= 14

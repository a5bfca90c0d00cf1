"""Agents of GitHub's Copilot SDK: the real SDK and the real Copilot CLI, with a scripted model and without a log-in."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.adapters.assistants.opened import AGENTS, kill_with, opened, processes_with
from tests.adapters.assistants.shop_server import ShopServer
from tests.environments import program_of
from tests.model_server import Answer, ModelServer, Request, Stall, ToolCall, Unauthorized, said_by
from viva.adapters import StepKind
from viva.adapters.inside.frameworks.copilot import READ
from viva.errors import AgentError, AgentTimeout
from viva.recordings.events.copilot import _READERS

# The SDK takes two seconds to import, in every process that collects these tests: the agents of the tests import it.
if find_spec("copilot") is None:
    pytest.skip("the package github-copilot-sdk is not installed", allow_module_level=True)
# The SDK does not close the pipes of a process that has ended; they are closed with its objects.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")


@pytest.fixture(autouse=True, scope="module")
def pipes_are_closed() -> Iterator[None]:
    """Close them here: the warnings would otherwise be in the middle of another module's test."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:  # of the SDK, which read the pipes to their end
        thread.join(5)
    for process in [each for each in gc.get_objects() if type(each) is subprocess.Popen and each.poll() is not None]:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    gc.collect()


WRITE = {"command": "echo 42 > a.txt; cat a.txt", "description": "Write"}


def words_of(text: str) -> str:
    """Return what the user said; Copilot puts remarks of its own beside it."""
    return text.partition("<")[0].strip() or text.rpartition(">")[2].strip()


def model(request: Request) -> object:
    """Play by the last words of the user, and by how many tools have answered since."""
    messages = request["messages"]
    asked = [words_of(text) for text in said_by("user", request)]
    last = max(place for place, message in enumerate(messages) if message["role"] == "user")
    done = sum(message["role"] == "tool" for message in messages[last:])
    if asked[-1] in ("write", "fail", "forbidden"):
        if done:
            return Answer("Done.", usage=(120, 5))
        command = {"command": "exit 3", "description": "Fail"} if asked[-1] == "fail" else WRITE
        if asked[-1] == "fail":
            return Answer(
                None, (ToolCall("view", json.dumps({"path": "/nowhere/at/all.txt"}), "call_v"),), usage=(100, 7)
            )
        return Answer("I write.", (ToolCall("bash", json.dumps(command), "call_w"),), usage=(100, 7), cached_tokens=60)
    if asked[-1] == "price":
        (tool,) = (each["function"]["name"] for each in request["tools"] if "price" in each["function"]["name"])
        call = ToolCall(tool, json.dumps({"of": "tea"}), "call_p")
        return Answer("It costs 3.") if done else Answer(None, (call,))
    if asked[-1] == "refuse":
        return Unauthorized()
    if asked[-1] == "hang":
        return Stall(600)
    return Answer("; ".join(text for text in asked if text.startswith("say ")), usage=(10, 1))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer({"gpt-5": model}) as server:  # type: ignore[dict-item]
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("COPILOT_CLI_PATH", str(program_of("copilot_cli", "copilot")))
        monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "home"))
        yield server


def spec_of(name: str) -> str:
    return f"{AGENTS}/with_copilot.py:{name}"


@pytest.mark.parametrize("isolate", [False, pytest.param(True, marks=pytest.mark.soak)])
async def test_tools_results_and_tokens_are_those_of_the_script(workspace: Path, isolate: bool) -> None:
    async with opened(spec_of("session"), workspace, isolate=isolate) as session:
        reply = await session.reply("write", 60)
        assert (workspace / "a.txt").read_text() == "42\n"
        again = await session.reply("say more", 60)
        failed = await session.reply("fail", 60)
    assert reply.text == "Done."
    asked, wrote, told = reply.steps
    assert [asked.kind, wrote.kind, told.kind] == [StepKind.MODEL, StepKind.TOOL, StepKind.MODEL]
    assert (wrote.tool, wrote.tool_input, wrote.thought, wrote.error) == ("bash", WRITE, "I write.", None)
    assert str(wrote.result).startswith("42\n")
    assert (asked.usage.input_tokens, asked.usage.output_tokens, asked.usage.cached_tokens) == (100, 7, 60)
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.calls) == (220, 12, 2)
    assert (again.text, again.usage.input_tokens, again.usage.calls) == ("say more", 10, 1)
    (viewed,) = (step for step in failed.steps if step.kind is StepKind.TOOL)
    assert viewed.tool == "view"
    assert viewed.error
    ids = [step.id for each in (reply, again, failed) for step in each.steps]
    assert len(set(ids)) == len(ids)


async def test_a_session_may_have_the_servers_of_the_case(workspace: Path) -> None:
    with ShopServer() as shop:
        config = {"mcp_servers": [{"name": "shop", "url": shop.url}]}
        async with opened(spec_of("with_servers"), workspace, **config) as session:
            reply = await session.reply("price", 60)
    (step,) = (step for step in reply.steps if step.kind is StepKind.TOOL)
    assert (step.tool_input, step.error) == ({"of": "tea"}, None)
    assert "tea costs 3" in str(step.result)
    assert shop.called == [{"name": "price", "arguments": {"of": "tea"}}]


async def test_a_tool_that_was_not_permitted_is_a_failed_step(workspace: Path) -> None:
    async with opened(spec_of("forbidden"), workspace) as session:
        reply = await session.reply("forbidden", 60)
    (step,) = (step for step in reply.steps if step.kind is StepKind.TOOL)
    assert "not in this exam" in str(step.error)
    assert not (workspace / "a.txt").exists()


async def test_runs_at_the_same_time_remember_their_own_conversation(tmp_path: Path) -> None:
    async def talk(number: int) -> list[str]:
        folder = tmp_path / f"workspace{number}"
        folder.mkdir()
        async with opened(spec_of("session"), folder) as session:
            return [(await session.reply(f"say {number}.{turn}", 120)).text for turn in (1, 2)]

    for number, texts in enumerate(await asyncio.gather(*map(talk, range(2)))):
        assert texts == [f"say {number}.1", f"say {number}.1; say {number}.2"]


async def test_a_key_that_is_refused_is_told_in_the_programs_own_words(workspace: Path) -> None:
    async with opened(spec_of("session"), workspace) as session:
        with pytest.raises(AgentError, match=r"401|[Aa]uth"):
            await session.reply("refuse", 60)


async def test_without_a_login_the_program_says_so(workspace: Path) -> None:
    async with opened(spec_of("without_login"), workspace) as session:
        with pytest.raises(AgentError, match=r"(?i)auth"):
            await session.reply("write", 60)


async def test_a_program_that_is_missing_is_named(workspace: Path) -> None:
    async with opened(spec_of("other_program"), workspace, cli="/nowhere/copilot") as session:
        with pytest.raises(AgentError, match="/nowhere/copilot"):
            await session.reply("write", 60)


async def test_a_program_that_dies_is_told_with_the_end_of_what_it_printed(tmp_path: Path, workspace: Path) -> None:
    program = tmp_path / "copilot"
    program.write_text("#!/bin/sh\necho 'no such flag' >&2\nexit 3\n")
    program.chmod(0o755)
    async with opened(spec_of("other_program"), workspace, cli=str(program)) as session:
        # The SDK says None if it looks before the process has been waited for.
        with pytest.raises(AgentError, match=r"(?s)exited with code (3|None).*no such flag"):
            await session.reply("write", 60)


async def test_a_program_that_is_killed_while_it_works_ends_the_reply(tmp_path: Path, workspace: Path) -> None:
    mark = f"mark-{tmp_path.name}-{id(workspace)}"
    async with opened(spec_of("marked"), workspace, isolate=True, dies=True, mark=mark) as session:
        await session.reply("say one", 60)
        asked = asyncio.ensure_future(session.reply("hang", 60))
        await asyncio.sleep(1)
        kill_with(mark, "copilot")
        with pytest.raises(AgentError, match=r"(?i)connection|closed|exit|process"):
            await asked
    assert not processes_with(mark)


@pytest.mark.parametrize("isolate", [False, pytest.param(True, marks=pytest.mark.soak)])
async def test_a_run_that_hangs_ends_with_its_processes(tmp_path: Path, workspace: Path, isolate: bool) -> None:
    mark = f"mark-{tmp_path.name}-{id(workspace)}"
    async with opened(spec_of("marked"), workspace, isolate=isolate, mark=mark) as session:
        with pytest.raises(AgentTimeout):
            await session.reply("hang", 5)
        assert processes_with(mark)
    assert not processes_with(mark)


async def test_a_client_is_told_to_be_a_session(workspace: Path) -> None:
    with pytest.raises(Exception, match="yields a session"):
        async with opened(spec_of("client"), workspace):
            pass


def test_the_events_that_are_kept_are_those_that_the_collector_reads() -> None:
    assert _READERS.keys() >= READ
    # These begin or end a session, and are outside of a reply, or say what Viva does not store with each reply.
    others = _READERS.keys() - READ
    assert others == {"session.shutdown", "session.start", "system.message"}

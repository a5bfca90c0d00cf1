"""What an agent did for a message that it never answered is kept with the failure, wherever its adapter tells it."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import pytest

from tests.adapters.connectors.acp import scripted_sessions
from tests.adapters.connectors.child.child_connectors import open_agent
from tests.adapters.connectors.command.programs import opened, python, write_program
from tests.viva.conftest import Desk
from viva.adapters.session import AgentSession
from viva.errors import AgentError, AgentTimeout
from viva.journal.reader import read_runs
from viva.records.transcript import Reply, Step, StopReason

AGENT = """
    import asyncio, os, time
    from viva import Reply, Step, StepKind, Usage, VirtualUser

    class Plain(VirtualUser):
        def get_reply_from_agent(self, message):
            self.steps = [Step(f"s{number}", tool="look", result=message) for number in (1, 2)]
            if message == "hang":
                time.sleep(3600)
            if message == "die":
                os._exit(3)
            if message != "reply":
                raise ValueError("out of ideas")
            return "done"

        def reply_so_far(self):
            forged = Step("environment:1", StepKind.TOOL, tool="look", recorded_by="environment")
            return Reply("half a", (*self.steps, forged), Usage(7, 3, calls=2))

    class Async(Plain):
        async def get_reply_from_agent(self, message):
            if message == "hang":
                self.steps = [Step(f"s{number}", tool="look", result=message) for number in (1, 2)]
                await asyncio.sleep(3600)
            return super().get_reply_from_agent(message)

    class Broken(Plain):
        def reply_so_far(self):
            raise KeyError("nothing here either")

    class Hanging(Plain):
        def reply_so_far(self):
            time.sleep(3600)

    class Odd(Plain):
        def reply_so_far(self):
            return {"steps": 3}

    class Silent(Plain):
        reply_so_far = None
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "agent.py"
    path.write_text(textwrap.dedent(AGENT))
    return path


async def failure(session: AgentSession, message: str, seconds: float = 60.0) -> AgentError:
    """The failure of a message, after which the session closes."""
    with pytest.raises(AgentError) as caught:
        await session.reply(message, seconds)
    await session.close()
    return caught.value


def kept(error: AgentError) -> tuple[Step, ...]:
    assert isinstance(error.so_far, Reply)
    return error.so_far.steps


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("name", ["Plain", "Async"])
async def test_steps_and_usage_before_an_exception_are_kept(
    file: Path, workspace: Path, name: str, isolate: bool
) -> None:
    error = await failure(await open_agent(f"{file}:{name}", workspace, isolate=isolate), "fail")
    assert [step.result for step in kept(error)] == ["fail", "fail", None]
    assert isinstance(error.so_far, Reply)
    assert error.so_far.usage.tokens == 10
    assert "out of ideas" in str(error)


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("name", ["Plain", "Async"])
async def test_steps_before_a_time_out_are_kept(file: Path, workspace: Path, name: str, isolate: bool) -> None:
    error = await failure(await open_agent(f"{file}:{name}", workspace, isolate=isolate), "hang", 2.0)
    assert isinstance(error, AgentTimeout)
    assert [step.result for step in kept(error)] == ["hang", "hang", None]


@pytest.mark.parametrize("isolate", [False, True])
async def test_no_step_of_the_environment_can_be_forged_by_failing(file: Path, workspace: Path, isolate: bool) -> None:
    error = await failure(await open_agent(f"{file}:Plain", workspace, isolate=isolate), "fail")
    assert {step.recorded_by for step in kept(error)} == {"agent"}
    assert not any(step.id.startswith("environment:") for step in kept(error))


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("name", ["Broken", "Hanging", "Odd", "Silent"])
async def test_an_agent_that_cannot_tell_fails_with_its_first_words(
    file: Path, workspace: Path, name: str, isolate: bool
) -> None:
    error = await failure(await open_agent(f"{file}:{name}", workspace, isolate=isolate), "fail")
    assert error.so_far is None
    assert "out of ideas" in str(error)
    assert "nothing here" not in str(error)


async def test_a_process_that_dies_takes_its_steps_with_it(file: Path, workspace: Path) -> None:
    error = await failure(await open_agent(f"{file}:Plain", workspace, isolate=True), "die")
    assert error.so_far is None
    assert "ended with code 3" in str(error)


@pytest.mark.parametrize("isolate", [False, True])
async def test_the_same_agent_still_answers_the_next_message(file: Path, workspace: Path, isolate: bool) -> None:
    session = await open_agent(f"{file}:Plain", workspace, isolate=isolate)
    with pytest.raises(AgentError):
        await session.reply("fail", 60)
    assert (await session.reply("reply", 60)).text == "done"
    assert await session.close() is None


PROGRAM = """
    import json, sys, time
    for line in sys.stdin:
        n, message = json.loads(line)["id"], json.loads(line)["message"]
        for number in (1, 2):
            print(json.dumps({"id": n, "step": {"tool": "look", "result": message}}), flush=True)
        if message == "hang":
            print(json.dumps({"id": n, "progress": "still at it"}), flush=True)
            time.sleep(3600)
        elif message == "error":
            print(json.dumps({"id": n, "error": "the model is away"}), flush=True)
        elif message == "odd":
            print(json.dumps({"id": n, "step": {"tool": "look", "seconds": "many"}}), flush=True)
        if message == "reply":
            print(json.dumps({"id": n, "text": "done"}), flush=True)
        else:
            sys.exit(3)
"""


@pytest.mark.parametrize(("message", "words"), [("die", "code 3"), ("error", "the model is away"), ("odd", "code 3")])
async def test_steps_of_a_program_are_kept_when_it_fails(
    tmp_path: Path, workspace: Path, message: str, words: str
) -> None:
    session = await opened(python(write_program(tmp_path, textwrap.dedent(PROGRAM))), workspace)
    assert len((await session.reply("reply", 60)).steps) == 2
    error = await failure(session, message)
    assert [step.result for step in kept(error)] == [message, message]
    assert words in str(error)


async def test_steps_of_a_program_that_hangs_are_kept_beside_its_progress(tmp_path: Path, workspace: Path) -> None:
    session = await opened(python(write_program(tmp_path, textwrap.dedent(PROGRAM))), workspace)
    await session.reply("reply", 60)
    error = await failure(session, "hang", 2.0)
    assert [step.result for step in kept(error)] == ["hang", "hang"]
    assert "its last progress: still at it" in str(error)


CALL = {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "look", "status": "completed", "rawInput": {"at": 1}}
THOUGHT = {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ends processes as Linux does")
@pytest.mark.parametrize("end", [["exit", 3], ["sleep", 3600]])
async def test_updates_of_a_coding_agent_are_kept_when_its_turn_does_not_end(
    workspace: Path, end: list[object]
) -> None:
    actions = json.dumps([["update", THOUGHT], ["update", CALL], ["say", "I was about to"], end])
    async with scripted_sessions.session(workspace) as session:
        assert (await session.reply("hello", scripted_sessions.PATIENCE)).text == "you said hello"
        hangs = end[0] == "sleep"
        error = await failure(session, actions, 3.0 if hangs else scripted_sessions.PATIENCE)
    assert isinstance(error, AgentTimeout) is hangs
    thought, call = kept(error)
    assert (thought.thought, call.tool, call.tool_input) == ("hm", "look", {"at": 1})


@pytest.mark.parametrize("options", [(), ("--isolate",)])
def test_they_are_stored_in_the_round_with_the_error_and_replayed(
    desk_in: Desk, file: Path, options: tuple[str, ...]
) -> None:
    desk_in.run("echo", "--agent", f"{file}:Plain", *options)
    (stored,) = read_runs(desk_in.folder / "journal")
    (failed,) = stored.transcript.rounds
    assert stored.transcript.stop is StopReason.TARGET_ERROR
    assert failed.agent is None
    assert "out of ideas" in str(failed.error)
    assert len(failed.steps) == 3
    assert failed.usage.tokens == stored.transcript.usage["target"].tokens == 10

    again = Desk(desk_in.folder / "again")
    again.folder.mkdir()
    again.run("echo", "--agent", f"replay:{desk_in.folder / 'journal'}")
    (repeated,) = read_runs(again.folder / "journal")
    assert [each.result for each in repeated.transcript.rounds[0].steps] == [each.result for each in failed.steps]


@pytest.fixture
def desk_in(tmp_path: Path) -> Desk:
    return Desk(tmp_path)

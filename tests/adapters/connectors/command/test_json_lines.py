"""A program in JSON mode: what it is told, what it can reply, and every way of replying wrongly."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from tests.adapters.connectors.child.child_connectors import AT_ONCE, noted, until
from tests.adapters.connectors.command.programs import PROGRAM, agent_file, opened, python, write_program
from viva.adapters.agent_state import load_state, save_state
from viva.adapters.connectors.command import json_lines
from viva.adapters.connectors.table import load_agent
from viva.adapters.inside.wire import LIMIT
from viva.adapters.session import AgentSession
from viva.errors import AgentError, AgentTimeout, SetupError
from viva.records.transcript import StepKind, Usage


@pytest.fixture
def spec(tmp_path: Path) -> str:
    return python(write_program(tmp_path, PROGRAM))


async def words_of(session: AgentSession, message: str, seconds: float = 60.0) -> str:
    with pytest.raises(AgentError) as caught:
        await session.reply(message, seconds)
    return str(caught.value)


async def test_the_first_message_tells_about_the_case_and_the_program_runs_in_the_workspace(
    spec: str, workspace: Path
) -> None:
    session = await opened(spec, workspace)
    asked, folder, variable = json.loads((await session.reply("about", 60)).text)
    assert asked == {
        "id": 1,
        "message": "about",
        "task_description": "the task",
        "app_dir": "the/app",
        "config_var": {"llm.model": "m"},
        "workspace": str(workspace),
    }
    assert Path(folder) == Path(variable) == session.workspace == workspace
    assert json.loads((await session.reply("about", 60)).text)[0] == {"id": 2, "message": "about"}
    assert await session.close() is None
    assert not noted(workspace)


async def test_a_reply_has_text_steps_usage_and_images(spec: str, workspace: Path) -> None:
    session = await opened(spec, workspace)
    reply = await session.reply("steps", 60)
    think, own, failed = reply.steps
    assert (think.id, think.kind, think.thought) == ("m1.1", StepKind.THINK, "hm")
    assert (own.id, own.tool, own.tool_input, own.result, own.seconds) == ("own", "look", {"at": "ä"}, "seen", 0.5)
    assert (failed.id, failed.tool, failed.error) == ("m1.3", "write", "no room")
    assert failed.usage == Usage(1, calls=1)  # its cost is unknown, not 0
    assert reply.usage == Usage(7, 2, calls=1, cost=0.25)
    assert reply.images == ("a.png",)
    empty = await session.reply("usage", 60)
    assert (empty.text, empty.usage.cost) == ("", None)
    assert await session.close() is None


@pytest.mark.parametrize("message", ["", "a\nb\r\n\tc", "äöü 🎭 \u2028 \ud800", '"quotes" \\ and \0'])
async def test_any_message_arrives_as_it_is(spec: str, workspace: Path, message: str) -> None:
    session = await opened(spec, workspace)
    expected = message.upper().replace("\ud800", "\\ud800")
    assert (await session.reply(message, 60)).text == expected
    assert await session.close() is None


async def test_an_error_of_the_program_is_told_in_its_words(spec: str, workspace: Path) -> None:
    session = await opened(spec, workspace)
    assert await words_of(session, "error") == "the model is away"
    assert await session.close() is None


WRONG = {
    "line hello": "cannot be read: it is not JSON: 'hello'. Each line there must be one JSON object",
    "line [1]": "that is not a JSON object: '[1]'",
    'line {"text": "x"}': 'its line has no "id" with the number of the message that it answers',
    'line {"id": "1", "text": "x"}': 'its line has no "id" with the number',
    'line {"id": true, "text": "x"}': 'its line has no "id" with the number',
    "bytes": 'cannot be read: it is not UTF-8: \'{"id": 1, "text": "caf\\\\xe9"}\'',
    "nul": "cannot be read: it is not JSON",
    "half": 'its process ended with code 3; its last line is incomplete: \'{"id": 1, "te\'',
    "ahead": "it answered message 2, which it was not sent yet",
    'fields {"txt": "x"}': "its reply has an unknown field 'txt'; did you mean 'text'?",
    'fields {"text": "x", "mood": 1}': "its reply has an unknown field 'mood'; it can have text, steps, usage, images",
    "fields {}": 'neither "text" (a reply) nor "step", "progress" or "error"',
    'fields {"text": 5}': 'the "text" of its line is int, not text',
    'fields {"text": "x", "steps": {}}': 'the "steps" of its reply is dict, not a list',
    'fields {"text": "x", "steps": ["look"]}': "a step of its reply is str, not an object",
    'fields {"text": "x", "steps": [{"toool": "x"}]}': "its step has an unknown field 'toool'; did you mean 'tool'?",
    'fields {"text": "x", "steps": [{"recorded_by": "environment"}]}': "its step has an unknown field 'recorded_by'",
    'fields {"text": "x", "steps": [{"tool": 5}]}': "its reply has a wrong steps.0.tool",
    'fields {"text": "x", "usage": 5}': "the usage of its reply is int, not an object",
    'fields {"text": "x", "usage": {"tokens": 5}}': "its usage has an unknown field 'tokens'; did you mean",
    'fields {"error": ""}': "it reported an error without words",
    f'line {{"id": 1, "text": {"[" * 200}{"]" * 200}}}': "nested more than 100 levels deep",
    "close stdout": "it has closed its stdout",
    "die": "its process ended with code 7; the end of its stderr: giving up",
    "segfault": "its process was killed by SIGSEGV",
}


@pytest.mark.parametrize("message", list(WRONG), ids=lambda message: message[:40])
async def test_a_wrong_answer_is_the_agents_failure_and_is_quoted(spec: str, workspace: Path, message: str) -> None:
    session = await opened(spec, workspace)
    assert WRONG[message] in await words_of(session, message)
    await session.close()
    assert not noted(workspace)


async def test_a_second_answer_is_never_taken_for_the_next_one(spec: str, workspace: Path) -> None:
    session = await opened(spec, workspace)
    assert (await session.reply("twice", 60)).text == "first"
    await asyncio.sleep(0.2)
    told = 'it wrote a line after its answer to message 1, without being asked: \'{"id": 1, "text": "second"}\''
    assert told in await words_of(session, "hello")
    assert await session.close() is None

    session = await opened(spec, workspace)
    assert (await session.reply("twice later", 60)).text == "first"
    asking = asyncio.ensure_future(words_of(session, "hello"))
    await asyncio.sleep(0.2)
    (workspace / "go").touch()
    assert "it answered message 1 again, instead of message 2" in await asking
    await session.close()


async def test_an_answer_too_many_at_the_end_is_told_when_it_is_closed(spec: str, workspace: Path) -> None:
    session = await opened(spec, workspace)
    await session.reply("twice", 60)
    await asyncio.sleep(0.2)
    assert "without being asked" in str(await session.close())


async def test_an_answer_before_the_first_message_is_a_failure(tmp_path: Path, workspace: Path) -> None:
    file = write_program(tmp_path, 'print(\'{"id": 1, "text": "I know"}\', flush=True); input(); input()')
    session = await opened(python(file), workspace)
    await asyncio.sleep(0.3)
    assert "it wrote a line before it was sent a message, without being asked" in await words_of(session, "hello")
    await session.close()


async def test_a_program_that_answers_and_ends_is_told_of_at_the_next_message(spec: str, workspace: Path) -> None:
    session = await opened(spec, workspace)
    assert (await session.reply("answer and die", 60)).text == "the last"
    assert await until(lambda: not noted(workspace))
    assert await words_of(session, "hello") == "its process ended with code 0"
    assert await session.close() is None


@pytest.mark.parametrize("size", [0, 100_000, 50_000_000])
async def test_replies_of_any_size_up_to_the_limit_are_whole(spec: str, workspace: Path, size: int) -> None:
    session = await opened(spec, workspace)
    assert len((await session.reply(f"large {size}", 60)).text) == size
    assert (await session.reply(f"length{'x' * size}", 60)).text == str(size + 6)
    assert await session.close() is None


async def test_a_line_without_end_is_a_failure_and_not_kept(spec: str, workspace: Path) -> None:
    session = await opened(spec, workspace)
    assert f"it wrote a line of more than {LIMIT:,} bytes: 'xxx" in await words_of(session, "endless")
    await session.close()
    assert not noted(workspace)
    session = await opened(spec, workspace)
    assert f"more than {LIMIT:,} bytes" in await words_of(session, f"large {LIMIT}")
    await session.close()


async def test_endless_progress_ends_with_the_time_and_blocks_nobody(spec: str, workspace: Path) -> None:
    session = await opened(spec, workspace)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.ensure_future(tick())
    with pytest.raises(AgentTimeout, match="its last progress: still here"):
        await session.reply("progress without end", 1)
    ticking.cancel()
    assert ticks > 5
    await session.close()
    assert not noted(workspace)


async def test_too_many_lines_are_a_failure_that_quotes_the_last(
    spec: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "MOST_LINES", 50)
    session = await opened(spec, workspace)
    with pytest.raises(AgentError, match=r"more than 50 lines in one reply; the last one: .*still here"):
        await session.reply("progress without end", 60)
    await session.close()
    assert not noted(workspace)


async def test_a_timeout_tells_the_last_progress_and_an_unfinished_line(spec: str, workspace: Path) -> None:
    for message, told in (("hang", "I am thinking"), ("half and hang", 'its line has no end yet: \'{"id": 1, "te')):
        session = await opened(spec, workspace)
        with pytest.raises(AgentTimeout) as caught:
            await session.reply(message, 1.5)
        assert told in str(caught.value)
        assert await session.close() is None
        assert not noted(workspace)


GREETED = """
import json, sys
total = 0
for line in sys.stdin:
    asked = json.loads(line)
    n = asked["id"]
    if "hello" in asked:
        answer = {"version": "1.2", "state": asked["config_var"]["llm.model"] == "m", "workspace": "FOLDER"}
    elif "save_state" in asked:
        answer = {"state": {"total": total}}
    elif "load_state" in asked:
        total, answer = asked["load_state"]["total"], {}
    else:
        total += int(asked["message"])
        answer = {"text": str(total)}
    print(json.dumps({"id": n, **answer}), flush=True)
"""


async def test_a_program_that_is_greeted_says_what_it_offers_and_has_a_state(tmp_path: Path, workspace: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    write_program(tmp_path, GREETED.replace("FOLDER", str(own)))
    spec = agent_file(tmp_path, command="python3 ./program.py", hello=True)
    session = await opened(spec, workspace)
    assert session.workspace == own
    assert [(await session.reply(number, 60)).text for number in ("1", "2")] == ["1", "3"]
    state = await save_state(session)
    assert json.loads(state or b"") == {"total": 3}
    assert await session.close() is None
    other = await opened(spec, workspace)
    assert await load_state(other, {"total": 3})
    assert (await other.reply("4", 60)).text == "7"
    assert await other.close() is None


async def test_a_program_that_is_not_greeted_has_no_state(spec: str, workspace: Path) -> None:
    session = await opened(spec, workspace)
    assert await save_state(session) is None
    assert not await load_state(session, {})
    assert await session.close() is None


async def test_a_program_that_does_not_answer_the_greeting_is_never_ready(tmp_path: Path, workspace: Path) -> None:
    write_program(tmp_path, "import time; time.sleep(1000)")
    with pytest.raises(AgentTimeout, match=r"it was not ready within 0\.5 s"):
        await opened(agent_file(tmp_path, command="python3 ./program.py", hello=True), workspace, seconds=0.5)
    write_program(tmp_path, "input(); print('hi')")
    with pytest.raises(AgentError, match=r"its construction failed: it wrote a line .* not JSON: 'hi'"):
        await opened(agent_file(tmp_path, command="python3 ./program.py", hello=True), workspace)


async def test_variables_and_the_folder_of_an_agent_file(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLOUR", "blue")
    write_program(
        tmp_path,
        "import json, os\nn = json.loads(input())['id']\n"
        "print(json.dumps({'id': n, 'text': f\"{os.environ['MOOD']} {os.getcwd()} {os.environ['VIVA_WORKSPACE']}\"}))",
    )
    spec = agent_file(tmp_path, command=["python3", "program.py"], folder=".", environment={"MOOD": "${COLOUR} sky"})
    session = await opened(spec, workspace)
    assert (await session.reply("hello", 60)).text == f"blue sky {tmp_path} {workspace}"
    await session.close()


async def test_sessions_at_once_do_not_mix(spec: str, tmp_path: Path) -> None:
    async def one(number: int) -> None:
        folder = tmp_path / f"w{number}"
        folder.mkdir()
        session = await opened(spec, folder)
        for round_ in range(3):
            assert (await session.reply(f"run {number} round {round_}", 60)).text == f"RUN {number} ROUND {round_}"
        assert await session.close() is None
        assert not noted(folder)

    before = len(os.listdir("/proc/self/fd"))
    await asyncio.gather(*map(one, range(AT_ONCE)))
    assert len(os.listdir("/proc/self/fd")) <= before


KEYS = {
    "prompt": ({"prompt": "> "}, r"agent.yaml:\d+: prompt belongs to mode plain; this program has mode json\."),
    "hello": ({"mode": "plain", "hello": True}, "hello belongs to mode json; this program has mode plain"),
    "mode": ({"mode": "pain"}, "mode"),
    "unknown": ({"promt": "x"}, "did you mean prompt|prompt"),
    "folder": ({"folder": "nowhere"}, "there is no folder nowhere"),
    "pattern": ({"mode": "plain", "prompt": "("}, "prompt is not a regular expression"),
    "empty pattern": ({"mode": "plain", "prompt": "x*"}, "prompt matches an empty text"),
    "variable": ({"environment": {"A": "${NOT_SET_ANYWHERE}"}}, "NOT_SET_ANYWHERE"),
    "command": ({"command": ["no-such-program-here"]}, "there is no program 'no-such-program-here' on the PATH"),
}


@pytest.mark.parametrize("name", list(KEYS))
def test_mistakes_in_an_agent_file_are_found_before_the_first_exam(tmp_path: Path, name: str) -> None:
    keys, words = KEYS[name]
    with pytest.raises(SetupError, match=words):
        load_agent(agent_file(tmp_path, **{"command": "cat", **keys}))

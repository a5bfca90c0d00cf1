"""Whatever a program does, it blocks nobody, and nothing of it runs afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.adapters.connectors.child.child_connectors import is_alive, noted, until
from tests.adapters.connectors.command.programs import PROGRAM, agent_file, opened, python, write_program
from viva.adapters.connectors.command import program_agent
from viva.errors import AgentError, AgentTimeout

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@pytest.fixture
def spec(tmp_path: Path) -> str:
    return python(write_program(tmp_path, PROGRAM))


async def test_a_flood_on_stderr_blocks_nothing_and_its_end_is_kept(spec: str, workspace: Path) -> None:
    session = await opened(spec, workspace)
    assert (await session.reply("flood", 60)).text == "flooded"
    assert await session.close() is None
    assert session.printed["stderr"].endswith("eeethe end of stderr")
    assert len(session.printed["stderr"]) < 40_000
    assert "stdout" not in session.printed


async def test_a_program_that_never_reads_is_cut_off(tmp_path: Path, workspace: Path) -> None:
    file = write_program(tmp_path, "import os, time; open('pids', 'w').write(str(os.getpid())); time.sleep(1000)")
    session = await opened(python(file), workspace)
    with pytest.raises(AgentTimeout):
        await session.reply("x" * 1_000_000, 1)
    assert await session.close() is None
    assert not noted(workspace)


async def test_a_program_that_writes_before_it_reads_deadlocks_with_nobody(tmp_path: Path, workspace: Path) -> None:
    text = """
        import json, os, sys
        number = 0
        while sys.stdin.buffer.read(1):
            number += 1
            os.write(2, b"e" * 3_000_000)
            sys.stdout.write(json.dumps({"id": number, "text": "y" * 3_000_000}) + "\\n")
            sys.stdout.flush()
            sys.stdin.buffer.readline()
    """
    session = await opened(python(write_program(tmp_path, textwrap.dedent(text))), workspace)
    # The rest of each message is sent while the answer is read, and afterwards.
    for _ in range(3):
        assert len((await session.reply("x" * 3_000_000, 60)).text) == 3_000_000
    assert await session.close() is None


async def test_a_program_that_closes_its_stdin_cannot_be_sent_another_message(spec: str, workspace: Path) -> None:
    session = await opened(spec, workspace)
    assert (await session.reply("close stdin", 60)).text == "deaf"
    with pytest.raises(AgentError, match="it has closed its stdin, so that it cannot be sent the message"):
        await session.reply("hello", 60)
    assert await session.close() is None
    assert not noted(workspace)


async def test_a_program_may_end_by_itself_when_its_input_ends(spec: str, workspace: Path) -> None:
    session = await opened(spec, workspace)
    await session.reply("on end", 60)
    assert await session.close() is None
    assert (workspace / "input ended").exists()


async def test_a_program_that_goes_on_gets_a_signal_and_is_then_killed(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(tmp_path, PROGRAM)
    spec = agent_file(tmp_path, command=[sys.executable, "./program.py"], close_seconds=0.3)
    session = await opened(spec, workspace)
    await session.reply("on TERM", 60)
    assert await session.close() is None
    assert (workspace / "input ended").exists()
    assert (workspace / "terminated").exists()
    assert not noted(workspace)

    monkeypatch.setattr(program_agent, "TERM_SECONDS", 0.3)
    session = await opened(spec, workspace)
    await session.reply("stubborn", 60)
    assert await session.close() is None
    assert not noted(workspace)


async def test_what_a_program_starts_ends_with_it(spec: str, workspace: Path) -> None:
    for last in (None, "die"):
        session = await opened(spec, workspace)
        await session.reply("leave daemon", 60)
        assert await until(lambda: len(noted(workspace)) == 4)
        if last is not None:
            with pytest.raises(AgentError):
                await session.reply(last, 60)
        assert await session.close() is None
        assert not noted(workspace)


async def test_closing_twice_and_messages_afterwards_are_harmless(spec: str, workspace: Path) -> None:
    session = await opened(spec, workspace)
    assert await session.close() is None
    assert await session.close() is None
    with pytest.raises(AgentError, match="its process has ended"):
        await session.reply("hello", 60)


async def test_a_cancelled_reply_and_a_cancelled_start_leave_nothing(spec: str, workspace: Path) -> None:
    session = await opened(spec, workspace)
    asking = asyncio.ensure_future(session.reply("hang", 60))
    await asyncio.sleep(0.3)
    asking.cancel()
    await asyncio.wait({asking})
    assert await session.close() is None
    assert not noted(workspace)
    for delay in (0.0, 0.01, 0.05):
        opening = asyncio.ensure_future(opened(spec, workspace))
        await asyncio.sleep(delay)
        opening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await opening).close()  # it may have been faster
        assert await until(lambda: not noted(workspace))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo hello", "it has no line #! at its beginning. Name its interpreter in the command"),
        ("#!/no/such/interpreter\n", "the interpreter in its first line"),
    ],
)
async def test_a_file_that_the_system_cannot_run_is_named_with_the_reason(
    tmp_path: Path, workspace: Path, text: str, words: str
) -> None:
    file = write_program(tmp_path, text, "agent")
    file.chmod(0o755)
    with pytest.raises(AgentError, match="cannot be run") as caught:
        await opened(f"cmd:{file}", workspace)
    assert words in str(caught.value)


KEEPER = """
import asyncio, sys
from pathlib import Path
from tests.adapters.connectors.command.programs import opened

async def main():
    session = await opened(sys.argv[1], Path(sys.argv[2]))
    await session.reply("leave daemon" if not sys.argv[1].startswith("cmd+plain") else "hello", 60)
    Path(sys.argv[2], "ready").touch()
    await asyncio.sleep(1000)

asyncio.run(main())
"""


@pytest.mark.parametrize("mode", ["cmd", "cmd+plain"])
def test_nothing_of_a_program_outlives_viva(tmp_path: Path, workspace: Path, mode: str) -> None:
    plain = "import os, subprocess\nprint('> ', end='', flush=True)\ninput()\nfile = open('pids', 'w')\n"
    plain += (
        "child = subprocess.Popen(['setsid', 'sleep', '1000'])\nprint(os.getpid(), os.getppid(), child.pid, file=file)"
    )
    plain += "\nfile.close()\nprint('hi\\n> ', end='', flush=True)\ninput()\n"
    file = write_program(tmp_path, PROGRAM if mode == "cmd" else plain)
    spec = python(file).replace("cmd:", f"{mode}:")
    keeper = subprocess.Popen([sys.executable, "-c", KEEPER, spec, str(workspace)])
    try:
        assert asyncio.run(until((workspace / "ready").exists))
        pids = noted(workspace)
        assert len(pids) >= 3
        os.kill(keeper.pid, signal.SIGKILL)
        assert asyncio.run(until(lambda: not any(is_alive(pid) for pid in pids)))
    finally:
        keeper.kill()
        keeper.wait()

"""Whatever an agent in a process of its own does, it is the agent's failure, and nothing of it runs afterwards."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from tests.adapters.connectors.child.child_agents import HOSTILE, PLAIN
from tests.adapters.connectors.child.child_connectors import noted, open_agent, until
from viva.adapters.connectors.child import agent as child
from viva.adapters.connectors.child import process as child_process
from viva.adapters.connectors.table import load_agent
from viva.adapters.inside.wire import LIMIT
from viva.adapters.session import AgentArguments, AgentSession, open_session
from viva.errors import AgentError, AgentTimeout, SetupError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "hostile.py"
    path.write_text(HOSTILE)
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def short_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """For agents whose close() never ends. Those whose close() does have all the time they are promised."""
    monkeypatch.setattr(child, "HUNG_CLOSE_SECONDS", 0.3)
    monkeypatch.setattr(child, "CLOSE_SECONDS", 0.3)


async def opened(file: Path, workspace: Path, name: str = "Hostile", **options: int) -> AgentSession:
    return await open_agent(f"{file}:{name}", workspace, isolate=True, **options)


async def words_of(session: AgentSession, message: str, seconds: float = 30.0) -> str:
    with pytest.raises(AgentError) as caught:
        await session.reply(message, seconds)
    return str(caught.value)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "segfault",
            "its process was killed by SIGSEGV at hostile.py:46 in segfault; the end of its stdout: before the end",
        ),
        ("exit", "its process ended with code 7; the end of its stderr: giving up"),
        ("kill itself", "its process was killed by SIGKILL"),
        ("kill its group", "its process was killed by SIGKILL"),
        ("leave and die", "its process ended with code 1"),
    ],
)
async def test_a_death_is_the_agents_failure_and_says_how(
    file: Path, workspace: Path, message: str, words: str
) -> None:
    session = await opened(file, workspace)
    assert (await session.reply("hello", 30)).text == "HELLO"
    assert (await words_of(session, message)).startswith(words)
    assert (await words_of(session, "hello")).startswith(words)
    assert await session.close() is None
    assert not noted(workspace)


async def test_a_death_between_two_messages_is_told_at_the_second(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace)
    assert (await session.reply("die when told", 30)).text == "soon"
    (workspace / "die").touch()
    assert await until(lambda: not noted(workspace))
    assert await words_of(session, "hello") == "its process ended with code 9"
    assert await session.close() is None


async def test_a_death_after_the_last_message_is_told_when_it_is_closed(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace)
    await session.reply("die when told", 30)
    (workspace / "die").touch()
    assert await until(lambda: not noted(workspace))
    assert await session.close() == "close() failed: its process ended with code 9"


async def test_a_hung_agent_is_cut_off_and_killed(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace)
    with pytest.raises(AgentTimeout, match=r"no reply within 0\.5 s"):
        await session.reply("hang", 0.5)
    assert await until(lambda: noted(workspace))
    # Signals ignored or not, an agent that spins in Python lets its close() run beside it.
    assert await session.close() is None
    assert not noted(workspace)


@pytest.mark.usefixtures("short_close")
async def test_an_agent_that_lets_nothing_run_beside_it_is_cut_off_and_killed(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace)
    with pytest.raises(AgentTimeout, match=r"no reply within 0\.5 s"):
        await session.reply("hang in c", 0.5)
    assert await until(lambda: noted(workspace))
    assert await session.close() == "close() failed: it did not end within 0.3 s"
    assert not noted(workspace)


async def test_a_hung_agent_may_be_freed_by_its_close(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace, "FreedByClose")
    with pytest.raises(AgentTimeout):
        await session.reply("wait", 0.3)
    assert await session.close() is None
    assert (workspace / "closed").exists()
    assert not noted(workspace)


async def test_a_plain_agent_that_does_not_hang_is_closed_on_its_own_thread(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace, "FreedByClose")
    await session.reply("hello", 30)
    assert await session.close() is None
    assert (workspace / "closed").read_text() == "MainThread"


async def test_an_asynchronous_agent_that_hangs_is_cancelled_and_closed(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace, "HangsOnLoop")
    with pytest.raises(AgentTimeout):
        await session.reply("hang", 0.3)
    assert await until((workspace / "hanging").exists)
    assert await session.close() is None
    assert (workspace / "cancelled").exists()
    assert (workspace / "closed").exists()


async def test_an_asynchronous_agent_keeps_one_loop_that_goes_on_between_messages(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace, "HangsOnLoop")
    await session.reply("count", 30)
    counted = workspace / "count"
    assert await until(lambda: counted.exists() and counted.stat().st_size > 3)
    assert await session.close() is None


@pytest.mark.usefixtures("short_close")
async def test_a_close_that_hangs_is_cut_off_and_the_agent_killed(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace, "HangsInClose")
    await session.reply("leave daemon", 30)
    assert await session.close() == "close() failed: it did not end within 0.3 s"
    assert not noted(workspace)


async def test_a_construction_that_hangs_or_dies_leaves_nothing(file: Path, workspace: Path) -> None:
    agent = load_agent(f"{file}:HangsInConstruction", isolate=True)
    for seconds in (1, 5, 25):  # the machine may be too busy for its construction to begin in so short a time
        with pytest.raises(AgentTimeout, match=f"its construction did not end within {seconds} s"):
            await open_session(agent.factory, AgentArguments("t", workspace=workspace), seconds)
        assert not noted(workspace)
        if (workspace / "pids").exists():
            break
    assert (workspace / "pids").exists()
    with pytest.raises(AgentError, match="its construction failed: its process ended with code 5"):
        await opened(file, workspace, "DiesInConstruction")


async def test_what_an_agent_said_before_its_construction_hung_is_quoted(tmp_path: Path, workspace: Path) -> None:
    said = "print('no such queue', file=sys.stderr, flush=True)"
    head = "import sys, time\nfrom viva import VirtualUser\n\nclass Waits(VirtualUser):\n"
    init = f"    def __init__(self, task_description):\n        {said}\n        time.sleep(600)\n"
    file = tmp_path / "waits.py"
    file.write_text(f"{head}{init}    def get_reply_from_agent(self, message):\n        return ''\n")
    with pytest.raises(AgentTimeout, match="did not end within 2 s; the end of its stderr: no such queue"):
        await open_agent(f"{file}:Waits", workspace, seconds=2, isolate=True)


@pytest.mark.parametrize(
    ("message", "left"), [("leave daemon", 1), ("leave stubborn daemon", 1), ("leave many", 20), ("leave programs", 3)]
)
async def test_what_an_agent_leaves_behind_is_killed_with_it(
    file: Path, workspace: Path, message: str, left: int
) -> None:
    session = await opened(file, workspace)
    await session.reply(message, 30)
    assert await until(lambda: len(noted(workspace)) >= left + 2)  # and itself, and its supervisor
    assert (await session.reply("hello", 30)).text == "HELLO"
    assert await session.close() is None
    assert not noted(workspace)


@pytest.mark.parametrize("message", ["kill supervisor", "kill supervisor with much in memory"])
async def test_an_agent_that_kills_its_supervisor_escapes_no_better(file: Path, workspace: Path, message: str) -> None:
    session = await opened(file, workspace)
    assert "its process and its supervisor were killed" in await words_of(session, message)
    assert await session.close() is None
    assert not noted(workspace)


async def test_a_supervisor_is_not_ended_by_the_agents_signal(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace)
    assert (await session.reply("terminate supervisor", 30)).text == "done"
    assert (await session.reply("hello", 30)).text == "HELLO"
    assert await session.close() is None


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("chatter", "clean"),
        ("flood", "flooded"),
        ("close files", "closed"),
        ("become daemon", "as if a daemon"),
        ("replace stdout", "replaced"),
        ("break json", "broken"),
        ("read input", "read ''"),
        ("forked reply", "from the agent"),
    ],
)
async def test_nothing_that_an_agent_does_to_its_process_touches_the_replies(
    file: Path, workspace: Path, message: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    session = await opened(file, workspace)
    for _ in range(2):
        assert (await session.reply(message, 60)).text == said
        assert (await session.reply("hello", 30)).text == "HELLO"
    assert await session.close() is None
    assert not noted(workspace)
    assert capfd.readouterr().out == ""


async def test_of_a_flood_the_end_is_kept(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace)
    words = await words_of(session, "flood and die", 60)
    assert words.endswith("; the end of its stderr: THE END")
    assert len(words) < 3000
    await session.close()


async def test_a_large_reply_comes_through_and_a_huge_one_is_the_agents_failure(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace)
    assert (await session.reply("large", 60)).text == "é" * (5 * 1024 * 1024)
    assert f"exceeds the limit of {LIMIT:,}" in await words_of(session, "huge", 60)
    assert (await session.reply("hello", 30)).text == "HELLO"
    assert await session.close() is None


async def test_nonsense_on_the_connection_itself_is_the_agents_failure(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace)
    assert "bytes at once, beyond the limit" in await words_of(session, "forge")
    await session.close()
    assert not noted(workspace)


@pytest.mark.parametrize("message", ["close all files", "replace itself"])
async def test_an_agent_that_drops_the_connection_has_failed(
    file: Path, workspace: Path, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_process, "NOTICE_SECONDS", 0.3)
    session = await opened(file, workspace)
    assert await words_of(session, message) in (
        "its process closed the connection to Viva",
        "its process ended with code 1",
    )
    await session.close()
    assert not noted(workspace)


async def test_a_memory_limit_stops_a_leak(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace, memory_mb=512)
    assert re.match(r"hostile\.py:\d+: MemoryError", await words_of(session, "leak"))
    assert (await session.reply("hello", 30)).text == "HELLO"
    assert await session.close() is None


async def test_a_cancelled_reply_can_be_followed_by_close(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace, "FreedByClose")
    reply = asyncio.create_task(session.reply("wait", 60))
    assert await until(lambda: noted(workspace))
    reply.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reply
    assert await session.close() is None
    assert (workspace / "closed").exists()
    assert not noted(workspace)


async def test_a_close_that_is_cancelled_still_kills(file: Path, workspace: Path) -> None:
    session = await opened(file, workspace, "HangsInClose")
    await session.reply("leave daemon", 30)
    closing = asyncio.create_task(session.close())
    assert await until((workspace / "closing").exists)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert await until(lambda: not noted(workspace))


async def test_opening_can_be_cancelled_at_any_moment(file: Path, workspace: Path) -> None:
    agent = load_agent(f"{file}:Hostile", isolate=True)
    files, before = len(os.listdir("/proc/self/fd")), children()
    for milliseconds in range(0, 100, 5):
        opening = asyncio.create_task(open_session(agent.factory, AgentArguments("t", workspace=workspace), 30))
        await asyncio.sleep(milliseconds / 1000)
        opening.cancel()
        try:
            await (await opening).close()
        except asyncio.CancelledError:
            continue
    assert await until(lambda: not children() - before)
    assert len(os.listdir("/proc/self/fd")) <= files


async def test_a_hundred_agents_at_once_leave_no_file_no_process_and_no_thread(tmp_path: Path, workspace: Path) -> None:
    file = tmp_path / "plain.py"
    file.write_text(PLAIN)
    agent = load_agent(f"{file}:Async", isolate=True)

    async def one(number: int) -> str:
        session = await open_session(agent.factory, AgentArguments("t", workspace=workspace), 100)
        try:
            await together.wait()
            return (await session.reply(f"n{number}", 100)).text
        finally:
            await session.close()

    together = asyncio.Barrier(100)
    files, threads, before = len(os.listdir("/proc/self/fd")), set(threading.enumerate()), children()
    replies = await asyncio.gather(*(one(number) for number in range(100)))
    assert replies == [f"N{number}" for number in range(100)]
    assert not children() - before
    assert len(os.listdir("/proc/self/fd")) <= files
    pool = "asyncio_"  # the event loop's own threads
    assert not {each.name for each in set(threading.enumerate()) - threads if not each.name.startswith(pool)}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_viva_itself_is_killed(file: Path, workspace: Path, how: signal.Signals) -> None:
    script = textwrap.dedent(f"""
        import asyncio
        from pathlib import Path
        from viva.adapters.connectors.table import load_agent
        from viva.adapters.session import AgentArguments, open_session

        async def main():
            workspace = Path({str(workspace)!r})
            agent = load_agent({f"{file}:Hostile"!r}, isolate=True)
            sessions = [await open_session(agent.factory, AgentArguments("t", workspace=workspace), 60) for _ in "ab"]
            await sessions[0].reply("leave many", 60)
            await sessions[1].reply("leave stubborn daemon", 60)
            print("ready", flush=True)
            await sessions[0].reply("hang", 600)

        asyncio.run(main())
    """)
    viva = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    try:
        assert viva.stdout is not None
        assert viva.stdout.readline() == b"ready\n"
        assert asyncio.run(until(lambda: len(noted(workspace)) >= 24))
    finally:
        viva.send_signal(how)
        viva.wait()
        viva.stdout.close()
    assert asyncio.run(until(lambda: not noted(workspace)))


def test_importing_that_kills_or_is_no_python_is_found_when_the_agent_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "agent.py"
    file.write_text("import os\nos._exit(3)")
    with pytest.raises(SetupError, match=r"cannot be imported with .*: its process ended with code 3"):
        load_agent(f"{file}:Agent", isolate=True)
    with pytest.raises(SetupError, match="its interpreter did not start: it printed nothing"):
        load_agent(f"{file}:Agent@/bin/true")


@pytest.mark.parametrize("dots", [0, 990])
def test_a_secret_that_an_import_prints_before_it_kills_is_in_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dots: int
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-long-secret")
    file = tmp_path / "agent.py"
    file.write_text(f"import os\nprint(os.environ['SOME_API_KEY'] + '.' * {dots}, flush=True)\nos._exit(3)")
    with pytest.raises(SetupError, match="the end of its stdout") as caught:
        load_agent(f"{file}:Agent", isolate=True)
    assert "-secret" not in str(caught.value)


def children() -> set[int]:
    """Of this process; the dead that nobody has taken note of count, too."""
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parent = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == os.getpid():
                found.add(int(name))
    return found


async def test_a_slow_session_does_not_hold_up_its_siblings(file: Path, workspace: Path) -> None:
    """Opening, replying, hanging and closing go on side by side on one event loop."""
    hung = [await opened(file, workspace) for _ in range(3)]
    waiting = [asyncio.create_task(session.reply("hang", 600)) for session in hung]
    assert await until(lambda: len(noted(workspace)) >= 6)  # each with its supervisor
    session = await opened(file, workspace)
    assert (await session.reply("hello", 30)).text == "HELLO"
    assert await session.close() is None
    assert not any(task.done() for task in waiting)
    for task, each in zip(waiting, hung, strict=True):
        task.cancel()
        await each.close()
    await asyncio.wait(waiting)
    assert not noted(workspace)

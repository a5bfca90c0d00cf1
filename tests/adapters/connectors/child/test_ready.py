"""An agent's module is imported once and forked for each run where that is safe; each run is as if started anew."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.connectors.child.child_connectors import AT_ONCE, is_alive, until
from viva.adapters.connectors.child import ready as ready_module
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, AgentSession, open_session
from viva.errors import AgentError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks ready processes")

AGENT = """
import logging, os, random, signal, sys, time
from viva import VirtualUser

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "imports"), "a") as file:
    file.write(f"{os.getpid()}\\n")
print("imported", flush=True)
logging.basicConfig(stream=sys.stderr)
os.environ["SET_BY_IMPORT"] = "kept"
SEEN = []

class Agent(VirtualUser):
    def get_reply_from_agent(self, message):
        SEEN.append(message)
        kind, _, rest = message.partition(" ")
        if kind == "kill":
            os.kill(int(rest), signal.SIGKILL)
            time.sleep(0.2)
        if kind == "log":
            logging.warning("logged %s", rest)
        answers = {
            "seen": lambda: SEEN,
            "ids": lambda: (os.getpid(), os.getpgrp(), os.getsid(0), os.getppid()),
            "random": lambda: (random.random(), hash("x")),
            "environ": lambda: os.environ.get(rest),
            "files": lambda: sorted(os.readlink(f"/proc/self/fd/{n}").split(":")[0] for n in os.listdir("/proc/self/fd")
                                    if os.path.lexists(f"/proc/self/fd/{n}")),
            "memory": lambda: len(bytearray(int(rest))),
            "mark": lambda: [part for part in open("/proc/self/environ", "rb").read().split(b"\\0")
                             if part.startswith(b"VIVA_CHILD=")],
            "cwd": os.getcwd,
            "modules": lambda: sorted(set(sys.modules) - IMPORTED),
        }
        return repr(answers.get(kind, lambda: rest)())

class Async(Agent):
    async def get_reply_from_agent(self, message):
        return Agent.get_reply_from_agent(self, message)

IMPORTED = set()
READY = os.getpid()
os.register_at_fork(before=lambda: IMPORTED.update(sys.modules if os.getpid() == READY else ()))
"""
LEFT = {
    "thread": "import threading\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
    "process": "import subprocess\nCHILD = subprocess.Popen(['sleep', '600'])",
    "file": "FILE = open(os.path.join(HERE, 'log'), 'w')",
    "socket": "import socket\nPAIR = socket.socketpair()",
    "loop": "import asyncio\nLOOP = asyncio.new_event_loop()",
    "handler": "signal.signal(signal.SIGCHLD, lambda *_: None)",
    "timer": "signal.setitimer(signal.ITIMER_REAL, 3600)",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ready_agent.py"
    path.write_text(AGENT)
    return path


def imports(file: Path) -> list[int]:
    return [int(pid) for pid in (file.parent / "imports").read_text().split()]


def loaded(file: Path, name: str = "Agent", **options: Any) -> LoadedAgent:
    return load_agent(f"{file}:{name}", isolate=True, **options)


async def opened(agent: LoadedAgent) -> AgentSession:
    return await open_session(agent.factory, AgentArguments("the task"), 30)


async def asked(session: AgentSession, message: str) -> Any:
    return eval((await session.reply(message, 20)).text)


@pytest.mark.parametrize("name", ["Agent", "Async"])
async def test_the_module_is_imported_once_and_no_run_sees_another(file: Path, name: str) -> None:
    agent = loaded(file, name)
    ids, numbers = set(), set()
    for number in range(3):
        session = await opened(agent)
        assert await asked(session, "seen") == ["seen"], "what an earlier run has left in the module"
        pid, group, sid, _ = await asked(session, "ids")
        assert pid == group == sid
        ids.add(pid)
        numbers.add(await asked(session, "random"))
        await session.reply(f"log {number}", 20)
        assert await session.close() is None
        assert session.printed["stdout"] == "imported\n", "as if this run had imported it"
        assert session.printed["stderr"].strip() == f"WARNING:root:logged {number}"
        assert not is_alive(pid)
    assert len(ids) == len({first for first, _ in numbers}) == 3
    assert len({second for _, second in numbers}) == 1, "hashes are those of one interpreter"
    assert len(imports(file)) == 1
    assert is_alive(imports(file)[0])
    assert agent.release is not None
    agent.release()
    assert not is_alive(imports(file)[0])


@pytest.mark.parametrize("name", ["Agent", "Async"])
async def test_a_forked_run_imports_nothing_that_the_ready_process_could_have(
    file: Path, tmp_path: Path, name: str
) -> None:
    arguments = AgentArguments("the task", config_var={"day": "Monday"}, workspace=tmp_path / "workspace")
    session = await open_session(loaded(file, name).factory, arguments, 30)
    assert await asked(session, "modules") == []
    assert await session.close() is None


async def test_a_forked_run_has_the_open_files_of_a_process_of_its_own(file: Path, tmp_path: Path) -> None:
    forked = await opened(loaded(file))
    other = tmp_path / "other"
    other.mkdir()
    (other / "ready_agent.py").write_text(AGENT + LEFT["handler"])
    alone = await opened(loaded(other / "ready_agent.py"))
    assert await asked(forked, "files") == await asked(alone, "files")
    assert await forked.close() is await alone.close() is None


@pytest.mark.parametrize("kind", LEFT)
async def test_what_must_not_be_forked_is_started_ahead(file: Path, kind: str) -> None:
    file.write_text(AGENT + LEFT[kind])
    agent = loaded(file)
    kinds: Any = agent.factory
    pids = []
    for number in range(4):
        ready = imports(file)
        session = await opened(agent)
        pids.append((await asked(session, "ids"))[0])
        assert (pids[-1] in ready) == (number != 1), "only the second run, which nobody expected, had to wait"
        assert await asked(session, "seen") == ["ids", "seen"]
        assert number == 0 or await until(lambda: len(kinds.ready._ahead) > 0)
        assert await session.close() is None
        assert session.printed["stdout"] == "imported\n"
    assert len(set(pids)) == 4
    assert set(pids) <= set(imports(file)), "each has imported the module itself"
    assert agent.release is not None
    agent.release()
    assert await until(lambda: not any(map(is_alive, imports(file))))


async def test_a_run_has_the_environment_and_folder_that_viva_has_when_it_begins(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOES", "away")
    agent = loaded(file)
    monkeypatch.setenv("COMES", "now")
    monkeypatch.delenv("GOES")
    first, second = await opened(agent), await opened(agent)
    for session in (first, second):
        assert await asked(session, "environ COMES") == "now"
        assert await asked(session, "environ GOES") is None
        assert await asked(session, "environ SET_BY_IMPORT") == "kept"
    marks = [await asked(session, "mark") for session in (first, second)]
    for session, mark in zip((first, second), marks, strict=True):
        assert [f"VIVA_CHILD={await asked(session, 'environ VIVA_CHILD')}".encode()] == mark, (
            "processes are found by it"
        )
    assert marks[0] != marks[1]
    monkeypatch.chdir(tmp_path)
    third = await opened(agent)
    assert await asked(third, "cwd") == str(tmp_path)
    for session in (first, second, third):
        assert await session.close() is None


async def test_what_an_import_read_of_an_environment_that_has_changed_since_is_read_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent's module may make its client when it is imported, with an address from a variable."""
    monkeypatch.setenv("ADDRESS", "http://127.0.0.1:1")
    file.write_text(f"{file.read_text()}\nos.environ['READ_BY_IMPORT'] = os.environ['ADDRESS']\n")
    agent = loaded(file)
    before = await opened(agent)
    monkeypatch.setenv("ADDRESS", "http://127.0.0.1:2")
    after = await opened(agent)
    assert await asked(before, "environ READ_BY_IMPORT") == "http://127.0.0.1:1"
    assert await asked(after, "environ READ_BY_IMPORT") == "http://127.0.0.1:2"
    for session in (before, after):
        assert await session.close() is None


async def test_a_ready_process_that_was_killed_is_replaced_and_no_run_blamed(file: Path) -> None:
    agent = loaded(file)
    before = await opened(agent)
    os.kill(imports(file)[0], signal.SIGKILL)
    assert await until(lambda: not is_alive(imports(file)[0]))
    assert await asked(before, "said still here") == "still here", "a run goes on"
    for _ in range(2):
        after = await opened(agent)
        assert await asked(after, "said well") == "well"
        assert await after.close() is None
    assert len(imports(file)) == 2
    assert await before.close() is None


async def test_a_ready_process_that_hangs_is_replaced_and_no_run_blamed(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viva.adapters.connectors.child.supervised.UP_SECONDS", 0.5)
    agent = loaded(file)
    before = await opened(agent)
    os.kill(imports(file)[0], signal.SIGSTOP)
    after = await opened(agent)
    assert await asked(after, "said well") == "well"
    assert not is_alive(imports(file)[0])
    for session in (before, after):
        assert await session.close() is None


async def test_an_agent_that_kills_what_it_came_from_harms_no_other_run(file: Path) -> None:
    agent = loaded(file)
    sessions = [await opened(agent) for _ in range(3)]
    victim, other, last = sessions
    assert (await asked(other, f"kill {imports(file)[0]}")) == str(imports(file)[0]), "the ready process"
    *_, supervisor = await asked(victim, "ids")
    with pytest.raises(AgentError, match="its process and its supervisor were killed"):
        await victim.reply(f"kill {supervisor}", 20)
    pids = [(await asked(session, "ids"))[0] for session in (other, last)]
    new = await opened(agent)
    assert await asked(new, "said well") == "well"
    for session in (*sessions, new):
        await session.close()
    assert not any(map(is_alive, pids))


async def test_the_memory_limit_holds_in_a_fork(file: Path) -> None:
    agent = loaded(file, memory_mb=400)
    session = await opened(agent)
    assert await asked(session, "memory 1000000") == 1000000
    with pytest.raises(AgentError, match="MemoryError"):
        await session.reply("memory 600000000", 20)
    assert await session.close() is None
    assert len(imports(file)) == 1


@pytest.mark.parametrize("kind", ["", "thread"])
async def test_sessions_at_once_do_not_mix(file: Path, kind: str) -> None:
    file.write_text(AGENT + LEFT.get(kind, ""))
    agent = loaded(file)
    before = len(os.listdir("/proc/self/fd"))

    async def one(number: int) -> int:
        session = await opened(agent)
        for turn in range(3):
            assert await asked(session, f"said {number}.{turn}") == f"{number}.{turn}"
        assert await asked(session, "seen") == [f"said {number}.{turn}" for turn in range(3)] + ["seen"]
        pid: int = (await asked(session, "ids"))[0]
        assert await session.close() is None
        return pid

    pids = await asyncio.gather(*map(one, range(AT_ONCE)))
    assert len(set(pids)) == AT_ONCE
    assert agent.release is not None
    agent.release()
    assert await until(lambda: not any(map(is_alive, {*pids, *imports(file)})))
    assert await until(lambda: len(os.listdir("/proc/self/fd")) <= before)


async def test_an_edited_file_is_imported_anew_when_the_agent_is_loaded_again(file: Path) -> None:
    old = loaded(file)
    file.write_text(AGENT.replace("SEEN = []", "SEEN = ['edited']"))
    new = await opened(loaded(file))
    assert await asked(new, "seen") == ["edited", "seen"]
    assert await new.close() is None
    assert old.release is not None
    old.release()


async def test_processes_of_few_agents_stand_ready_at_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready_module, "MOST_AGENTS", 2)
    monkeypatch.setattr(ready_module, "_used", type(ready_module._used)())
    agents = [loaded(file) for _ in range(4)]
    assert [is_alive(pid) for pid in imports(file)] == [False, False, True, True]
    session = await opened(agents[0])
    assert await asked(session, "said well") == "well"
    assert await session.close() is None
    for agent in agents:
        assert agent.release is not None
        agent.release()


async def test_an_agent_that_nobody_has_any_more_leaves_no_process(file: Path) -> None:
    import gc

    agent = loaded(file)
    del agent
    gc.collect()
    assert await until(lambda: not is_alive(imports(file)[0]))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, None])
def test_nothing_that_stands_ready_outlives_viva(file: Path, how: signal.Signals | None) -> None:
    script = textwrap.dedent(f"""
        import asyncio, time
        from viva.adapters.connectors.table import load_agent
        from viva.adapters.session import AgentArguments, open_session
        agent = load_agent({str(file)!r} + ":Agent", isolate=True)
        async def main():
            session = await open_session(agent.factory, AgentArguments("t"), 30)
            print((await session.reply("ids", 20)).text, flush=True)
            {"await session.close()" if how is None else "time.sleep(60)"}
        asyncio.run(main())
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as viva:
        assert viva.stdout is not None
        pid, _, _, supervisor = eval(viva.stdout.readline())
        if how is not None:
            assert is_alive(pid)
            viva.send_signal(how)
        viva.wait(20)
    assert asyncio.run(until(lambda: not any(map(is_alive, (pid, supervisor, *imports(file))))))

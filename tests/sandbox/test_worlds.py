"""Worlds: what a run leaves for the next one in the same container, and what is used where there can be none."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import signal
from collections.abc import AsyncIterator, Container, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.attacks.attack import PRELUDE, X86
from tests.sandbox.attacks.between_runs import TRACES, Trace
from tests.sandbox.conftest import eventually, missing, sandbox_of
from viva.sandbox import Ending, Isolation, RunView, SandboxError, SandboxLimits, SandboxLost, SandboxSession
from viva.sandbox.backend import MAX_FAILURES, ServerSandbox
from viva.sandbox.connection import ServerConnection
from viva.sandbox.docker import ownership

ISOLATING = ("docker", "bwrap")
EVERY = (*ISOLATING, "process")
DOCS = Path(__file__).parents[2] / "docs" / "sandbox.md"
PATIENT = SandboxLimits(seconds=60, cpu_seconds=30)
OWN = {
    "docker": "a container of its own",
    "bwrap": "a bwrap of its own",
    "process": "an interpreter and a folder of its own",
}
pytestmark = pytest.mark.asyncio(loop_scope="session")


@contextlib.asynccontextmanager
async def box_of(kind: str, **options: object) -> AsyncIterator[ServerSandbox]:
    sandbox = await sandbox_of(kind, **options)
    assert isinstance(sandbox, ServerSandbox)
    try:
        yield sandbox
    finally:
        await sandbox.close()


async def opened(box: ServerSandbox, run: str = "run", workspace: Path | None = None) -> Any:
    """A session, which is in a world where this machine allows it. Typed loosely: the tests look inside."""
    return await box.open(workspace, RunView(), run_id=run)


async def passes(session: SandboxSession, code: str = "assert True") -> None:
    result = await session.check(code, PATIENT)
    assert result.ending is Ending.PASSED, result


def skip_without_worlds(isolation: Isolation) -> None:
    if isolation.note:
        missing("worlds", isolation.note)


# --- between two runs of one container ---------------------------------------------------------------------------


@pytest.mark.skipif(platform.machine() != X86, reason=f"written for {X86}")
@pytest.mark.parametrize("kind", ISOLATING)
@pytest.mark.parametrize("trace", TRACES, ids=[trace.name for trace in TRACES])
async def test_a_run_leaves_nothing_for_the_next_one_in_its_container(kind: str, trace: Trace) -> None:
    async with box_of(kind) as box:
        first = await opened(box, "first")
        skip_without_worlds(first.isolation)
        left = await first.check(PRELUDE + trace.leave, PATIENT)
        assert left.ending is Ending.PASSED or "without the server seeing" in left.message, left
        first._limit_broken = False  # by os._exit: the server would be replaced, and nothing could be found in it
        await first.close()
        second = await opened(box, "second")
        assert second._connection is first._connection, "this says something only where it is the same container"
        await passes(second, PRELUDE + trace.look)
        await second.close()


async def test_the_docs_list_exactly_these_traces() -> None:
    listed = DOCS.read_text().partition("<!-- between runs -->")[2].partition("<!-- end of between runs -->")[0]
    assert [line[2:] for line in listed.splitlines() if line.startswith("- ")] == [trace.name for trace in TRACES]


@pytest.mark.parametrize("kind", EVERY)
async def test_many_runs_share_a_server_and_see_only_their_own_files(kind: str, tmp_path: Path) -> None:
    async with box_of(kind, concurrency=2) as box:
        connections = set()

        async def one(number: int) -> None:
            folder = tmp_path / str(number)
            folder.mkdir()
            (folder / "mine").write_text(str(number))
            session = await opened(box, f"run-{number}", folder)
            skip_without_worlds(session.isolation)
            for _ in range(2):
                await passes(
                    session,
                    f"import os\nassert os.listdir() == ['mine'] and open('mine').read() == '{number}'\n"
                    "open('more', 'w').write('x')",
                )
            connections.add(session._connection)
            await session.close()

        for start in range(0, 12, 2):
            await asyncio.gather(*(one(number) for number in (start, start + 1)))
        assert len(connections) <= 3, "a server was started for each run, or nearly"


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("how", ["cancelled", "closed", "server killed"])
async def test_a_run_that_ends_in_the_middle_of_a_check_leaves_nothing(kind: str, how: str) -> None:
    busy = (
        "import os, time\nopen('left', 'w').write('x')\n"
        "for _ in range(3):\n    if not os.fork(): os.setsid(); time.sleep(600)\n"
        "print(os.getcwd(), flush=True)\ntime.sleep(600)"
    )
    async with box_of(kind) as box:
        session = await opened(box, "first")
        skip_without_worlds(session.isolation)
        check = asyncio.ensure_future(session.check(busy, PATIENT))
        keeper = await keeper_of(session._connection.pipe)
        await eventually(lambda: forked(keeper, 3))
        family = {pid: ownership.start_of(pid) for pid in (keeper, *descendants(keeper))}
        if how == "cancelled":
            check.cancel()
        elif how == "closed":
            await session.close()
        else:
            os.kill(server_of(keeper, kind), signal.SIGKILL)
        with contextlib.suppress(SandboxLost, asyncio.CancelledError):
            await check
        await session.close()
        other = await opened(box, "second")
        assert other._connection is not session._connection, "its container is replaced"
        await passes(other, "import os\nassert os.listdir() == []")
        await other.close()
        assert len(family) >= 3

        async def all_ended() -> bool:
            return not [pid for pid, start in family.items() if start and ownership.start_of(pid) == start]

        await eventually(all_ended)


def children_of(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(path.parent.name))
    return found


async def keeper_of(pipe: Any) -> int:
    """The keeper's id on this machine; with bwrap, that of bubblewrap itself."""
    if hasattr(pipe, "_process"):
        return int(pipe._process.pid)
    state = await pipe._daemon.call("inspect_container", pipe._container)
    return int(state["State"]["Pid"])


def server_of(keeper: int, kind: str) -> int:
    """The server of the run: the keeper's child; with bwrap, the keeper is the child of bubblewrap."""
    for _ in range(2 if kind == "bwrap" else 1):
        keeper = children_of(keeper)[0]
    return keeper


async def forked(keeper: int, number: int) -> bool:
    """Whether the check is under way: below the server are its process and so many more."""
    return len(descendants(keeper)) > number + 1


def descendants(pid: int) -> list[int]:
    found, waiting = [], [pid]
    while waiting:
        below = children_of(waiting.pop())
        found += below
        waiting += below
    return found


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


# --- a container that is worn is replaced ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EVERY)
async def test_a_server_under_which_a_limit_broke_is_replaced(kind: str) -> None:
    async with box_of(kind) as box:
        first = await opened(box, "first")
        broken = await first.check("x = bytearray(10**10)", replace(PATIENT, memory_mb=64))
        assert broken.ending is Ending.LIMIT
        await first.close()
        second = await opened(box, "second")
        assert second._connection is not first._connection
        await passes(second)


async def test_a_container_that_was_hit_by_its_own_limit_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """As its keeper sees it in its control group; here it says so without having been hit."""
    async with box_of("process") as box:
        first = await opened(box, "first")
        ask = first._connection.ask

        async def worn(kind: bytes, payload: bytes, answer: bytes) -> dict[str, Any]:
            found: dict[str, Any] = await ask(kind, payload, answer)
            return {**found, "worn": True} if kind == b"X" else found

        monkeypatch.setattr(first._connection, "ask", worn)
        await passes(first)
        await first.close()
        second = await opened(box, "second")
        assert second._connection is not first._connection


async def test_an_answer_for_another_run_is_never_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run could leave on the way from its server must not pass for what the next one says."""
    async with box_of("process") as box:
        first = await opened(box, "first")
        await first.close()
        real = ServerConnection._answer

        async def stale(connection: ServerConnection, expected: bytes) -> dict[str, Any]:
            found = await real(connection, expected)
            return {**found, "nonce": "00" * 16} if expected == b"W" else found

        monkeypatch.setattr(ServerConnection, "_answer", stale)
        second = await opened(box, "second")
        assert not second._connection.keeps, "a server of its own, which has no run before it"
        assert "another run" in second.isolation.note
        await passes(second)


# --- where there can be no worlds --------------------------------------------------------------------------------


def without(*names: str, clone: bool = True) -> str:
    """Viva's profile without these system calls; without `clone`, it makes no namespaces, as with Docker's own."""
    from viva.sandbox.docker.profile import profile

    found = json.loads(profile())
    allowed = found["syscalls"][0]["names"]
    found["syscalls"][0]["names"] = [one for one in allowed if one not in names and (clone or one != "clone")]
    found["syscalls"] = [rule for rule in found["syscalls"] if rule["names"][0] not in names]
    if not clone:
        flags = {"index": 0, "value": 2114060288, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
        found["syscalls"].append({"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [flags]})
    return json.dumps(found)


PROFILES = {
    "no namespaces": (lambda: without(clone=False), "clone into namespaces"),
    "no mounts": (lambda: without("mount"), "mount /"),
    "no unmounting": (lambda: without("umount2"), "umount2"),
    "no namespaces for a check": (lambda: without("unshare"), "unshare"),
    "no way back from them": (lambda: without("setns"), "setns"),
    "a profile that the daemon does not take": (lambda: "{", "Docker"),
}


@pytest.mark.parametrize("name", [*PROFILES, "a masked /proc"])
async def test_where_docker_forbids_what_a_world_needs_each_run_has_a_container(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from viva.sandbox.docker import backend as docker

    said = "mount /proc"
    if name in PROFILES:
        profile, said = PROFILES[name]
        words = profile()
        monkeypatch.setattr(docker, "profile", lambda: words)
    else:
        made = docker.container_settings

        def masked(api: Any, spec: Any) -> dict[str, Any]:
            settings = made(api, spec)
            for key in ("MaskedPaths", "ReadonlyPaths"):
                settings["host_config"].pop(key, None)
            return settings

        monkeypatch.setattr(docker, "container_settings", masked)
    async with box_of("docker", concurrency=2) as box:
        await box.prepare(run_id="first")
        first = await opened(box, "first")
        await first.check("assert 1 == 2")
        assert first.isolation.runs == OWN["docker"]
        assert "worlds are not available here" in first.isolation.note
        assert said in first.isolation.note
        await passes(first)
        await first.close()
        second = await opened(box, "second")
        assert second._connection is not first._connection
        await passes(second)
        assert box.fallback == second.isolation.note


async def test_where_bubblewrap_forbids_namespaces_inside_each_run_has_a_bwrap(monkeypatch: pytest.MonkeyPatch) -> None:
    from viva.sandbox import bwrap

    made = bwrap.arguments
    monkeypatch.setattr(bwrap, "arguments", lambda launch, room: [*made(launch, room)[:-1], "--disable-userns", "--"])
    async with box_of("bwrap") as box:
        first = await opened(box, "first")
        assert first.isolation.runs == OWN["bwrap"]
        assert "clone into namespaces" in first.isolation.note
        await passes(first)


@pytest.mark.parametrize("kind", EVERY)
async def test_each_run_has_a_container_where_that_is_asked_for(kind: str) -> None:
    async with box_of(kind, fresh="container") as box:
        sessions = [await opened(box, str(number)) for number in range(2)]
        for session in sessions:
            await passes(session)
            assert session.isolation.runs == OWN[kind]
            assert session.isolation.note == "", "it is what was asked for"
            assert not session._connection.keeps
        assert (await box.try_out()).runs == OWN[kind]


@pytest.mark.parametrize("kind", EVERY)
async def test_a_keeper_that_opens_no_world_costs_no_run(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run gets a container of its own then; and where one after the other fails, nobody tries any more."""
    real = ServerConnection.begin

    async def refusing(connection: ServerConnection, payload: bytes, options: Any = None) -> dict[str, Any]:
        if connection.keeps:
            raise SandboxError("the server gave up: no space for namespaces")
        return await real(connection, payload, options)

    async with box_of(kind) as box:
        skip_without_worlds(await box.try_out())
        monkeypatch.setattr(ServerConnection, "begin", refusing)
        for number in range(MAX_FAILURES):
            assert box.fallback == ""
            session = await opened(box, str(number))
            assert session.isolation.runs == OWN[kind]
            assert "no space for namespaces" in session.isolation.note
            await passes(session)
            await session.close()
        assert "no space for namespaces" in box.fallback


def waiting_worlds(others: Container[int]) -> list[int]:
    """The first processes of worlds below a bwrap: they have another PID namespace than the keeper that made them.

    Those of keepers among `others`, such as that of a sandbox which all tests share, are not meant.
    """
    found = []
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):  # it ended meanwhile
            fields = Path(f"/proc/{pid}/status").read_text()
            named = dict(line.split(":", 1) for line in fields.splitlines())
            numbers = named["NSpid"].split()
            if numbers[-1] == "1" and len(numbers) == 3 and int(named["PPid"]) not in others:
                found.append(pid)
    return found


async def test_a_world_is_made_before_a_run_asks_for_it_and_anew_for_the_next_one() -> None:
    others = descendants(os.getpid())
    async with box_of("bwrap") as box:
        skip_without_worlds(await box.try_out())
        await box.prepare(run_id="first")

        async def one_waits() -> bool:
            return len(waiting_worlds(others)) == 1

        await eventually(one_waits)
        made = waiting_worlds(others)
        first = await opened(box, "first")
        await passes(first)
        assert waiting_worlds(others) == made, "the run has the world that was made for it"
        await first.close()

        async def another_waits() -> bool:  # no run has the world of another
            return len(waiting_worlds(others)) == 1 and waiting_worlds(others) != made

        await eventually(another_waits)
        second = await opened(box, "second")
        await passes(second)
        assert second.isolation.note == ""


async def test_a_world_that_dies_while_it_waits_costs_no_run() -> None:
    others = descendants(os.getpid())
    async with box_of("bwrap") as box:
        skip_without_worlds(await box.try_out())
        await box.prepare(run_id="unlucky")

        async def one_waits() -> bool:
            return len(waiting_worlds(others)) == 1

        await eventually(one_waits)
        os.kill(waiting_worlds(others)[0], signal.SIGKILL)
        session = await opened(box, "unlucky")
        assert session.isolation.runs == OWN["bwrap"]
        assert "a world could not be opened" in session.isolation.note
        await passes(session)
        other = await opened(box, "another")
        assert other.isolation.note == ""
        await passes(other)


async def test_a_run_whose_world_was_lost_is_judged_in_a_container_of_its_own() -> None:
    async with box_of("process") as box:
        first = await opened(box, "unlucky")
        check = asyncio.ensure_future(first.check("import time; time.sleep(60)", PATIENT))
        await asyncio.sleep(0.3)
        first._connection.pipe._process.kill()
        with pytest.raises(SandboxLost):
            await check
        await first.close()
        again = await opened(box, "unlucky")
        assert again.isolation.runs == OWN["process"]
        assert "a world was lost" in again.isolation.note
        await passes(again)
        other = await opened(box, "another")
        assert other.isolation.note == ""


# --- nothing is left ---------------------------------------------------------------------------------------------


@pytest.fixture
def no_mounts_are_left() -> Iterator[None]:
    before = Path("/proc/self/mountinfo").read_text().splitlines()
    yield
    after = Path("/proc/self/mountinfo").read_text().splitlines()
    assert not [line for line in after if line not in before and ("/box" in line or "viva" in line)]


@pytest.mark.usefixtures("no_mounts_are_left")
@pytest.mark.parametrize("kind", EVERY)
async def test_a_closed_sandbox_leaves_no_process(kind: str) -> None:
    before = set(descendants(os.getpid()))
    async with box_of(kind, concurrency=2) as box:
        sessions = await asyncio.gather(*(opened(box, str(number)) for number in range(3)))
        for session in sessions[:2]:
            await passes(session)
            await session.close()

    async def none_is_left() -> bool:
        return not [pid for pid in set(descendants(os.getpid())) - before if alive(pid)]

    await eventually(none_is_left)

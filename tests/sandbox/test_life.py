"""What is left when harnesses end, however they end: nothing of ours within a minute, and all that is not ours."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.sandbox.conftest import eventually, sandbox_of
from viva.sandbox import Ending, RunView
from viva.sandbox.docker import ownership
from viva.sandbox.docker.backend import DockerSandbox
from viva.sandbox.docker.daemon import Daemon
from viva.sandbox.docker.images import REPOSITORY, DockerImages
from viva.sandbox.docker.leftovers import prune

ROOT = Path(__file__).parents[2]
FEW = 6
"""How many are killed where it is not the long test: each is a start of Viva and of a container."""
pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def daemon() -> AsyncIterator[Daemon]:
    sandbox = await sandbox_of("docker")
    await sandbox.close()
    daemon = Daemon()
    yield daemon
    daemon.close()


@pytest_asyncio.fixture(loop_scope="session")
async def foreign(daemon: Daemon) -> AsyncIterator[str]:
    """A container that is none of ours, though its name looks like it. Must run when the test is over."""
    name = f"viva-foreign-{uuid.uuid4().hex[:8]}"
    await make(daemon, name, {})
    await daemon.call("start", name)
    yield name
    state = await daemon.call("inspect_container", name)
    await daemon.call("remove_container", name, force=True)
    assert state["State"]["Running"], "a container that is not ours was touched"


async def make(daemon: Daemon, name: str, labels: dict[str, str]) -> None:
    image = await DockerImages(daemon).base()
    await daemon.call(
        "create_container", image=image, command=["sleep", "600"], name=name, labels=labels, network_disabled=True
    )


def start_harness(kind: str, checks: int = 0, seconds: float = 0.05) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.sandbox.harness_stand_in", kind, str(checks), str(seconds)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def ours(daemon: Daemon, pids: set[int]) -> list[str]:
    """What of these harnesses' is still running."""
    found = await daemon.call("containers", filters={"label": ownership.HOST})
    return [one["Names"][0] for one in found if int(one["Labels"][ownership.PID]) in pids]


async def gone_within(daemon: Daemon, pids: set[int], seconds: float) -> float:
    began = time.monotonic()
    while left := await ours(daemon, pids):
        assert time.monotonic() - began < seconds, f"still running: {left}"
        await asyncio.sleep(0.2)
    return time.monotonic() - began


def moments(number: int, life: float) -> list[float]:
    """So many moments, in seconds, spread over a life: one somewhere in each part of it."""
    return [life * (part + random.random()) / number for part in range(number)]


async def kill(daemon: Daemon, processes: Sequence[subprocess.Popen[Any]], life: float) -> None:
    """Kill processes that were just started at moments all over their life, and wait until they are gone."""
    began = time.monotonic()
    for process, moment in zip(processes, moments(len(processes), life), strict=True):
        await asyncio.sleep(max(0.0, began + moment - time.monotonic()))
        process.kill()
    for process in processes:
        await asyncio.to_thread(process.communicate)
    await gone_within(daemon, {process.pid for process in processes}, 60)


@pytest.mark.usefixtures("foreign")
async def test_harnesses_killed_all_over_their_life_leave_nothing_running(daemon: Daemon) -> None:
    await kill(daemon, [start_harness("docker") for _ in range(FEW)], 4)

    async def nothing_is_left() -> bool:
        await prune(daemon)
        left = await daemon.call("containers", all=True, filters={"label": ownership.HOST})
        return not [one for one in left if ownership.is_leftover(one["Labels"])]

    await eventually(nothing_is_left)


@pytest.mark.soak
@pytest.mark.usefixtures("foreign")
async def test_twenty_harnesses_killed_twenty_times_over_leave_nothing_running(daemon: Daemon) -> None:
    for _ in range(20):
        await kill(daemon, [start_harness("docker") for _ in range(20)], 6)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
@pytest.mark.parametrize("kind", ["docker", "bwrap", "process"])
async def test_a_harness_that_is_ended_in_a_long_check_leaves_nothing_running(kind: str, how: signal.Signals) -> None:
    await (await sandbox_of(kind)).close()
    mark = f"0.{random.randrange(10**9)}"
    harness = start_harness(kind, seconds=50 + float(mark))
    assert harness.stdout
    assert await asyncio.to_thread(harness.stdout.readline) == "open\n"
    await asyncio.sleep(0.3)
    children = descendants(harness.pid)
    harness.send_signal(how)
    await asyncio.to_thread(harness.communicate)
    began = time.monotonic()
    while alive := [pid for pid in children if ownership.start_of(pid)]:
        assert time.monotonic() - began < 60, alive
        await asyncio.sleep(0.1)
    if kind == "docker":
        daemon = Daemon()
        await gone_within(daemon, {harness.pid}, 60)
        daemon.close()


async def names(daemon: Daemon) -> set[str]:
    return {one["Names"][0][1:] for one in await daemon.call("containers", all=True)}


async def all_gone(daemon: Daemon, wanted: set[str]) -> None:
    async def none_is_left() -> bool:
        return not wanted & await names(daemon)

    await eventually(none_is_left)


def descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            children.setdefault(int(path.read_text().rpartition(")")[2].split()[1]), []).append(int(path.parent.name))
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


async def test_pruning_removes_what_dead_owners_left_and_nothing_else(daemon: Daemon, foreign: str) -> None:
    # It lives until its containers do: others on this machine prune what dead owners left at any time.
    owner = await asyncio.create_subprocess_exec("sleep", "600")
    gone = {
        **ownership.labels("session"),
        ownership.PID: str(owner.pid),
        ownership.START: ownership.start_of(owner.pid) or "",
    }
    name = uuid.uuid4().hex[:8]
    labels = {
        f"viva-dead-{name}": gone,
        f"viva-deadrunning-{name}": gone,
        f"viva-living-{name}": ownership.labels("session"),
        f"viva-elsewhere-{name}": {**gone, ownership.HOST: "another machine"},
        f"viva-recycled-{name}": {**ownership.labels("session"), ownership.START: "1"},
    }
    for one, values in labels.items():
        await make(daemon, one, values)
    await daemon.call("start", f"viva-deadrunning-{name}")
    owner.kill()
    await owner.wait()
    try:
        pruned = await prune(daemon)
        wanted = {f"viva-dead-{name}", f"viva-deadrunning-{name}", f"viva-recycled-{name}"}
        assert not wanted & set(pruned.kept)
        assert foreign not in pruned.containers + pruned.kept
        await all_gone(daemon, wanted)
        left = await names(daemon)
        assert {f"viva-living-{name}", f"viva-elsewhere-{name}", foreign} <= left
    finally:
        for one in labels:
            with contextlib.suppress(Exception):
                await daemon.call("remove_container", one, force=True)


async def test_a_strangers_container_does_not_become_ours_by_its_image(daemon: Daemon) -> None:
    """Containers inherit the labels of their image, and the base image is one of ours."""
    name = f"viva-heir-{uuid.uuid4().hex[:8]}"
    inherited = {**ownership.image_labels("base"), ownership.image_key(ownership.START): "1"}
    await make(daemon, name, inherited)
    await make(daemon, f"{name}-old", {**ownership.labels("base"), ownership.START: "1"})
    try:
        pruned = await prune(daemon)
        assert not {name, f"{name}-old"} & {*pruned.containers, *pruned.kept}
        assert {name, f"{name}-old"} <= await names(daemon)
    finally:
        for one in (name, f"{name}-old"):
            await daemon.call("remove_container", one, force=True)


async def test_what_a_user_committed_from_one_of_ours_is_not_ours(daemon: Daemon) -> None:
    """A commit takes all labels along, and a container that is made from it has them."""
    name = f"viva-kept-{uuid.uuid4().hex[:8]}"
    labels = {**ownership.labels("session", name="viva-0123456789ab"), ownership.START: "1"}
    await make(daemon, name, labels)
    try:
        pruned = await prune(daemon)
        assert name not in {*pruned.containers, *pruned.kept}
        assert name in await names(daemon)
    finally:
        await daemon.call("remove_container", name, force=True)


async def test_pruning_removes_its_own_tags_only(daemon: Daemon) -> None:
    mark = uuid.uuid4().hex
    container, tag = f"viva-made-{mark[:8]}", f"{REPOSITORY}:{mark[:24]}"
    dead = {
        **ownership.image_labels("dependencies"),
        ownership.image_key(ownership.START): "1",
        ownership.image_key(ownership.KIND): "dependencies",
    }
    changes = ["LABEL " + " ".join(f'{key}="{value}"' for key, value in dead.items())]
    await make(daemon, container, {})
    kept = [f"mine-{mark}:1", f"mine-{mark}:committed", f"{REPOSITORY}:mine-{mark}"]
    made: list[str] = []
    try:
        repository, _, version = tag.partition(":")
        made += [(await daemon.call("commit", container, repository=repository, tag=version, changes=changes))["Id"]]
        for name in (kept[0], kept[2]):
            await daemon.call("tag", tag, *name.split(":"))
        made += [(await daemon.call("commit", container, *kept[1].split(":"), changes=changes))["Id"]]
        made += [(await daemon.call("commit", container, changes=changes))["Id"]]  # without any name
        pruned = await prune(daemon, images=True)
        assert tag in pruned.images
        assert not {*kept, *made} & {*pruned.images, *pruned.kept}
        for name in [*kept, *made]:
            assert await daemon.call("inspect_image", name), "an image that is the user's was removed"
        assert tag not in (await daemon.call("inspect_image", kept[0]))["RepoTags"]
    finally:
        await daemon.call("remove_container", container, force=True)
        for one in [tag, *kept, *made]:
            with contextlib.suppress(Exception):
                await daemon.call("remove_image", one, force=True)


async def test_leftovers_are_removed_at_the_next_start(daemon: Daemon) -> None:
    name = f"viva-left-{uuid.uuid4().hex[:8]}"
    await make(daemon, name, {**ownership.labels("session"), ownership.START: "1"})
    sandbox = DockerSandbox(Daemon())
    try:
        await sandbox.open(None, RunView())
        await all_gone(daemon, {name})
    finally:
        await sandbox.close()


@pytest.mark.usefixtures("foreign")
async def test_of_two_harnesses_one_is_killed_and_pruned_and_the_other_finishes(daemon: Daemon) -> None:
    survivor, victim = start_harness("docker", checks=60, seconds=0.05), start_harness("docker")
    assert victim.stdout
    assert await asyncio.to_thread(victim.stdout.readline) == "open\n"
    victim.kill()
    victim.communicate()
    for _ in range(5):
        await prune(daemon, images=True)
        await asyncio.sleep(0.2)
    out, errors = await asyncio.to_thread(survivor.communicate)
    assert survivor.returncode == 0, errors
    assert out.endswith("done 60\n")
    await gone_within(daemon, {survivor.pid, victim.pid}, 60)


async def test_a_closed_sandbox_leaves_no_container(daemon: Daemon) -> None:
    sandbox = DockerSandbox(Daemon(), concurrency=3)
    run = uuid.uuid4().hex
    for _ in range(3):
        await sandbox.prepare(run_id=run)
    sessions = await asyncio.gather(*(sandbox.open(None, RunView(), run_id=run) for _ in range(4)))
    assert await daemon.call("containers", filters={"label": f"{ownership.RUN}={run}"})
    for session in sessions[:2]:
        await session.close()
    await sandbox.close()

    async def none_is_left() -> bool:
        return not await daemon.call("containers", all=True, filters={"label": f"{ownership.RUN}={run}"})

    await eventually(none_is_left)


async def test_a_session_is_ready_when_the_conversation_ends(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first check of a run waits for nothing when the conversation took longer than a start."""
    sandbox = DockerSandbox(Daemon(), concurrency=1)
    try:
        await sandbox.prepare()

        async def conversation_is_over() -> bool:
            return all(one.done() for one in sandbox._pool._waiting)

        await eventually(conversation_is_over)
        monkeypatch.setattr(sandbox, "_start", lambda *_: pytest.fail("the first check waits for a start"))
        session = await sandbox.open(None, RunView(), run_id="r")
        assert (await session.check("assert True")).ending is Ending.PASSED
    finally:
        await sandbox.close()


async def test_where_each_run_is_to_have_a_container_none_serves_two(daemon: Daemon) -> None:
    sandbox = DockerSandbox(Daemon(), concurrency=2, fresh="container")
    try:
        seen = set()
        for number in range(4):
            await sandbox.prepare()
            session = await sandbox.open(None, RunView(), run_id=str(number))
            seen.add((await session.check("import os; print(os.getuid(), os.stat('/proc/1').st_ctime)")).output)
            await session.close()
        assert len(seen) == 4
    finally:
        await sandbox.close()


def start_run(out: Path) -> subprocess.Popen[bytes]:
    words = ["run", "mean_of_a_column", "--sandbox", "docker", "--quiet", "--out", str(out)]
    command = [sys.executable, "-m", "viva.cli.main", *words]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.usefixtures("foreign")
async def test_runs_of_viva_killed_all_over_their_life_leave_nothing_running(daemon: Daemon, tmp_path: Path) -> None:
    await kill(daemon, [start_run(tmp_path / str(number)) for number in range(FEW)], 6)


@pytest.mark.soak
@pytest.mark.usefixtures("foreign")
async def test_twenty_runs_of_viva_killed_twenty_times_over(daemon: Daemon, tmp_path: Path) -> None:
    for time_over in range(20):
        await kill(daemon, [start_run(tmp_path / f"{time_over}-{number}") for number in range(20)], 12)

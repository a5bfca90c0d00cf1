"""A second Docker daemon, reached over TCP and sharing no files: it works there, and its death is waited for."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from tests.ports import free_port
from tests.sandbox.conftest import eventually, missing, sandbox_of
from viva.sandbox import DaemonGone, Ending, RunView, SandboxLimits, SandboxLost, SandboxUnavailable
from viva.sandbox.choice import choose
from viva.sandbox.docker import ownership
from viva.sandbox.docker.backend import DockerSandbox
from viva.sandbox.docker.daemon import Daemon
from viva.sandbox.docker.images import DockerImages

pytestmark = pytest.mark.asyncio(loop_scope="session")


def bridge() -> str:
    """A bridge of its own: a dockerd that is told to have none removes the first daemon's."""
    return f"viva{os.getpid()}"


def make_bridge() -> None:
    network = f"198.18.{os.getpid() % 256}.1/24"
    for words in (f"link add {bridge()} type bridge", f"addr add {network} dev {bridge()}", f"link set {bridge()} up"):
        subprocess.run(["ip", *words.split()], check=False, capture_output=True)


@dataclass
class SecondDaemon:
    """A dockerd of the tests' own, with folders, socket and port of its own."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    log: str = ""
    image: str = field(default="")

    @property
    def where(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    async def start(self) -> None:
        program = shutil.which("dockerd")
        if program is None or os.geteuid() != 0:
            missing("docker", "a second daemon needs dockerd and root")
        command = [str(program), "--data-root", f"{self.folder}/data", "--exec-root", f"{self.folder}/exec"]
        await asyncio.to_thread(make_bridge)
        command += ["--pidfile", f"{self.folder}/pid", "-H", self.where, "--tls=false"]
        command += ["--bridge", bridge(), "--iptables=false", "--ip-masq=false"]
        log = await asyncio.to_thread(open, self.folder / "log", "ab")
        with log:
            self.process = await asyncio.to_thread(subprocess.Popen, command, stdout=log, stderr=log)
        await self.answers()

    async def answers(self) -> None:
        """Wait until it answers: it takes connections before, while it looks after the containers of its last life."""
        for _ in range(900):
            with contextlib.suppress(SandboxUnavailable):
                daemon = Daemon(self.where)
                await daemon.reach()
                daemon.close()
                return
            await asyncio.sleep(0.1)
        pytest.fail((self.folder / "log").read_text()[-2000:])

    async def is_stopped(self) -> bool:
        assert self.process
        stats = Path(f"/proc/{self.process.pid}/task").glob("*/stat")
        return all(path.read_text().rpartition(")")[2].split()[0] == "T" for path in stats)

    async def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self.process:
            self.process.send_signal(how)
            await asyncio.to_thread(self.process.wait)
            self.process = None


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def second() -> AsyncIterator[SecondDaemon]:
    await (await sandbox_of("docker")).close()
    # A short path of its own: unix sockets below exec-root must stay under 108 characters.
    folder = Path(tempfile.mkdtemp(prefix="vd", dir="/var/tmp"))
    daemon = SecondDaemon(folder, free_port())
    try:
        await daemon.start()
        await copy_base_image(daemon)
        yield daemon
    finally:
        await daemon.end()
        await asyncio.to_thread(clean_up, folder)


async def copy_base_image(second: SecondDaemon) -> None:
    first, other = Daemon(), Daemon(second.where)
    images = DockerImages(first)
    await images.base()
    second.image = images.base_name

    def carry() -> None:
        data = first._connect(60).get_image(images.base_name)
        other._connect(60).load_image(data)

    await asyncio.to_thread(carry)
    first.close()
    other.close()


def clean_up(folder: Path) -> None:
    """End the containerd that belongs to this daemon, and whatever still hangs below its folder."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(folder).encode() in path.read_bytes():
                os.kill(int(path.parent.name), signal.SIGKILL)
    time.sleep(0.3)
    for mount in reversed(Path("/proc/self/mounts").read_text().splitlines()):
        if str(folder) in mount:
            subprocess.run(["umount", "-l", mount.split()[1]], check=False)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["ip", "link", "delete", bridge()], check=False, capture_output=True)


async def test_docker_host_over_tcp_works_without_shared_files(
    second: SecondDaemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", second.where)
    (tmp_path / "answer").write_text("42")
    there = Daemon(second.where)

    async def containers() -> set[str]:
        return {each["Id"] for each in await there.call("containers", all=True, filters={"label": ownership.HOST})}

    # A daemon that was killed or stopped in another test may still hold what it could not be told to remove.
    before = await containers()
    sandbox = (await choose("docker", image=second.image)).sandbox
    await sandbox.prepare()
    session = await sandbox.open(tmp_path, RunView(), run_id="over-tcp")
    result = await session.check("assert open('answer').read() == '42'; open('answer', 'w').write('43')")
    assert result.ending is Ending.PASSED, result
    assert await containers() - before
    await sandbox.close()

    async def nothing_is_left() -> bool:
        return not await containers() - before

    await eventually(nothing_is_left)
    there.close()
    assert (tmp_path / "answer").read_text() == "42"


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.soak)])
async def test_a_daemon_that_dies_is_waited_for_and_the_checks_go_on(second: SecondDaemon, how: signal.Signals) -> None:
    sandbox = DockerSandbox(Daemon(second.where, patience=60), image=second.image)
    try:
        session = await sandbox.open(None, RunView(), run_id="dies")
        check = asyncio.ensure_future(session.check("import time; time.sleep(40)", SandboxLimits(seconds=60)))
        await asyncio.sleep(0.3)
        await second.end(how)
        with pytest.raises(SandboxLost):
            await asyncio.wait_for(check, 30)
        reopened = asyncio.ensure_future(sandbox.open(None, RunView(), run_id="dies"))
        await asyncio.sleep(2)
        assert not reopened.done(), "it waits"
        await second.start()
        session = await asyncio.wait_for(reopened, 90)
        assert (await session.check("assert True")).ending is Ending.PASSED
    finally:
        await sandbox.close()


async def test_a_daemon_that_stays_away_is_given_up_after_the_stated_time(second: SecondDaemon) -> None:
    sandbox = DockerSandbox(Daemon(second.where, patience=2), image=second.image)
    try:
        session = await sandbox.open(None, RunView(), run_id="gone")
        await second.end(signal.SIGKILL)
        with pytest.raises(SandboxLost):
            await session.check("assert True")
        async with asyncio.timeout(60):
            with pytest.raises(DaemonGone, match="unavailable for 2 s"):
                await sandbox.open(None, RunView(), run_id="gone")
    finally:
        await sandbox.close()
        await second.start()


async def test_a_daemon_that_hangs_loses_the_session_is_given_up_and_keeps_nobody_waiting(
    second: SecondDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes connections and answers nothing: stopped, swapping, out of disk."""
    monkeypatch.setattr("viva.sandbox.session.GRACE_SECONDS", 1.0)
    monkeypatch.setattr("viva.sandbox.docker.daemon.PING_SECONDS", 1.0)
    daemon = Daemon(second.where, patience=2)
    sandbox = DockerSandbox(daemon, image=second.image)
    assert second.process
    session = await sandbox.open(None, RunView(), run_id="hangs")
    daemon._given_up = True  # as after a first call in vain, which has a minute
    second.process.send_signal(signal.SIGSTOP)
    try:
        await eventually(second.is_stopped)
        async with asyncio.timeout(60):
            with pytest.raises(SandboxLost):
                await session.check("import time; time.sleep(600)", SandboxLimits(seconds=1))
            with pytest.raises(DaemonGone):
                await sandbox.open(None, RunView(), run_id="hangs")
            with pytest.raises(SandboxUnavailable, match="does not answer"):
                await Daemon(second.where).reach()
    finally:
        second.process.send_signal(signal.SIGCONT)
        monkeypatch.undo()
        await second.answers()
        await sandbox.close()

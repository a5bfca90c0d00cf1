"""The backend with the strongest walls: one locked container per run, its server spoken to over stdin and stdout."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox import owner
from sandbox.archive import pack
from sandbox.bundle import boot_script
from sandbox.daemon import Daemon, explain, is_missing, raw_socket
from sandbox.images import Images
from sandbox.interface import Limits, Room, RunView, SandboxError
from sandbox.pool import Pool
from sandbox.room import ServerRoom, Session

MIB = 1024 * 1024
SERVER_MB = 64
"""What the server needs beside its checks."""


@dataclass(frozen=True)
class Lock:
    """How a container is closed off, beyond what always holds."""

    limits: Limits = field(default_factory=Limits)
    """The most that any check of the room may use; disk and processes are walled by these."""
    workspace_mb: int = 128
    """Largest workspace taken in, in MiB; the server keeps it in memory."""
    runtime: str | None = None
    """A runtime the daemon knows, for example `runsc`."""


class ContainerPipe:
    """A server in a container, over the attached stream (Docker's: 8 bytes of header before each piece)."""

    def __init__(self, daemon: Daemon, container: str) -> None:
        self._daemon = daemon
        self._container = container
        self._buffer = bytearray()
        self._errors = bytearray()
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self._open = True

    async def connect(self, stream: socket.socket) -> None:
        self._reader, self._writer = await asyncio.open_connection(sock=stream, limit=MIB)

    async def read(self, size: int) -> bytes:
        while len(self._buffer) < size:
            head = await self._reader.readexactly(8)
            piece = await self._reader.readexactly(int.from_bytes(head[4:], "big"))
            if head[0] == 1:
                self._buffer += piece
            else:
                self._errors = (self._errors + piece)[-2000:]
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        if not self._open:
            return
        self._open = False
        with contextlib.suppress(Exception):
            self._writer.close()  # the end of its stdin ends the server, and the daemon removes what has ended
        with contextlib.suppress(Exception):
            await self._daemon.run(_remove, self._container)

    def last_words(self) -> str:
        return self._errors.decode("utf-8", "replace").strip()


def _remove(api: Any, container: str) -> None:
    api.remove_container(container, force=True, v=True)


def container_settings(api: Any, image: str, lock: Lock, run_id: str) -> dict[str, Any]:
    """The arguments of `create_container` for a room. Pure but for the choice of a user id."""
    # A user of its own for each container: its processes are counted apart (RLIMIT_NPROC counts per user on the
    # whole machine), and would still be strangers to each other outside. Below 65536 for mapped user namespaces.
    user = random.randint(20_000, 59_999)  # noqa: S311 - no secret
    limits = lock.limits
    disk = f"rw,nosuid,nodev,exec,mode=0700,uid={user},gid={user},nr_inodes=50000"
    memory = (limits.memory_mb + 2 * limits.disk_mb + lock.workspace_mb + SERVER_MB) * MIB
    return {
        "image": image,
        "entrypoint": ["python3"],
        "command": ["-I", "-c", boot_script()],
        "user": f"{user}:{user}",
        "working_dir": "/",
        "hostname": "viva",
        "environment": {"HOME": "/box", "PYTHONDONTWRITEBYTECODE": "1"},
        "stdin_open": True,
        "tty": False,
        "network_disabled": True,
        "healthcheck": {"test": ["NONE"]},
        "labels": owner.labels("room", run_id),
        "name": f"viva-{uuid.uuid4().hex[:12]}",
        "host_config": api.create_host_config(
            network_mode="none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            read_only=True,
            tmpfs={
                "/box": f"{disk},size={(limits.disk_mb + lock.workspace_mb)}m",
                "/tmp": f"{disk},size={limits.disk_mb}m",  # noqa: S108 - inside the container
                "/dev/shm": f"{disk},size=64m",  # noqa: S108
            },
            mem_limit=memory,
            memswap_limit=memory,
            pids_limit=limits.processes + 8,
            ipc_mode="private",
            auto_remove=True,
            init=False,
            log_config={"Type": "none", "Config": {}},
            restart_policy={"Name": "no"},
            runtime=lock.runtime,
        ),
    }


SERVER_OPTIONS: dict[str, Any] = {
    "alone": True,
    "root": "/box",
    "mounts": ["/box", "/tmp", "/dev/shm"],  # noqa: S108
    "count_processes": True,
    "site": "/opt/viva/site",
}


class DockerSandbox:
    """See `Sandbox`. `concurrency` is how many containers are kept ready at most."""

    name = "docker"
    isolates = True
    weaknesses: tuple[str, ...] = (
        "A check shares the host's kernel: a hole in that is a hole in the wall (a runtime such as runsc has its own).",
    )

    def __init__(
        self, daemon: Daemon | None = None, *, image: str | None = None, concurrency: int = 1, lock: Lock | None = None
    ) -> None:
        self.daemon = daemon or Daemon()
        self.lock = lock or Lock()
        self.images = Images(self.daemon, image)
        self._pool = Pool(self._start, concurrency)
        self._rooms: set[ServerRoom] = set()
        self._ending: set[asyncio.Task[None]] = set()

    async def prepare(self, dependencies: Sequence[str] = ()) -> None:
        image = await self.images.with_dependencies(dependencies)
        self._pool.expect(image)

    async def open(
        self,
        workspace: Path | None,
        view: RunView,
        *,
        dependencies: Sequence[str] = (),
        run_id: str = "",
    ) -> Room:
        payload = await asyncio.to_thread(pack, workspace, view, most_mb=self.lock.workspace_mb)
        image = await self.images.with_dependencies(dependencies)
        session = await self._pool.take(image)
        room: ServerRoom

        async def closed() -> None:
            self._rooms.discard(room)
            # Removal takes the daemon a tenth of a second; nobody has to wait for it.
            task = asyncio.create_task(session.pipe.close())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

        room = ServerRoom(session, self.lock.limits, closed)
        self._rooms.add(room)
        await room.load(payload)
        return room

    async def _start(self, image: str, run_id: str = "") -> Session:
        """Create and start a container, and bring its server up."""
        from docker.errors import APIError

        container = ""
        try:
            settings = await self.daemon.run(container_settings, image, self.lock, run_id)
            container = (await self.daemon.call("create_container", **settings))["Id"]
            pipe = ContainerPipe(self.daemon, container)
            # Attached before it starts: a harness that is killed in between leaves nothing that runs.
            await pipe.connect(await self.daemon.run(_attach, container))
            await self.daemon.call("start", container)
        except APIError as error:
            if container:
                with contextlib.suppress(Exception):
                    await self.daemon.run(_remove, container)
            raise explain(error) from error
        session = Session(pipe)
        await session.start(SERVER_OPTIONS)
        return session

    async def close(self) -> None:
        await asyncio.gather(*(room.close() for room in list(self._rooms)), return_exceptions=True)
        await self._pool.close()
        if self._ending:
            await asyncio.wait(self._ending, timeout=10)
        self.daemon.close()


def _attach(api: Any, container: str) -> socket.socket:
    wanted = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
    return raw_socket(api.attach_socket(container, params=wanted))


__all__ = ["DockerSandbox", "Lock", "SandboxError", "is_missing"]

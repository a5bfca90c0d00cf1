"""The backend with the strongest isolation: locked containers, with a keeper or a server at their stdin and stdout."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from viva.sandbox.backend import EnvironmentGone, ServerSandbox
from viva.sandbox.bundle import BIND_AT_START, boot_script
from viva.sandbox.connection import ServerConnection
from viva.sandbox.docker import ownership
from viva.sandbox.docker.container import ContainerPipe, remove
from viva.sandbox.docker.daemon import Daemon, explain, is_missing
from viva.sandbox.docker.images import SITE, DockerImages
from viva.sandbox.docker.leftovers import prune
from viva.sandbox.docker.profile import profile
from viva.sandbox.inside import namespaces
from viva.sandbox.interface import Fresh, Isolation, SandboxError
from viva.sandbox.limits import SandboxLimits
from viva.sandbox.places import PLACES, sizes

MIB = 1024 * 1024
RUNTIME_VARIABLE = "VIVA_SANDBOX_RUNTIME"
SERVER_MB = 64
"""Memory that the server and its keeper need for themselves."""
TCP_BUFFERS = {f"net.ipv4.{name}": words for name, words in namespaces.TCP_BUFFERS.items()}
"""For containers without worlds; in a world, its server sets them."""
ALONE = "a locked container"
"""What stands between a check and the host: see `container_settings`."""


@dataclass(frozen=True)
class ContainerSpec:
    """What differs between containers. Everything else about how they are locked is the same for all."""

    image: str
    limits: SandboxLimits
    """The largest limits of any check in it: memory, tmpfs and process limits are made to hold them."""
    workspace_mb: int
    runtime: str | None
    run_id: str
    worlds: bool = False
    """Whether a keeper makes worlds in it, of which each has file systems of its own."""


def container_settings(api: Any, spec: ContainerSpec) -> dict[str, Any]:
    """Return the arguments of `create_container`. The user id is chosen at random."""
    # The SDK would add the proxies of ~/.docker/config.json, with their passwords: `use_config_proxy`.
    # Each container has its own user: its processes are counted separately (RLIMIT_NPROC counts per user on the whole
    # machine), and have no rights over each other even outside. Ids are below 65536 for mapped user namespaces.
    user = random.randint(20_000, 59_999)  # noqa: S311 - no secret
    limits = spec.limits
    name = f"viva-{uuid.uuid4().hex[:12]}"
    disk = f"rw,nosuid,nodev,exec,mode=0700,uid={user},gid={user},nr_inodes=50000"
    memory = (limits.memory_mb + 2 * limits.disk_mb + spec.workspace_mb + SERVER_MB) * MIB
    filters = [f"seccomp={profile()}"] if spec.worlds else []
    host_config = api.create_host_config(
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true", *filters],
        read_only=True,
        # A world has file systems of its own in these places.
        tmpfs={
            place: "ro,nosuid,nodev,size=4k" if spec.worlds else f"{disk},size={size}m"
            for place, size in zip(PLACES, sizes(spec.limits, spec.workspace_mb), strict=True)
        },
        mem_limit=memory,
        memswap_limit=memory,
        pids_limit=limits.processes + 8,
        ipc_mode="private",
        auto_remove=True,
        init=False,
        log_config={"Type": "none", "Config": {}},
        restart_policy={"Name": "no"},
        runtime=spec.runtime,
        # Other runtimes have a network of their own, and so have worlds.
        sysctls=TCP_BUFFERS if spec.runtime in (None, "runc") and not spec.worlds else None,
    )
    if spec.worlds:
        # The kernel allows a /proc in a namespace only to whom can see one without masks. Nothing but the keeper sees
        # this one; each check has one of its own, read-only and masked.
        host_config |= {"MaskedPaths": [], "ReadonlyPaths": []}
    return {
        "image": spec.image,
        "entrypoint": ["python3"],
        "command": ["-I", "-c", boot_script()],
        "user": f"{user}:{user}",
        "working_dir": "/",
        "hostname": "viva",
        "environment": {"HOME": "/box", "PYTHONDONTWRITEBYTECODE": "1", **BIND_AT_START},
        "use_config_proxy": False,
        "stdin_open": True,
        "tty": False,
        "network_disabled": True,
        "healthcheck": {"test": ["NONE"]},
        "labels": ownership.labels("session", spec.run_id, name),
        "name": name,
        "host_config": host_config,
    }


def server_options(spec: ContainerSpec) -> dict[str, Any]:
    """Return the options of the server in a container, or of its keeper."""
    return {
        "way": "world" if spec.worlds else "once",
        "alone": True,
        "root": PLACES[0],
        "mounts": PLACES,
        "sizes": sizes(spec.limits, spec.workspace_mb),
        "count_processes": True,
        "site": SITE,
    }


@contextlib.contextmanager
def _as_ours() -> Iterator[None]:
    """Turn whatever the SDK, its HTTP library or the daemon raise into a `SandboxError`."""
    try:
        yield
    except SandboxError:
        raise
    except Exception as error:
        raise explain(error) from error


class DockerSandbox(ServerSandbox):
    """See `Sandbox`. `runtime` names a runtime that the daemon knows, for example `runsc`."""

    name = "docker"
    isolates = True
    weaknesses: tuple[str, ...] = (
        "A check shares the host's kernel: a flaw in it is a flaw in the sandbox (runsc and the like have their own).",
    )

    def __init__(
        self,
        daemon: Daemon | None = None,
        *,
        image: str | None = None,
        concurrency: int = 1,
        limits: SandboxLimits | None = None,
        workspace_mb: int = 128,
        runtime: str | None = None,
        allow_source: bool = False,
        fresh: Fresh = "world",
    ) -> None:
        super().__init__(
            concurrency=concurrency, limits=limits, workspace_mb=workspace_mb, allow_source=allow_source, fresh=fresh
        )
        self.daemon = daemon or Daemon()
        self.images = DockerImages(self.daemon, image, allow_source=allow_source)
        self.runtime = runtime = runtime or os.environ.get(RUNTIME_VARIABLE) or None
        if runtime not in (None, "runc"):
            self.weaknesses = ()
            self.fallback = f"worlds are supported with Docker's own runtime only, not with {runtime}"
        self._swept: asyncio.Task[None] | None = None

    async def environment(self, dependencies: Sequence[str]) -> str:
        if self._swept is None:
            self._swept = asyncio.create_task(self._sweep())
        with _as_ours():
            return await self.images.with_dependencies(dependencies)

    async def _sweep(self) -> None:
        with contextlib.suppress(Exception):  # the next harness tries again
            await prune(self.daemon)

    async def start_keeper(self, environment: str, run_id: str) -> ServerConnection:
        isolation = Isolation(
            f"{ALONE}, and namespaces in it", "a world of its own, in a container that runs use one after the other"
        )
        return await self._started(self._spec(environment, run_id, worlds=True), isolation)

    async def start_once(self, environment: str, run_id: str, note: str) -> ServerConnection:
        isolation = Isolation(ALONE, "a container of its own", note)
        return await self._started(self._spec(environment, run_id), isolation)

    def _spec(self, image: str, run_id: str, *, worlds: bool = False) -> ContainerSpec:
        return ContainerSpec(image, self.limits, self.workspace_mb, self.runtime, run_id, worlds)

    async def _started(self, spec: ContainerSpec, isolation: Isolation) -> ServerConnection:
        with _as_ours():
            return await self.daemon.patiently(lambda: self._start(spec, isolation))

    async def _start(self, spec: ContainerSpec, isolation: Isolation) -> ServerConnection:
        """Create and start a container, and start its server."""
        container, pipe = "", None
        try:
            settings = await self.daemon.run(container_settings, spec)
            container = (await self.daemon.run(lambda api: api.create_container(**settings)))["Id"]
            pipe = ContainerPipe(self.daemon, container)
            await pipe.connect()
            await self.daemon.run(lambda api: api.start(container))
            connection = ServerConnection(pipe, isolation)
            await connection.start(server_options(spec))
        except BaseException as error:
            if pipe is not None:
                pipe.hang_up()
            if container:
                with contextlib.suppress(Exception):
                    await asyncio.shield(self.daemon.run(remove, container))
            if is_missing(error):
                self.images.forget()
                raise EnvironmentGone("the image was removed") from error
            raise
        return connection

    async def close(self) -> None:
        await super().close()
        if self._swept is not None:
            await asyncio.wait([self._swept], timeout=5)
            self._swept.cancel()
        self.daemon.close()

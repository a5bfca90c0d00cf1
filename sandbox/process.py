"""The backend without isolation: a plain subprocess with resource limits and a clean environment, for trusted cases."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from viva.full_disk import error_words
from viva.sandbox.backend import ServerSandbox
from viva.sandbox.bundle import BIND_AT_START, boot_script
from viva.sandbox.connection import ServerConnection
from viva.sandbox.interface import Isolation, SandboxError
from viva.sandbox.site_folder import site_folder

ALONE = "nothing but limits and filters"
MIB = 1024 * 1024
MEMORY_FOLDER = "/dev/shm"  # noqa: S108 - each session makes a folder of its own in it, under a name nobody can guess
CLEAN_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **BIND_AT_START}


class ChildPipe:
    """A server that is a child process of the harness. `folder` is removed after it, in case it was killed."""

    def __init__(self, process: asyncio.subprocess.Process, errors: int) -> None:
        self._process = process
        self._errors = errors
        self.folder: str | None = None
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        user: int | None = None,
    ) -> ChildPipe:
        errors = os.memfd_create("stderr")  # small, needs no reader, and dies with us
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                env=dict(environment),
                cwd="/",
                start_new_session=True,  # Ctrl-C is meant for the harness
                user=user,
                group=user,
                extra_groups=None if user is None else [],
            )
        except BaseException:
            os.close(errors)
            raise
        return cls(process, errors)

    async def read(self, size: int) -> bytes:
        return await self._out.readexactly(size)

    async def write(self, data: bytes) -> None:
        self._in.write(data)
        await self._in.drain()

    async def close(self) -> None:
        """Close its stdin, so that the server ends what its checks left, and then itself; kill it if it does not."""
        with contextlib.suppress(Exception):
            self._in.close()
        try:
            async with asyncio.timeout(5):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        if self.folder is not None:
            await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)

    def last_words(self) -> str:
        size = os.fstat(self._errors).st_size
        return os.pread(self._errors, 2000, max(0, size - 2000)).decode("utf-8", "replace").strip()

    def __del__(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._errors)


class ProcessSandbox(ServerSandbox):
    """See `Sandbox`."""

    name = "process"
    isolates = False
    weaknesses: tuple[str, ...] = (
        "A check can read and write every file that you can.",
        "A check can use the network.",
        "A check can read your processes' environment where the kernel has no Landlock (Linux before 5.19).",
        "A check can signal your processes where Landlock does not forbid it (Linux before 6.12).",
        "Processes, memory and disk are only watched: a fast bomb can exceed their limits for a moment.",
    )

    async def environment(self, dependencies: Sequence[str]) -> str:
        return await site_folder(dependencies, sys.executable, allow_source=self.allow_source)

    async def start_keeper(self, environment: str, run_id: str) -> ServerConnection:
        return await self._start(environment, "fork", Isolation(ALONE, "a process and a folder of its own"))

    async def start_once(self, environment: str, run_id: str, note: str) -> ServerConnection:
        return await self._start(environment, "once", Isolation(ALONE, "an interpreter and a folder of its own", note))

    def options_of_a_run(self, connection: ServerConnection) -> dict[str, Any]:
        if not connection.keeps:
            return {}
        root = self._new_folder()
        assert isinstance(connection.pipe, ChildPipe)
        connection.pipe.folder = root
        return {"root": root, "remove_root": True}

    async def _start(self, environment: str, way: str, isolation: Isolation) -> ServerConnection:
        # The server makes this folder once it can remove it: a harness that is killed meanwhile leaves nothing.
        root = self._new_folder()
        options = {
            "way": way,
            "alone": False,
            "root": root,
            "remove_root": way == "once",
            "mounts": [],
            "count_processes": False,
            "site": environment,
        }
        try:
            pipe = await ChildPipe.start([sys.executable, "-I", "-c", boot_script()], CLEAN_ENVIRONMENT)
            pipe.folder = root
            connection = ServerConnection(pipe, isolation)
            await connection.start(options)
        except OSError as error:
            raise SandboxError(f"no process could be started: {error_words(error)}") from error
        return connection

    def _new_folder(self) -> str:
        """Return the path of a folder for a run. Each session has `disk_mb` at most, beside its workspace."""
        space = self.concurrency * (self.limits.disk_mb + self.workspace_mb) * MIB
        return os.path.join(parent_of_sessions(space), f"viva-session-{secrets.token_hex(8)}")


def parent_of_sessions(space: int, memory: str = MEMORY_FOLDER) -> str:
    """Return where sessions have their folders: in memory where that has `space` bytes, else where TMPDIR says.

    Every check has a new copy of the workspace. On a disk, making and removing it waits for the file system's journal,
    and ext4 searches longer and longer for a free inode, since it avoids those of files that were removed lately.
    """
    if not any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")) and os.access(memory, os.W_OK | os.X_OK):
        state = os.statvfs(memory)
        if state.f_bavail * state.f_frsize >= space and not state.f_flag & (os.ST_NOEXEC | os.ST_RDONLY):
            return memory
    return tempfile.gettempdir()

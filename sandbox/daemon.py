"""The way to a Docker daemon: where it is, whether it answers, and calls to it that outlast its short absences."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from sandbox.interface import DaemonGone, SandboxError, SandboxUnavailable

START_REMEDY = "Start Docker, or say where it is with DOCKER_HOST."
T = TypeVar("T")


def address() -> str:
    """Where the daemon should be: `DOCKER_HOST`, the system's socket, or a rootless daemon's."""
    if host := os.environ.get("DOCKER_HOST"):
        return host
    rootless = Path(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent")) / "docker.sock"
    if not Path("/var/run/docker.sock").exists() and rootless.exists():
        return f"unix://{rootless}"
    return "unix:///var/run/docker.sock"


def why_unreachable(where: str, timeout: float = 1.0) -> str:
    """An empty string when something listens at `where`, else the reason. Costs one connection."""
    parts = urlsplit(where)
    try:
        if parts.scheme in ("unix", "http+unix"):
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(timeout)
                probe.connect(parts.path)
        elif parts.scheme in ("tcp", "http", "https"):
            with socket.create_connection((parts.hostname or "localhost", parts.port or 2375), timeout):
                pass
    except PermissionError:
        return f"you may not use the Docker daemon at {where} (join the group docker, or become root)"
    except OSError as error:
        return f"no Docker daemon answers at {where} ({error.strerror or error})"
    return ""


class Daemon:
    """One Docker daemon, through the SDK, off the event loop.

    `patience` is how long, in seconds, calls wait for a daemon that went away before they give it up.
    """

    def __init__(self, where: str | None = None, *, patience: float = 60.0, threads: int = 8) -> None:
        self.where = where or address()
        self.patience = patience
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="viva-docker")
        self._api: Any = None
        self._given_up = False

    def _connect(self) -> Any:
        if self._api is None:
            # Imported only here: it takes 150 ms, and not everybody has a daemon.
            import docker
            from docker.utils import kwargs_from_env

            ours = self.where == os.environ.get("DOCKER_HOST")
            tls = kwargs_from_env().get("tls", False) if ours else False
            self._api = docker.APIClient(base_url=self.where, version="auto", timeout=120, tls=tls, num_pools=32)
        return self._api

    async def reach(self) -> None:
        """Make sure that a daemon answers, now.

        Raises:
            SandboxUnavailable: none does.
        """
        if reason := await self._off_loop(why_unreachable, self.where):
            raise SandboxUnavailable(reason + ".", START_REMEDY)
        try:
            async with asyncio.timeout(3):
                await self.run(lambda api: api.ping())
        except Exception as error:
            self._api = None
            raise SandboxUnavailable(
                f"what listens at {self.where} is no working Docker daemon.", START_REMEDY
            ) from error

    async def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of `docker.APIClient`, patiently; an answer of any kind is final.

        Raises:
            DaemonGone: the daemon was away, and did not come back within `patience` seconds.
            docker.errors.APIError: it answered with an error.
        """
        return await self.patiently(lambda: self.run(lambda api: getattr(api, method)(*arguments, **options)))

    async def patiently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Attempt again as long as it fails because the daemon is away.

        Raises:
            DaemonGone: it did not come back within `patience` seconds.
        """
        # Once it was waited for in vain nobody waits again: a suite would, for each of its runs in turn.
        deadline = time.monotonic() + (0.0 if self._given_up else self.patience)
        while True:
            try:
                result = await attempt()
                self._given_up = False
                return result
            except DaemonGone:
                raise
            except Exception as error:
                if not is_absence(error) and not await self._off_loop(why_unreachable, self.where):
                    raise
                self._api = None
                if time.monotonic() >= deadline:
                    self._given_up = True
                    raise DaemonGone(f"the Docker daemon at {self.where} was away for {self.patience:g} s") from error
                await asyncio.sleep(min(0.5, self.patience / 4))

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function that is given the API client, in a thread of ours. What it raises comes as it is."""
        return await self._off_loop(lambda: function(self._connect(), *arguments))

    async def _off_loop(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def is_absence(error: BaseException) -> bool:
    """Whether this says that no daemon was there to answer, and not that one answered no."""
    from docker.errors import DockerException
    from requests.exceptions import ConnectionError as NoConnection
    from requests.exceptions import Timeout

    if is_api_error(error):
        return False
    return isinstance(error, (NoConnection, Timeout, ConnectionError, DockerException))


def is_api_error(error: BaseException) -> bool:
    from docker.errors import APIError

    return isinstance(error, APIError)


def is_missing(error: BaseException) -> bool:
    from docker.errors import NotFound

    return isinstance(error, NotFound)


def explain(error: BaseException) -> SandboxError:
    """The daemon's own explanation where there is one, as an error of ours."""
    words = getattr(error, "explanation", None) or str(error) or type(error).__name__
    return SandboxError(f"Docker: {words}")

"""Reaches a Docker daemon: where it is, whether it answers, and calls to it that outlast its short absences."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from viva.sandbox.interface import DaemonGone, SandboxError, SandboxUnavailable

START_REMEDY = "Start Docker, or set DOCKER_HOST to its address."
RESTART_REMEDY = "Read the daemon's own log, and restart it."
PING_SECONDS = 10.0
"""How long a daemon that may be away has to answer a ping."""
CALL_SECONDS = 60.0
"""How long one call may take: a busy daemon needs seconds to make a container."""
T = TypeVar("T")


def address() -> str:
    """Return where the daemon should be: `DOCKER_HOST`, the system's socket, or a rootless daemon's."""
    if host := os.environ.get("DOCKER_HOST"):
        return host
    rootless = Path(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent")) / "docker.sock"
    if not Path("/var/run/docker.sock").exists() and rootless.exists():
        return f"unix://{rootless}"
    return "unix:///var/run/docker.sock"


def why_unreachable(where: str, timeout: float = 1.0) -> str:
    """Return an empty string when something listens at `where`, else the reason. Opens one connection."""
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
        return f"you do not have permission to use the Docker daemon at {where} (join the group docker, or become root)"
    except OSError as error:
        return f"no Docker daemon answers at {where} ({error.strerror or error})"
    return ""


class Daemon:
    """One Docker daemon, called through its SDK outside of the event loop.

    `patience` is how many seconds calls wait for a daemon that went away before they give up; `calls` is the maximum
    number of calls at once.
    """

    def __init__(self, where: str | None = None, *, patience: float = 60.0, calls: int = 8) -> None:
        self.where = where or address()
        self.patience = patience
        self._free = asyncio.Semaphore(calls)
        self._api: Any = None
        self._given_up = False

    def _connect(self, seconds: float) -> Any:
        # Imported only where it is used: the import takes 150 ms, and not everybody has a daemon.
        import docker
        from docker.utils import kwargs_from_env

        ours = self.where == os.environ.get("DOCKER_HOST")
        tls = kwargs_from_env().get("tls", False) if ours else False
        return docker.APIClient(base_url=self.where, version="auto", timeout=int(seconds), tls=tls, num_pools=32)

    async def reach(self) -> None:
        """Make sure that a daemon answers, now.

        Raises:
            SandboxUnavailable: none does.
        """
        if reason := await _off_loop(why_unreachable, self.where):
            raise SandboxUnavailable(reason + ".", START_REMEDY)
        try:
            await self._ping()
        except TimeoutError as error:
            reason = f"the Docker daemon at {self.where} accepts connections but does not answer ({PING_SECONDS:g} s)."
            raise SandboxUnavailable(reason, RESTART_REMEDY) from error
        except Exception as error:
            self._api = None
            raise SandboxUnavailable(
                f"what listens at {self.where} is not a working Docker daemon.", START_REMEDY
            ) from error

    async def _ping(self) -> None:
        async with asyncio.timeout(PING_SECONDS):
            await _off_loop(lambda: self._connect(PING_SECONDS).ping())  # waits for no other call

    async def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of `docker.APIClient`, and try again while the daemon is away. Any answer is final.

        Raises:
            DaemonGone: the daemon was away, and did not come back within `patience` seconds.
            docker.errors.APIError: it answered with an error.
        """
        return await self.patiently(lambda: self.run(lambda api: getattr(api, method)(*arguments, **options)))

    async def patiently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Repeat an attempt as long as it fails because the daemon is away.

        Raises:
            DaemonGone: it did not come back within `patience` seconds.
        """
        # Nobody waits for a daemon that did not come back before: a suite would, for each of its runs in turn.
        deadline = time.monotonic() + (0.0 if self._given_up else self.patience)
        doubtful = self._given_up
        while True:
            try:
                if doubtful:  # shows in seconds that a daemon hangs, where a whole call would take a minute
                    await self._ping()
                result = await attempt()
                self._given_up = False
                return result
            except DaemonGone:
                raise
            except Exception as error:
                hangs = doubtful and isinstance(error, TimeoutError)
                if not hangs and not is_absence(error) and not await _off_loop(why_unreachable, self.where):
                    raise
                self._api, doubtful = None, True
                if time.monotonic() >= deadline:
                    self._given_up = True
                    raise DaemonGone(
                        f"the Docker daemon at {self.where} was unavailable for {self.patience:g} s"
                    ) from error
                await asyncio.sleep(min(0.5, self.patience / 4))

    async def run(self, function: Callable[..., Any], *arguments: Any, seconds: float = CALL_SECONDS) -> Any:
        """Run a function with the API client, in another thread. What it raises is passed on unchanged.

        `seconds` is how long each of its requests may wait for the daemon.
        """

        def work() -> Any:
            if seconds != CALL_SECONDS:
                return function(self._connect(seconds), *arguments)
            if self._api is None:
                self._api = self._connect(seconds)
            return function(self._api, *arguments)

        async with self._free:
            return await _off_loop(work)

    def close(self) -> None:
        if self._api is not None:
            self._api.close()


async def _off_loop(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function in a daemon thread: at its exit, Python would wait for hung threads of `concurrent.futures`."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def work() -> None:
        result, problem = None, None
        try:
            result = function(*arguments)
        except BaseException as error:
            problem = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, problem)

    threading.Thread(target=work, name="viva-docker", daemon=True).start()
    return await done


def is_absence(error: BaseException) -> bool:
    """Return whether an error says that no daemon answered, and not that one refused."""
    from docker.errors import DockerException
    from requests.exceptions import ConnectionError as NoConnection
    from requests.exceptions import Timeout

    if is_api_error(error):
        return False
    return isinstance(error, (NoConnection, Timeout, ConnectionError, DockerException))


def is_api_error(error: BaseException) -> bool:
    """Return whether the daemon answered with an error."""
    from docker.errors import APIError

    return isinstance(error, APIError)


def is_missing(error: BaseException) -> bool:
    """Return whether the daemon answered that there is no such thing."""
    from docker.errors import NotFound

    return isinstance(error, NotFound)


def explain(error: BaseException) -> SandboxError:
    """Return a `SandboxError` with the daemon's own explanation, where it gave one."""
    words = getattr(error, "explanation", None) or str(error) or type(error).__name__
    return SandboxError(f"Docker: {words}")

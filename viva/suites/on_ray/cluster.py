"""The connection to a Ray cluster. This is the only module that imports Ray, and only when it is used."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from viva.errors import SetupError
from viva.suites.on_ray.address import require_head
from viva.suites.on_ray.border import LinkLost, Plain, require_plain
from viva.suites.on_ray.node import NodeWorker

RESOURCE = "viva_sandbox"
"""The custom resource of a node on which checks may run; each worker that judges checks takes 1."""
EXTRA = "--engine ray requires Ray: pip install 'vivavoce[ray]'."
STORE_BYTES = 80 * 1024 * 1024
"""The object store of a cluster that Viva starts on this machine, which carries events only."""
LOOPBACK = "127.0.0.1"
NO_OTHERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
MOST_PARENT = 32
"""Maximum number of characters of the folder for temporary files: paths of sockets have at most 107."""
CALLS = 1000
"""Maximum number of calls that a worker has at a time; one of them waits for events."""


def require_ray() -> None:
    """Check that Ray is installed, without importing it.

    Raises:
        SetupError: it is not.
    """
    from importlib.util import find_spec

    if find_spec("ray") is None:
        raise SetupError(EXTRA)


class Cluster:
    """A Ray cluster to which this process is connected. Its methods may block; call them on a thread."""

    def __init__(self, address: str | None) -> None:
        """Args:
        address: `HOST:PORT` of the head, `auto` for the cluster of this machine, `local` or None for a new one on this
            machine that ends with this process.
        """
        self._address = address or os.environ.get("RAY_ADDRESS") or "local"
        self._connected = False
        self._session: Path | None = None

    def connect(self, staged: Path, *, cpus: int | None = None) -> None:
        """Connect to the cluster, or start one on this machine.

        Args:
            staged: The folder that becomes the working directory of the workers on all nodes.
            cpus: The number of workers for which a cluster that is started has room; None means its CPUs.

        Raises:
            SetupError: Ray is not installed, or the cluster cannot be reached.
        """
        require_ray()
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        local = self._address == "local"
        with _on_loopback() if local else contextlib.nullcontext():
            self._connect(staged, cpus, local=local)

    def _connect(self, staged: Path, cpus: int | None, *, local: bool) -> None:
        import ray

        # Ray logs warnings about its own affairs; what a user should know comes as an error.
        logging.getLogger("ray").setLevel(logging.ERROR)
        if ray.is_initialized():
            raise SetupError(
                "this process is already connected to a Ray cluster: call ray.shutdown() before the suite."
            )
        options: dict[str, Any] = {"address": self._address}
        if local:
            self._session = _session_folder()
            # Ray lets everybody read its folder, and makes it so: this is one inside of a folder for the owner.
            options |= {"_temp_dir": str(self._session / "ray"), "_node_ip_address": LOOPBACK}
            room = cpus or os.cpu_count() or 1
            options |= {"num_cpus": room, "resources": {RESOURCE: room}}
            options |= {"include_dashboard": False, "object_store_memory": STORE_BYTES}
        else:
            require_head(self._address)
        try:
            _keep_from_printing()
            with _stdout_on_stderr():
                ray.init(
                    **options,
                    runtime_env={"working_dir": str(staged)},
                    # What agents print stays on their node: it can be anything, and much.
                    log_to_driver=False,
                    configure_logging=False,
                )
        except Exception as error:
            self._remove_session()
            raise SetupError(
                f"the Ray cluster at {self._address} cannot be used: {_words(error)} This machine must be a node of "
                "the cluster (ray start --address=HOST:PORT --num-cpus=0), and if the cluster requires a token, set "
                "RAY_AUTH_MODE=token; see `viva docs cluster`."
            ) from error
        self._connected = True

    def slots(self) -> tuple[int, int]:
        """Return the CPUs of the cluster, and how many workers may have a sandbox."""
        import ray

        found = ray.cluster_resources()
        return int(found.get("CPU", 0)), int(found.get(RESOURCE, 0))

    def start_worker(self, *, checks: bool) -> RayLink:
        """Start a worker through Ray on a node that has a free slot."""
        import ray

        actor = ray.remote(RayNodeWorker).options(
            num_cpus=1,
            resources={RESOURCE: 1} if checks else None,
            max_concurrency=CALLS,
            # Ray's record of each call costs time and memory; the journal says what happened.
            enable_task_events=False,
            # The suite layer starts another worker: a restarted one would know nothing of its jobs.
            max_restarts=0,
            scheduling_strategy="SPREAD",
        )
        return RayLink(actor.remote())

    def node_names(self) -> dict[str, str]:
        """Return the name of each node by its id: the one given to `ray start`, or else that of its machine."""
        import ray

        names: dict[str, str] = {}
        for node in ray.nodes():
            given, address = node.get("NodeName") or "", node.get("NodeManagerAddress") or ""
            names[node["NodeID"]] = given if given not in ("", address) else node.get("NodeManagerHostname") or address
        return names

    def close(self) -> None:
        """Leave the cluster; all workers of this process end."""
        if self._connected:
            import ray

            self._connected = False
            with contextlib.suppress(Exception):
                ray.shutdown()
        self._remove_session()

    def _remove_session(self) -> None:
        if self._session is not None:
            shutil.rmtree(self._session, ignore_errors=True)
            self._session = None


class RayNodeWorker:
    """The actor: a `NodeWorker`, whose arguments and results are checked once more on this side of the border."""

    def __init__(self) -> None:
        self._worker: NodeWorker | None = None

    async def place(self) -> str:
        """Return the id of the node."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    async def call(self, method: str, arguments: list[Plain]) -> Plain:
        """Call a method of the worker."""
        if self._worker is None:
            self._worker = NodeWorker()
        result = await getattr(self._worker, method)(*arguments)
        require_plain(result, f"the result of {method}")
        return result


class RayLink:
    """A `Link` to an actor."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def place(self) -> str:
        """Wait until the actor runs, and return the id of its node.

        Raises:
            LinkLost: it cannot be started.
        """
        return str(await self._wait(self._actor.place.remote()))

    async def call(self, method: str, *arguments: Plain) -> Plain:
        """Call a method of the worker; see `Link`."""
        require_plain(list(arguments), f"the arguments of {method}")
        return await self._wait(self._actor.call.remote(method, list(arguments)))

    def kill(self) -> None:
        """End the worker's process at once."""
        import ray

        with contextlib.suppress(Exception):
            ray.kill(self._actor)

    async def _wait(self, reference: Any) -> Plain:
        import ray.exceptions

        try:
            return await reference
        except asyncio.CancelledError:
            raise
        except ray.exceptions.RayTaskError as error:
            # The worker lives, but cannot be spoken to any more.
            raise LinkLost(_words(error)) from error
        except ray.exceptions.RayError as error:
            raise LinkLost(_words(error)) from error


def take_signals_back() -> None:
    """Return SIGTERM back to the handler that this process had before Ray set its own, which prints C++ stacks.

    Call it on the main thread when Ray is connected; elsewhere it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    if (handler := signal.getsignal(signal.SIGTERM)) is not None:
        signal.signal(signal.SIGTERM, handler)
        # As asyncio sets it: system calls are not to fail because of a signal.
        signal.siginterrupt(signal.SIGTERM, False)


def _session_folder() -> Path:
    """Make a folder for the files of a cluster of this machine. Paths of sockets in it must stay short."""
    parent = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="viva-ray-", dir=parent if len(parent) <= MOST_PARENT else "/tmp"))  # noqa: S108


@contextlib.contextmanager
def _on_loopback() -> Iterator[None]:
    """Have Ray listen on the loopback only while it starts a cluster of this machine.

    Ray replaces the loopback by an address that others can reach, unless it is told to make no cluster of several
    machines; its name for that is of the systems for which this is the default.
    """
    import ray._private.ray_constants as constants

    before, allowed = os.environ.get(NO_OTHERS), constants.ENABLE_RAY_CLUSTER
    os.environ[NO_OTHERS] = "0"
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = allowed
        if before is None:
            del os.environ[NO_OTHERS]
        else:
            os.environ[NO_OTHERS] = before


def _words(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:400]}{'' if text.endswith('.') else '.'}"


def _keep_from_printing() -> None:
    """Keep Ray from printing the death of workers to standard output, which is for the report.

    Ray has no option for it. Where this function of Ray does not exist, it prints.
    """
    from ray._private import worker

    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *_, **__: None


@contextlib.contextmanager
def _stdout_on_stderr() -> Iterator[None]:
    """Redirect what Ray prints: standard output is for the report."""
    with contextlib.redirect_stdout(sys.stderr):
        yield

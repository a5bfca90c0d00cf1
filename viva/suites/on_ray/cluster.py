"""The connection to a Ray cluster. This is the only module that imports Ray, and only when it is used."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
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
        import ray

        # Ray logs warnings about its own affairs; what a user should know comes as an error.
        logging.getLogger("ray").setLevel(logging.ERROR)
        if ray.is_initialized():
            raise SetupError(
                "this process is already connected to a Ray cluster: call ray.shutdown() before the suite."
            )
        options: dict[str, Any] = {"address": self._address}
        if self._address == "local":
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
            raise SetupError(
                f"the Ray cluster at {self._address} cannot be used: {_words(error)} This machine must be a node of "
                "the cluster (ray start --address=HOST:PORT --num-cpus=0), and if the cluster requires a token, set "
                "RAY_AUTH_MODE=token; see docs/cluster.md."
            ) from error
        self._connected = True

    def slots(self) -> tuple[int, int]:
        """Return the CPUs of the cluster, and how many workers may have a sandbox."""
        import ray

        found = ray.cluster_resources()
        return int(found.get("CPU", 0)), int(found.get(RESOURCE, 0))

    def start_worker(self, *, checks: bool) -> RayLink:
        """Have Ray start a worker on a node that has a free slot."""
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

"""Real Ray clusters for tests: several nodes on this machine, each with processes of its own that can be killed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from tests.conftest import missing
from tests.ports import free_port

STARTS = 90.0
"""Seconds that a node may take to start; 4 on a machine with nothing else to do."""

OPEN = {"RAY_AUTH_MODE": "disabled"}
"""For nodes and drivers: otherwise Ray would leave a token in the home folder of whoever runs the tests."""


class RayNodes:
    """A cluster of nodes on this machine. The head has no slots unless it is given some."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        """Args:
        folder: Where Ray keeps its sessions; short, because Ray makes sockets in it.
        environment: The environment of all nodes, and so of the workers on them.
        """
        self.folder = folder
        self.address = f"127.0.0.1:{free_port()}"
        self._environment = {**environment, "RAY_USAGE_STATS_ENABLED": "0", **OPEN}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, cpus: int = 1, sandboxes: int = 0, **environment: str) -> None:
        """Start a node, the first one as the head, and wait until it has joined."""
        head = not self._processes
        where = ["--head", f"--port={self.address.rpartition(':')[2]}", f"--temp-dir={self.folder}"]
        options = [
            f"--node-name={name}",
            "--node-ip-address=127.0.0.1",
            f"--num-cpus={cpus}",
            f"--resources={json.dumps({'viva_sandbox': sandboxes} if sandboxes else {})}",
            f"--object-store-memory={80 * 2**20}",
            "--include-log-monitor=false",
            "--disable-usage-stats",
            "--block",
        ]
        options += [*where, "--include-dashboard=false"] if head else [f"--address={self.address}"]
        log = self.folder / f"{name}.log"
        with log.open("wb") as out:
            self._processes[name] = subprocess.Popen(
                [Path(sysconfig.get_path("scripts")) / "ray", "start", *options],
                env={**self._environment, **environment},
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
            )  # fmt: skip
        until = time.monotonic() + STARTS
        while b"Ray runtime started" not in log.read_bytes():
            assert self._processes[name].poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)

    def kill(self, name: str) -> None:
        """End a node and all its workers with `kill -9`."""
        process = self._processes.pop(name)
        for pid in (process.pid, *descendants(process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()

    def workers(self) -> list[int]:
        """The processes of actors on all nodes."""
        found = []
        for process in self._processes.values():
            for pid in descendants(process.pid):
                with contextlib.suppress(OSError):
                    if (Path("/proc") / str(pid) / "cmdline").read_bytes().startswith(b"ray::RayNodeWorker"):
                        found.append(pid)
        return found

    def logs(self) -> Iterator[tuple[Path, bytes]]:
        """Everything that Ray wrote."""
        for file in self.folder.rglob("*"):
            if file.is_file() and not file.is_symlink():
                with contextlib.suppress(OSError):
                    yield file, file.read_bytes()

    def stop(self) -> None:
        """End all nodes."""
        for name in reversed(list(self._processes)):
            self.kill(name)


@contextlib.contextmanager
def ray_nodes(environment: Mapping[str, str]) -> Iterator[RayNodes]:
    """A cluster without nodes yet; skips the test where Ray is not installed, unless `VIVA_REQUIRE` names `ray`."""
    if find_spec("ray") is None:
        missing("ray", "Ray is not installed in this environment")
    folder = Path(tempfile.mkdtemp(prefix="ray-"))
    nodes = RayNodes(folder, environment)
    try:
        yield nodes
    finally:
        nodes.stop()
        shutil.rmtree(folder, ignore_errors=True)


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and those that they started."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(entry.name))
    found = list(parents.get(pid, []))
    for child in found:
        found.extend(parents.get(child, []))
    return found


def containers_of(processes: Iterable[int]) -> list[str]:
    """The sandbox containers that these processes started and that are still there, a moment after they ended."""
    owners = {str(pid) for pid in processes}
    command = ["docker", "ps", "-a", "--filter", "label=viva.kind", "--format", '{{.Names}} {{.Label "viva.pid"}}']
    until = time.monotonic() + 30
    while True:
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        found = [line for line in listed if line.rpartition(" ")[2] in owners]
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.2)

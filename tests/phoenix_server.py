"""A real Phoenix server for tests, from an environment of its own; all processes of a test run share one.

`.ci/run` makes the environment in `.ci/phoenix`. `VIVA_PHOENIX` names another `phoenix` command.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import missing
from tests.ports import free_port

OWN = Path(__file__).parent.parent / ".ci" / "phoenix" / "bin" / "phoenix"
STARTS = 120.0
"""Seconds that it may take to start; 7 on a machine with nothing else to do."""


def phoenix_command() -> Path:
    """Find the `phoenix` command; skip the test where there is none, unless `VIVA_REQUIRE` names `phoenix`."""
    found = os.environ.get("VIVA_PHOENIX") or (str(OWN) if OWN.exists() else shutil.which("phoenix"))
    if not found or not Path(found).exists():
        missing("phoenix", f"no Phoenix server: neither VIVA_PHOENIX nor {OWN} is there")
    return Path(found)


@contextlib.contextmanager
def shared_phoenix(folder: Path) -> Iterator[str]:
    """Give the address of a server that runs as long as any process of this test run is inside.

    Args:
        folder: The same for all processes of the test run; the server keeps its files there.
    """
    command = phoenix_command()
    folder.mkdir(parents=True, exist_ok=True)
    state = folder / "state.json"
    with _locked(folder):
        server = _read(state) or _start(command, folder)
        state.write_text(json.dumps({**server, "users": server["users"] + 1}))
    try:
        yield f"http://127.0.0.1:{server['port']}"
    finally:
        with _locked(folder):
            server = _read(state)
            if server is not None:
                state.write_text(json.dumps({**server, "users": server["users"] - 1}))
                if server["users"] <= 1:
                    state.unlink()
                    _stop(server["pid"])


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _read(state: Path) -> dict[str, int] | None:
    return json.loads(state.read_text()) if state.exists() else None


def _start(command: Path, folder: Path) -> dict[str, int]:
    port, grpc = free_port(), free_port()
    environment = {
        **os.environ,
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [command, "serve"], stdout=log, stderr=log, env=environment, cwd=folder, start_new_session=True
        )
    until = time.monotonic() + STARTS
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5).close()
            # The process is not a child of the one that stops it.
            process.returncode = 0
            return {"pid": process.pid, "port": port, "users": 0}
        time.sleep(0.25)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    raise RuntimeError(f"the Phoenix server did not start:\n{(folder / 'log.txt').read_text()[-2000:]}")


def _stop(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)

"""Runs a case's `pre_command`: in the agent's environment, one run of a case at a time, within a time limit."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO
from weakref import WeakKeyDictionary, WeakValueDictionary

from viva.cases import Case
from viva.errors import SetupError
from viva.records.redact import redact_end
from viva.records.text import printable

MAX_OUTPUT = 64 << 20
"""Bytes that a command may print; more would fill the disk."""
OUTPUT_SHOWN = 300
WAIT_SECONDS = 0.05


async def run_pre_commands(case: Case, python: str | None = None, seconds: float = 600.0) -> None:
    """Run a case's `pre_command` in the current folder, as TaskWeaver does; `build_resources` has checked permission.

    Runs of one case wait for each other, in other processes too: what the commands prepare has the same place in all.

    Args:
        case: The case.
        python: The interpreter of the agent; its folder comes first on PATH. None leaves PATH as it is.
        seconds: The maximum duration of each command.

    Raises:
        SetupError: a command failed, exceeded the time limit, or printed too much.
    """
    if not case.pre_command:
        return
    environment = agent_environment(python)
    async with _alone(case.file):
        for command in case.pre_command:
            await _run(case.name, command, environment, seconds)


def agent_environment(python: str | None) -> dict[str, str]:
    """Return the environment variables for commands that belong to the environment of an interpreter."""
    environment = dict(os.environ)
    if python is None:
        return environment
    folder = os.path.dirname(python)
    environment["PATH"] = os.pathsep.join(part for part in (folder, environment.get("PATH")) if part)
    environment.pop("VIRTUAL_ENV", None)
    if os.path.exists(os.path.join(folder, os.pardir, "pyvenv.cfg")):
        environment["VIRTUAL_ENV"] = os.path.dirname(folder)
    return environment


async def _run(name: str, command: str, environment: dict[str, str], seconds: float) -> None:
    # Into a file: a pipe would be held open by a server that the command starts and leaves behind.
    with tempfile.TemporaryFile() as output:
        process = await asyncio.create_subprocess_shell(
            command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
        )
        fault: str | None = "was stopped"
        try:
            fault = await _fault(process, output, seconds)
        finally:
            if fault is not None:  # including: the run was stopped meanwhile
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if fault is not None:
            raise SetupError(f"pre_command of {name!r} {fault}: {command}\n{_end_of(output)}")


async def _fault(process: asyncio.subprocess.Process, output: IO[bytes], seconds: float) -> str | None:
    """Wait for the end of a command. Return what went wrong, if anything."""
    until, ended = time.monotonic() + seconds, asyncio.ensure_future(process.wait())
    try:
        while True:
            left = until - time.monotonic()
            await asyncio.wait((ended,), timeout=max(0.0, min(left, 1.0)))
            if ended.done():
                code = ended.result()
                return (
                    None if code == 0 else f"exited with code {code}" if code > 0 else f"was killed by signal {-code}"
                )
            if left <= 0:
                return f"exceeded its time limit of {seconds:g} s (--pre-command-timeout)"
            if os.fstat(output.fileno()).st_size > MAX_OUTPUT:
                return f"printed more than {MAX_OUTPUT >> 20} MiB"
    finally:
        ended.cancel()


def _end_of(output: IO[bytes]) -> str:
    size = os.fstat(output.fileno()).st_size
    end = os.pread(output.fileno(), 4 * OUTPUT_SHOWN, max(0, size - 4 * OUTPUT_SHOWN))
    return printable(redact_end(end.decode(errors="replace").strip(), OUTPUT_SHOWN, cut=size > len(end)))


@contextlib.asynccontextmanager
async def _alone(file: Path) -> AsyncIterator[None]:
    """Wait until no other run of a case is at this point, in this process or in another."""
    locks = _LOCKS.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    path = os.path.realpath(file)
    lock = locks.get(path)
    if lock is None:
        lock = locks[path] = asyncio.Lock()
    async with lock:
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # a case from a journal: no other process has the same files
            yield
            return
        try:
            # Other processes look for the lock from time to time; who takes it again at once leaves them no turn.
            await asyncio.sleep(_RELEASED.get(path, 0.0) + 3 * WAIT_SECONDS - time.monotonic())
            await _lock(descriptor)
            yield
        finally:
            os.close(descriptor)
            _RELEASED[path] = time.monotonic()


async def _lock(descriptor: int) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            await asyncio.sleep(WAIT_SECONDS)
        except OSError:  # a file system without locks
            return


_RELEASED: dict[str, float] = {}
"""When this process last released the lock of a case, by the case's path; in seconds of the monotonic clock."""
_LOCKS: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[str, asyncio.Lock]] = WeakKeyDictionary()

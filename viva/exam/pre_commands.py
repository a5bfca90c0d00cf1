"""Runs a case's `pre_command`: in the agent's environment, one run of a case at a time, within a time limit."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from viva.adapters.inside.keepers import COMMAND, arguments_of
from viva.adapters.machine import MORE_THREADS
from viva.cases import Case
from viva.errors import MachineError, SetupError
from viva.file_locks import try_lock
from viva.records.redact import redact_end
from viva.records.text import printable

MAX_OUTPUT = 64 << 20
"""Bytes that a command may print; more would fill the disk."""
OUTPUT_SHOWN = 300
KILL_SECONDS = 4.0
"""Maximum time in which the keeper kills a command; it gives up after 3 s itself."""
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
    fault, end = await _fault(command, environment, seconds)
    if fault is not None:
        raise SetupError(f"pre_command of {name!r} {fault}: {command}\n{end}")


async def _fault(command: str, environment: dict[str, str], seconds: float) -> tuple[str | None, str]:
    """Wait for the end of a command. Return what went wrong, if anything, and the end of what it printed."""
    loop = asyncio.get_running_loop()
    ours, keeper = _start(command, environment)
    told, late = b"", False
    try:
        async with asyncio.timeout(seconds):
            while part := await loop.sock_recv(ours, 1 << 16):
                told += part
    except TimeoutError:
        late = True
        ours.shutdown(socket.SHUT_WR)  # it kills the command, and still says what it printed
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(KILL_SECONDS):
                while part := await loop.sock_recv(ours, 1 << 16):
                    told += part
    finally:
        ours.close()  # including: the run was stopped meanwhile
        await asyncio.shield(asyncio.ensure_future(_reap(keeper)))
    notice: dict[str, Any] = json.loads(told) if told.endswith(b"\n") else {}
    total, status = notice.get("total", 0), notice.get("status")
    end = _end_of(notice.get("end", "").encode("latin-1"), total)
    if late:
        return f"exceeded its time limit of {seconds:g} s (--pre-command-timeout)", end
    if total > MAX_OUTPUT:
        return f"printed more than {MAX_OUTPUT >> 20} MiB", end
    if status is None:
        return "was killed together with the process that watched it", end
    code = os.waitstatus_to_exitcode(status)
    return (None if code == 0 else f"exited with code {code}" if code > 0 else f"was killed by signal {-code}"), end


def _start(command: str, environment: dict[str, str]) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start the keeper of a command.

    Raises:
        MachineError: the system has no process, file or memory left for it.
    """
    try:
        ours, theirs = socket.socketpair()
        with theirs:
            keeper = subprocess.Popen(
                [sys.executable, *arguments_of(COMMAND, str(MAX_OUTPUT), str(4 * OUTPUT_SHOWN), command)],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
    except OSError as error:
        raise MachineError(f"no process could be started for a pre_command: {error}. {MORE_THREADS}") from error
    ours.setblocking(False)
    return ours, keeper


async def _reap(keeper: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + KILL_SECONDS
    while keeper.poll() is None:
        if time.monotonic() > until:
            keeper.kill()
        await asyncio.sleep(0.002)


def _end_of(end: bytes, total: int) -> str:
    return printable(redact_end(end.decode(errors="replace").strip(), OUTPUT_SHOWN, cut=total > len(end)))


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
    # A file system without locks, and one that locks only files that are open for writing, are no reason to wait.
    with contextlib.suppress(OSError):
        while try_lock(descriptor) is False:  # noqa: ASYNC110 - another process
            await asyncio.sleep(WAIT_SECONDS)


_RELEASED: dict[str, float] = {}
"""When this process last released the lock of a case, by the case's path; in seconds of the monotonic clock."""
_LOCKS: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[str, asyncio.Lock]] = WeakKeyDictionary()

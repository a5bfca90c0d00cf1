"""Runs one MCP server of a case, so that it outlives neither the run nor Viva. It is a program of its own.

The server has this process's standard input and output, which are Viva's. When the server ends, when this process is
told to end, or when Viva dies, every descendant of the server is killed.

    python -I -S keeper.py COMMAND [ARGUMENT…]
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import NoReturn

KILL_SECONDS = 3.0
"""Maximum duration of killing; processes that are alive then cannot be killed by this user."""
LOOK_MILLISECONDS = 500
"""How often it checks whether Viva is alive, if the system does not notify it."""
NOT_STARTED = 127
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_LINUX = sys.platform.startswith("linux")


def main(command: list[str]) -> NoReturn:
    """Start the server, wait for its end or ours, kill what is left, and exit as it did."""
    viva = os.getppid()
    if _LINUX:
        _prctl(_SET_CHILD_SUBREAPER, 1)
        _prctl(_SET_PDEATHSIG, signal.SIGTERM)
    woken, wake = os.pipe()
    for descriptor in (woken, wake):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    told: list[int] = []
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: told.append(1))
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    server = os.fork()
    if server == 0:
        _become(command)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):  # so that the server's end is seen by Viva, and Viva's by the server
        os.dup2(nothing, descriptor)
    status = None
    while status is None and not told and os.getppid() == viva:
        select.select([woken], [], [], LOOK_MILLISECONDS / 1000)
        with contextlib.suppress(BlockingIOError):
            os.read(woken, 4096)
        status = _reaped(server)
    _kill(server)
    os._exit(1 if status is None else min(abs(os.waitstatus_to_exitcode(status)), 125))


def _become(command: list[str]) -> NoReturn:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()  # signals of the server to its own process group do not reach this process
    os.closerange(3, 64)
    try:
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(NOT_STARTED)


def _reaped(server: int) -> int | None:
    """Reap every child that has died; return the exit status of the server if it is among them."""
    status = None
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == server:
                status = found[1]
    return status


def _kill(server: int) -> None:
    """Kill all descendants: on Linux, the children of dead processes become children of this one."""
    until = time.monotonic() + KILL_SECONDS
    with contextlib.suppress(OSError):
        os.killpg(server, signal.SIGKILL)
    while _LINUX and time.monotonic() < until:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        children = _children()
        if not children:
            return
        for pid in children:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)


def _children() -> list[int]:
    me = os.getpid()
    try:
        with open(f"/proc/self/task/{me}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and _parent(name) == me]


def _parent(pid: str) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return None


def _prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


if __name__ == "__main__":
    main(sys.argv[1:])

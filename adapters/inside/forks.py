"""Forks a process that has imported the agent's module: one supervisor and one agent for each run, as if started anew.

What a run gets of its own: a session and process group, a supervisor, sockets, output, limits, the mark by which its
processes are found, changed environment variables, and seeds of random numbers.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import os
import signal
import socket
import sys
from typing import Any

from .descendants import children, is_linux
from .supervisor import Forked, fork_worker
from .surroundings import lift_memory_limit
from .wire import receive_rest

MARK = b"VIVA_CHILD="
MARK_LENGTH = 24
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_HARMLESS = ("/dev/null", "/dev/urandom", "/dev/random")


def open_descriptors() -> set[int]:
    """Return the descriptors that this process has open."""
    found = set()
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # the one with which the list was read, whose number is free again
                os.fstat(int(name))
                found.add(int(name))
    return found


def why_not(before: set[int]) -> str:
    """Return why this process must not be forked, in words; empty if it may be.

    A fork has one thread only, whatever the others were doing, and shares what is open: connections, event loops, the
    position in files.

    Args:
        before: The descriptors that were open before the agent's module was imported.
    """
    if not is_linux:
        return "only Linux forks safely"
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        return f"its import left {threads - 1} threads running"
    if signal.getsignal(signal.SIGCHLD) is not signal.SIG_DFL:
        return "its import handles the ends of processes"
    if any(signal.getitimer(which)[0] for which in _TIMERS):
        return "its import set a timer, which forks do not have"
    if children() or children(os.getppid()) != [os.getpid()]:  # a daemon is a child of the supervisor
        return "its import left processes running"
    opened = [_target(number) for number in sorted(open_descriptors() - before)]
    opened = [name for name in opened if name and name not in _HARMLESS]
    if opened:
        return f"its import left something open: {opened[0]}"
    if _place_of_mark() is None:
        return "its environment cannot be changed in place"
    return ""


def receive_fork(descriptor: int) -> tuple[dict[str, Any] | None, list[int]]:
    """Return the next request, and the descriptors that came with it; None if the other side is gone."""
    connection = socket.socket(fileno=os.dup(descriptor))
    try:
        files = array.array("i")
        head, extra, _, _ = connection.recvmsg(4, socket.CMSG_SPACE(2 * files.itemsize))
    except OSError:
        return None, []
    finally:
        connection.close()
    for level, kind, data in extra:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
    for each in files:
        os.set_inheritable(each, False)
    return receive_rest(descriptor, head), list(files)


def fork_run(
    request: dict[str, Any],
    ready: int,
    given: list[int],
    limits: tuple[int | None, int | None],
    printed: tuple[bytes, bytes],
) -> int | None:
    """Fork a supervisor and an agent; return the descriptor of the agent's socket in the agent, None in this process.

    Args:
        request: `mark`, the run's mark; `viva`, the id of Viva's process; `set` and `unset`, what has changed in the
            environment since this process was started.
        ready: The descriptor of this process's own socket to Viva.
        given: Descriptors of the run's two sockets: for the supervisor, and for the agent.
        limits: The limits of the agent's process, as `fork_worker` has them.
        printed: What the import printed to stdout and stderr, which belongs to the output of each run.
    """
    control, data = given
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    if os.fork():
        for each in given:
            os.close(each)
        return None
    try:
        os.setsid()
        os.close(ready)
        lift_memory_limit()
        _change_mark(request["mark"])
        change_environment(request)
        own = fork_worker(control, data, limits[0], limits[1], Forked(request["viva"], printed))
    except BaseException:
        os._exit(1)
    _seed()
    return own


def change_environment(request: dict[str, Any]) -> None:
    """Apply what has changed in Viva's environment; what the import changed stays."""
    for name in request.get("unset", ()):
        os.environ.pop(name, None)
    os.environ.update(request.get("set", {}))
    if "mark" in request:
        os.environ[MARK[:-1].decode()] = request["mark"]


def _seed() -> None:
    """Give the run random numbers of its own; Python's own generator does so itself when it is forked."""
    numbers: Any = sys.modules.get("numpy.random")
    if numbers is not None:
        with contextlib.suppress(Exception):
            numbers.seed()


def _change_mark(mark: str) -> None:
    """Change the mark where other processes read it: the environment with which this process was started."""
    place = _place_of_mark()
    if place is None or len(mark) != MARK_LENGTH:
        raise OSError("the environment of this process cannot be changed in place")
    ctypes.memmove(place, mark.encode(), MARK_LENGTH)


def _place_of_mark() -> int | None:
    """Return the address of the mark's value; None if something has replaced the environment since the start."""
    try:
        with open("/proc/self/environ", "rb") as file:
            environment = b"\0" + file.read()
        with open("/proc/self/stat", "rb") as file:
            begins = int(file.read().rpartition(b")")[2].split()[47])  # see `leftovers.py` for the fields
    except (OSError, ValueError, IndexError):
        return None
    at = environment.find(b"\0" + MARK)
    value = environment[at + 1 + len(MARK) :].partition(b"\0")[0]
    return None if at < 0 or not begins or len(value) != MARK_LENGTH else begins + at + len(MARK)


def _target(number: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:  # the one with which the list was read
        return ""


def ignore_ends_of_runs() -> None:
    """Let the system forget the supervisors of runs when they end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


__all__ = [
    "change_environment",
    "fork_run",
    "ignore_ends_of_runs",
    "open_descriptors",
    "receive_fork",
    "why_not",
]

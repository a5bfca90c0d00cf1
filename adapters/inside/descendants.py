"""Finds and kills the descendants of this process, which on Linux include those whose parents have died."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

KILL_SECONDS = 3.0
"""Maximum duration of killing; processes that are alive then cannot be killed by this user."""
is_linux = sys.platform.startswith("linux")
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36


def adopt_orphans() -> None:
    """Have the kernel make every descendant whose parent dies a child of this process (prctl(2); only on Linux)."""
    if is_linux:
        _prctl(_SET_CHILD_SUBREAPER, 1)


def end_with_parent(number: int) -> None:
    """Have the kernel send this process a signal when the thread ends that started it (prctl(2); only on Linux)."""
    if is_linux:
        _prctl(_SET_PDEATHSIG, number)


def children(of: int | None = None) -> list[int]:
    """Return the ids of the children of this process, or of another one."""
    me = os.getpid() if of is None else of
    try:
        with open(f"/proc/{me}/task/{me}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and _parent(name) == me]


def reap_all(first: int) -> int | None:
    """Reap every child that has died; return the wait status of the child `first` if it is among them."""
    status = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, found = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            if pid == first:
                status = found
    return status


def kill_all(first: int) -> None:
    """Kill all descendants, within `KILL_SECONDS`.

    Args:
        first: The process that started the others. On other systems than Linux, only its process group is killed.
    """
    if not is_linux:
        with contextlib.suppress(OSError):
            os.killpg(first, signal.SIGKILL)
        return
    until = time.monotonic() + KILL_SECONDS
    while time.monotonic() < until:
        reap_all(first)
        left = children()
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)


def _parent(pid: str) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return None


def _prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)

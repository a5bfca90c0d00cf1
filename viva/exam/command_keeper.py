"""Runs one shell command for `pre_commands.py`, as a process of its own that outlives neither Viva nor the command.

It is a program, and uses only the standard library. Its standard input and output are one socket to Viva. When Viva
closes it, or dies, the command is killed with all that it started. What the command prints is counted, and its end is
kept. If it succeeds, a server that it leaves behind keeps running; what that prints is read and dropped by a process
that ends with it, because a pipe without a reader would stop the server, and a file without a name would fill the disk.

    python -I -S command_keeper.py LIMIT SHOWN COMMAND
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from typing import NoReturn

VIVA = 0
"""The socket to Viva."""
KILL_SECONDS = 3.0
"""Maximum duration of killing; processes that are alive then cannot be killed by this user."""
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_LINUX = sys.platform.startswith("linux")


def main(limit: int, shown: int, command: str) -> NoReturn:
    """Run the command, tell Viva how it ended, and exit.

    Args:
        limit: Maximum number of bytes that the command may print.
        shown: Number of bytes at the end that are kept.
        command: What the shell is given.
    """
    viva = os.getppid()
    if _LINUX:
        _prctl(_SET_CHILD_SUBREAPER, 1)
        _prctl(_SET_PDEATHSIG, signal.SIGTERM)
    woken, wake = os.pipe()
    for descriptor in (woken, wake):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    output, printed = os.pipe()
    os.set_blocking(output, False)
    shell = os.fork()
    if shell == 0:
        _become(command, printed)
    os.close(printed)
    status, total, end = None, 0, b""
    poller = select.poll()
    for descriptor in (VIVA, woken, output):
        poller.register(descriptor, select.POLLIN)
    while status is None and total <= limit and os.getppid() == viva:
        for descriptor, _ in poller.poll():
            if descriptor == VIVA:  # nothing is sent here, so Viva has closed it, or died
                _kill(shell)
                _tell(status=None, total=total, end=end.decode("latin-1"))
                os._exit(1)
            if descriptor == woken:
                os.read(woken, 4096)
                status = _reaped(shell)
            elif (part := _read(output)) is None:
                poller.unregister(output)
            else:
                total, end = total + len(part), (end + part)[-shown:]
    while status is not None and total <= limit and (part := _read(output)):
        total, end = total + len(part), (end + part)[-shown:]
    if status != 0 or total > limit:
        _kill(shell)
    _tell(status=status, total=total, end=end.decode("latin-1"))
    if status == 0 and total <= limit and os.fork() == 0:
        _drop(output)
    os._exit(0)


def _become(command: str, printed: int) -> NoReturn:
    """Become the shell, in a session of its own."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.closerange(3, 64)
    os.execv("/bin/sh", ["/bin/sh", "-c", command])  # noqa: S606


def _drop(output: int) -> NoReturn:
    """Read what servers print that the command has left behind, until the last one ends."""
    signal.set_wakeup_fd(-1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.set_blocking(output, True)
    while os.read(output, 1 << 16):
        pass
    os._exit(0)


def _read(output: int) -> bytes | None:
    """Return what was printed; empty if there is nothing at the moment, None at the end."""
    try:
        return os.read(output, 1 << 16) or None
    except BlockingIOError:
        return b""


def _reaped(shell: int) -> int | None:
    """Reap every child that has died; return the exit status of the shell if it is among them."""
    status = None
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == shell:
                status = found[1]
    return status


def _kill(shell: int) -> None:
    """Kill the command with all its descendants: the children of dead processes become children of this one."""
    until = time.monotonic() + KILL_SECONDS
    if not _LINUX:
        with contextlib.suppress(OSError):
            os.killpg(shell, signal.SIGKILL)
        return
    while time.monotonic() < until:
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


def _tell(**notice: object) -> None:
    with contextlib.suppress(OSError):
        os.write(VIVA, json.dumps(notice).encode() + b"\n")


def _prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

"""Runs one shell command of a case's `pre_command`, so that what it started outlives neither Viva nor a failure.

This process's standard input and output are one socket to Viva. When Viva
closes it, or dies, the command is killed with all that it started. What the command prints is counted, and its end is
kept. If it succeeds, a server that it leaves behind keeps running; what that prints is read and dropped by a process
that ends with it, because a pipe without a reader would stop the server, and a file without a name would fill the disk.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
from typing import NoReturn

from ..descendants import adopt_orphans, end_with_parent, kill_all, reap_all

VIVA = 0
"""The socket to Viva."""


def main(limit: int, shown: int, command: str) -> NoReturn:
    """Run the command, tell Viva how it ended, and exit.

    Args:
        limit: Maximum number of bytes that the command may print.
        shown: Number of bytes at the end that are kept.
        command: What the shell is given.
    """
    viva = os.getppid()
    adopt_orphans()
    end_with_parent(signal.SIGTERM)
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
                kill_all(shell)
                _tell(status=None, total=total, end=end.decode("latin-1"))
                os._exit(1)
            if descriptor == woken:
                os.read(woken, 4096)
                status = reap_all(shell)
            elif (part := _read(output)) is None:
                poller.unregister(output)
            else:
                total, end = total + len(part), (end + part)[-shown:]
    while status is not None and total <= limit and (part := _read(output)):
        total, end = total + len(part), (end + part)[-shown:]
    if status != 0 or total > limit:
        kill_all(shell)
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


def _tell(**notice: object) -> None:
    with contextlib.suppress(OSError):
        os.write(VIVA, json.dumps(notice).encode() + b"\n")

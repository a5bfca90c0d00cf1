"""Runs one MCP server of a case, so that it outlives neither the run nor Viva.

The server has this process's standard input and output, which are Viva's. When the server ends, when this process is
told to end, or when Viva dies, every descendant of the server is killed.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from typing import NoReturn

from ..descendants import adopt_orphans, end_with_parent, kill_all, reap_all

LOOK_MILLISECONDS = 500
"""How often it checks whether Viva is alive, if the system does not notify it."""
NOT_STARTED = 127


def main(command: list[str]) -> NoReturn:
    """Start the server, wait for its end or ours, kill what is left, and exit as it did.

    Args:
        command: The server's program and its arguments.
    """
    viva = os.getppid()
    adopt_orphans()
    end_with_parent(signal.SIGTERM)
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
        status = reap_all(server)
    kill_all(server)
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

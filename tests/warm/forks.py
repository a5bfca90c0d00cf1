"""What the servers of warm processes share: they fork when they are asked, and the fork is set up as it was asked for.

It imports next to nothing: what it imports, each fork has.
"""

from __future__ import annotations

import array
import fcntl
import json
import os
import resource
import signal
import socket
import time
from typing import NamedTuple

_MOST_HANDLES = 16


class Fork(NamedTuple):
    """What is asked of a fork."""

    words: list[str]
    folder: str
    environment: dict[str, str]
    new_session: bool
    open_files: tuple[int, int] | None
    """The soft and the hard limit of descriptors; None for those of the server."""
    group: str | None
    """The folder of the control group to join; None for that of the server."""
    passed: list[int]
    """Descriptors that the process has beside its standard streams, by number."""


def serve_forks(handle: int) -> Fork:
    """Fork for each request, until nobody can ask any more. Return in the forked processes, which are set up then."""
    connection = socket.socket(fileno=handle)
    connection.send(b"ready")
    while True:
        data, handles, _, _ = connection.recvmsg(16, socket.CMSG_SPACE(_MOST_HANDLES * array.array("i").itemsize))
        if not data:
            os._exit(0)
        fds = array.array("i")
        fds.frombytes(handles[0][2])
        pid = _fork()
        if not pid:
            connection.detach()
            return _set_up(list(fds))
        for fd in fds:
            os.close(fd)
        connection.send(str(pid).encode())


def _fork() -> int:
    """Return the id of a process whose parent has ended, or 0 in that process."""
    reader, writer = os.pipe()
    between = os.fork()
    if between:
        os.close(writer)
        with os.fdopen(reader, "rb") as told:
            pid = int(told.read())
        os.waitpid(between, 0)
        return pid
    os.close(reader)
    between = os.getpid()
    grown = os.fork()
    if grown:
        os.write(writer, str(grown).encode())
        os._exit(0)
    os.close(writer)
    while os.getppid() == between:  # whoever asks to be told of its parent's end means the one that stays
        time.sleep(0.0005)
    return 0


def _set_up(fds: list[int]) -> Fork:
    """Give this process the streams, the folder and the environment of a fresh one."""
    with open(fds[0], "rb", closefd=False) as file:
        file.seek(0)
        fork = Fork(*json.loads(file.read().decode("utf-8", "surrogateescape")))
    if fork.new_session:
        os.setsid()
    places = [0, 1, 2, *fork.passed]
    above = max(places) + 1
    # Above all others first: one of them may have the number of another's place.
    for place, fd in zip(places, [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above) for fd in fds[1:]]):  # noqa: B905 (3.9)
        os.dup2(fd, place)
    for before, after in zip(sorted(places[2:]), [*sorted(places[3:]), 1 << 12]):  # noqa: B905
        os.closerange(before + 1, after)
    if fork.group:
        with open(f"{fork.group}/cgroup.procs", "w") as members:
            members.write(str(os.getpid()))
    if fork.open_files:
        resource.setrlimit(resource.RLIMIT_NOFILE, tuple(fork.open_files))
    os.chdir(fork.folder)
    os.environ.clear()
    os.environ.update(fork.environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return fork

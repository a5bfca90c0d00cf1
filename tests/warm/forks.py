"""What the servers of warm processes share: they fork when they are asked, and the fork is set up as it was asked for.

It imports next to nothing: what it imports, each fork has.
"""

from __future__ import annotations

import array
import atexit
import fcntl
import gc
import io
import json
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

_MOST_HANDLES = 16
_FLUSH_FAILED = 120
"""The exit code with which Python says so."""
_exit = os._exit  # agents may replace the function


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


def run_and_leave(run: Callable[[], object]) -> None:
    """Run a program, and end the process as Python does after it, but without taking apart what was imported.

    That would have all pages of the warm process copied, which takes many times as long as to fork it. Exceptions other
    than `SystemExit` are raised, and the process then ends as any other.
    """
    code: object = 0
    try:
        run()
    except SystemExit as end:
        code = end.code
    if code is None or isinstance(code, int):
        number = int(code or 0) & 0xFF
    else:
        print(code, file=sys.stderr)
        number = 1
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()  # waits for its threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr, *_open_files()):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except (OSError, ValueError) as error:
            if stream is sys.stdout:
                number = _FLUSH_FAILED
                print(f"Exception ignored in: {stream!r}\n{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    if "ctypes" in sys.modules:  # what native code has printed
        sys.modules["ctypes"].CDLL(None).fflush(None)
    _exit(number)


def _open_files() -> list[io.TextIOWrapper | io.BufferedWriter]:
    """Files that the program has left open, and Python would close: text first, which is written to the others."""
    kinds = (io.TextIOWrapper, io.BufferedWriter)
    return [each for kind in kinds for each in gc.get_objects() if type(each) is kind]

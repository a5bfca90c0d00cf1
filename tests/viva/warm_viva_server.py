"""The process from which `tests/viva/warm_viva.py` forks: it imports what `viva` needs, and forks when it is asked."""

from __future__ import annotations

import array
import gc
import importlib
import io
import json
import os
import random
import signal
import socket
import sys
import threading
from types import ModuleType

MODULES = (
    "viva.cli.commands.run",
    "viva.cli.commands.suite",
    "viva.cli.commands.judge",
    "viva.cli.commands.replay",
    "viva.cli.commands.report",
    "viva.cli.commands.trace",
    "viva.cli.process",
    "viva.cli.supervision",
    "viva.exam.examine",
    "viva.exam.resources",
    "viva.exam.judging.resources",
    "viva.suites.conduct",
    "viva.suites.worker",
    "viva.suites.suite",
    "viva.reports.console.run",
    "viva.reports.progress.reporter",
    "viva.statistics.summary",
    "viva.adapters.connectors.python",
    "viva.adapters.connectors.child.connector",
    "viva.adapters.connectors.example",
    "viva.sandbox.process",
    "asyncio",
    "rich.console",
    "yaml",
)


def main() -> None:
    """Fork for each request, until nobody can ask any more. Return in the forked processes, which are set up then."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which end this process by leaving it
    for name in MODULES:
        importlib.import_module(name)
    assert threading.active_count() == 1
    gc.collect()
    gc.freeze()
    connection.send(b"ready")
    while True:
        data, handles, _, _ = connection.recvmsg(16, socket.CMSG_SPACE(4 * array.array("i").itemsize))
        if not data:
            os._exit(0)
        fds = array.array("i")
        fds.frombytes(handles[0][2])
        pid = _fork(connection, list(fds))
        if not pid:
            return
        for fd in fds:
            os.close(fd)
        connection.send(str(pid).encode())


def _fork(connection: socket.socket, fds: list[int]) -> int:
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
    grown = os.fork()
    if grown:
        os.write(writer, str(grown).encode())
        os._exit(0)
    os.close(writer)
    connection.detach()
    _set_up(fds)
    return 0


def _set_up(fds: list[int]) -> None:
    """Make this process what a fresh one would be."""
    with open(fds[0], "rb", closefd=False) as file:
        file.seek(0)
        words, cwd, environment, new_session = json.loads(file.read().decode("utf-8", "surrogateescape"))
    if new_session:
        os.setsid()
    # Above all others first: one of them may have the number of another's place.
    for place, fd in enumerate([os.dup(fd) for fd in fds[1:]]):
        os.dup2(fd, place)
    os.closerange(3, 1 << 12)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    _open_streams()
    sys.argv = words
    sys.path[0] = os.path.dirname(words[0])
    script = ModuleType("__main__")
    script.__file__ = words[0]
    sys.modules["__main__"] = script


def _open_streams() -> None:
    """Open the standard streams, as the interpreter does when it starts."""
    for number, name, mode in ((0, "stdin", "rb"), (1, "stdout", "wb"), (2, "stderr", "wb")):
        old = getattr(sys, name)
        raw = os.fdopen(number, mode, closefd=False)
        stream = io.TextIOWrapper(
            raw,
            encoding=old.encoding,
            errors=old.errors,
            newline="\n" if name != "stdin" else None,
            line_buffering=name == "stderr" or os.isatty(number),
        )
        stream.mode = mode[0]
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    main()
    from viva.cli.main import main as viva

    viva()

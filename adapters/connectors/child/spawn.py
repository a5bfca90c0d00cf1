"""Starts an agent's interpreter with two sockets to it that no other process inherits."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import resource
import secrets
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from viva.adapters.connectors.child.leftovers import MARK
from viva.adapters.trace_context import current_traceparent

TRACE_PARENT = "TRACEPARENT"
"""The variable that OpenTelemetry carries trace context to other processes in."""
INSIDE = Path(__file__).parents[2] / "inside"

MANY_FILES = 65536
"""The limit of open files if the system would allow any number."""

# Not `-I`: the user's PYTHON* settings are for the agent. The current folder goes where it belongs later on.
_BOOT = """
import sys
if sys.path[:1] == ['']: del sys.path[0]
if sys.version_info < (3, 8): sys.exit('this is Python %d.%d; an agent needs 3.8 or newer' % sys.version_info[:2])
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location('viva_inside', sys.argv[1] + '/__init__.py', submodule_search_locations=[sys.argv[1]])
sys.modules['viva_inside'] = inside = module_from_spec(spec)
spec.loader.exec_module(inside)
inside.main(sys.argv[2])
"""


@dataclass(frozen=True, slots=True)
class Spawned:
    """A process, and Viva's ends of the connections to it."""

    process: subprocess.Popen[bytes] | None
    """The supervisor; None if it was forked from a ready process."""
    data: socket.socket
    control: socket.socket
    words: int | None
    """File descriptor of the interpreter's output before it runs Viva's code; None if it does."""
    mark: str
    begun: bool = False
    """Whether it has imported the agent's module."""

    def close(self) -> None:
        """Close the connections; the supervisor then kills the agent with all its descendants."""
        self.data.close()
        self.control.close()
        if self.words is not None:
            os.close(self.words)


def spawn(python: str, memory_mb: int | None) -> Spawned:
    """Start an interpreter. This blocks until the kernel has started the program, not until the interpreter runs.

    Raises:
        OSError: `python` cannot be run, or there is no process or file left.
    """
    files = _usual_files()
    try:
        return _spawn_with(python, memory_mb, files)
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
        # Two files for each agent: hundreds of agents require more than the usual limit of 1,024. The agents themselves
        # get the usual limit back, because select(2) and programs that close all possible files rely on it.
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (MANY_FILES if hard == resource.RLIM_INFINITY else hard, hard))
        return _spawn_with(python, memory_mb, files)


def _spawn_with(python: str, memory_mb: int | None, files: int) -> Spawned:
    with contextlib.ExitStack() as ours, connected(ours) as (data, control, its_data, its_control):
        words = ours.enter_context(tempfile.TemporaryFile())
        kept = os.dup(words.fileno())
        ours.callback(os.close, kept)
        mark = secrets.token_hex(12)
        memory = None if memory_mb is None else memory_mb << 20
        options = {"control": its_control.fileno(), "data": its_data.fileno(), "memory": memory, "files": files}
        process = subprocess.Popen(
            [python, "-c", _BOOT, str(INSIDE), json.dumps(options)],
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            env={**environment(), MARK: mark},
            pass_fds=(its_control.fileno(), its_data.fileno()),
            start_new_session=True,  # Viva handles Ctrl-C
        )
        words.close()
        ours.pop_all()
        return Spawned(process, data, control, kept, mark)


def fork(ready: Spawned, changes: Mapping[str, Any]) -> Spawned:
    """Have a ready process fork a supervisor and an agent for a run.

    Args:
        ready: The process that has imported the agent's module.
        changes: What has changed in the environment since it was started.

    Raises:
        OSError: it cannot be reached, or there is no file left.
    """
    with contextlib.ExitStack() as ours, connected(ours) as (data, control, its_data, its_control):
        mark = secrets.token_hex(12)
        body = json.dumps({"do": "fork", "mark": mark, "viva": os.getpid(), **changes}).encode()
        frame = len(body).to_bytes(4, "big") + body
        if socket.send_fds(ready.data, [frame], [its_control.fileno(), its_data.fileno()]) < len(frame):
            raise OSError(errno.EAGAIN, "the ready process reads nothing")
        ours.pop_all()
        return Spawned(None, data, control, None, mark)


@contextlib.contextmanager
def connected(ours: contextlib.ExitStack) -> Iterator[tuple[socket.socket, ...]]:
    """Make two pairs of sockets: Viva's ends, which `ours` closes, and the other process's, which are closed here."""
    with contextlib.ExitStack() as theirs:
        pairs = [socket.socketpair() for _ in range(2)]
        for own, other in pairs:
            ours.enter_context(own).setblocking(False)
            theirs.enter_context(other)
        yield pairs[0][0], pairs[1][0], pairs[0][1], pairs[1][1]


def environment() -> dict[str, str]:
    """Return Viva's own environment, with the span of the run where one is open."""
    parent = current_traceparent()
    return {**os.environ, **({} if parent is None else {TRACE_PARENT: parent})}


def starting() -> asyncio.Semaphore:
    """Limit concurrent starts of interpreters to the number of cores, because more would block the event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _STARTING:
        _STARTING[loop] = asyncio.Semaphore(os.cpu_count() or 2)
    return _STARTING[loop]


_STARTING: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


@cache
def _usual_files() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]

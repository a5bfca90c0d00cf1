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
from dataclasses import dataclass
from functools import cache
from pathlib import Path
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

    process: subprocess.Popen[bytes]
    data: socket.socket
    control: socket.socket
    words: int
    """File descriptor of the interpreter's output before it runs Viva's code."""
    mark: str


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
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        data, its_data = (
            stack.enter_context(end) for stack, end in zip((ours, theirs), socket.socketpair(), strict=True)
        )
        control, its_control = (
            stack.enter_context(end) for stack, end in zip((ours, theirs), socket.socketpair(), strict=True)
        )
        data.setblocking(False)
        control.setblocking(False)
        words = theirs.enter_context(tempfile.TemporaryFile())
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
            env=_environment(mark),
            pass_fds=(its_control.fileno(), its_data.fileno()),
            start_new_session=True,  # Viva handles Ctrl-C
        )
        ours.pop_all()
        return Spawned(process, data, control, kept, mark)


def _environment(mark: str) -> dict[str, str]:
    """Viva's own, with the mark, and the span of the run where one is open."""
    environment, parent = {**os.environ, MARK: mark}, current_traceparent()
    return environment if parent is None else {**environment, TRACE_PARENT: parent}


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

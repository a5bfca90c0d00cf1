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
import termios
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from viva.adapters.connectors.child.leftovers import MARK
from viva.adapters.trace_context import current_traceparent

END_SECONDS = 2.0
"""Maximum time in which the supervisor of a process that is no longer needed ends."""
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
inside.main(''.join(sys.argv[2:]))
"""
LONGEST_ARGUMENT = 64 * 1024
"""Maximum number of characters of one argument of the interpreter: Linux passes on no longer one than 128 KiB."""


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

    streams: tuple[int, ...] = ()
    """Viva's ends of a program's stdin and stdout, or of its terminal."""

    def close(self) -> None:
        """Close the connections; the supervisor then kills the agent with all its descendants."""
        self.data.close()
        self.control.close()
        if self.words is not None:
            os.close(self.words)
        for each in self.streams:
            os.close(each)

    def wait(self) -> None:
        """Wait a while until the supervisor is gone; on a busy machine, a thread goes on waiting."""
        if self.process is None:
            return
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            see_end(self.process)

    def end(self) -> None:
        """Close the connections, and wait a while until the supervisor is gone."""
        self.close()
        self.wait()


def see_end(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process on a thread: if nobody sees its end, it stays as a zombie."""
    threading.Thread(target=process.wait, name="agent-end", daemon=True).start()


class Spawning:
    """A process that is being started on a thread. If nobody waits for it any longer, the thread ends it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: Spawned | None = None
        self._given_up = False

    def run(self, start: Callable[..., Spawned], *arguments: Any) -> Spawned:
        """Start the process; for the thread."""
        found = start(*arguments)
        with self._lock:
            self._found, is_awaited = found, not self._given_up
        if not is_awaited:
            found.end()
        return found

    def give_up(self) -> None:
        """End the process, now or as soon as it has been started. Nobody has got it."""
        with self._lock:
            self._given_up, found = True, self._found
        if found is not None:
            found.end()


@dataclass(frozen=True, slots=True)
class ProgramStart:
    """A program that an interpreter is to become, instead of running an agent's class."""

    path: str
    """The executable file."""
    arguments: tuple[str, ...]
    """All of them, the program's name first."""
    folder: str
    variables: Mapping[str, str]
    """Variables to set in its environment."""
    terminal: tuple[int, int] | None = None
    """The rows and columns of the terminal that it runs in; None for pipes."""
    merge: bool = False
    """Whether its stderr goes where its stdout goes."""
    is_folder: tuple[int, int] | None = None
    """The device and inode of the folder that was checked: a link that has taken its place since is not followed."""


def spawn(python: str, memory_mb: int | None, program: ProgramStart | None = None) -> Spawned:
    """Start an interpreter. This blocks until the kernel has started the program, not until the interpreter runs.

    Args:
        python: The interpreter. If it is to become a program, only its standard library is used.
        memory_mb: Maximum address space of each of the agent's processes.
        program: The program that it is to become.

    Raises:
        OSError: `python` cannot be run, or there is no process or file left.
    """
    files = _usual_files()
    try:
        return _spawn_with(python, memory_mb, files, program)
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
        # Two files for each agent: hundreds of agents require more than the usual limit of 1,024. The agents themselves
        # get the usual limit back, because select(2) and programs that close all possible files rely on it.
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (MANY_FILES if hard == resource.RLIM_INFINITY else hard, hard))
        return _spawn_with(python, memory_mb, files, program)


def _spawn_with(python: str, memory_mb: int | None, files: int, program: ProgramStart | None) -> Spawned:
    with (
        contextlib.ExitStack() as ours,
        contextlib.ExitStack() as theirs,
        connected(ours) as (data, control, its_data, its_control),
    ):
        words = ours.enter_context(tempfile.TemporaryFile())
        kept = os.dup(words.fileno())
        ours.callback(os.close, kept)
        mark = secrets.token_hex(12)
        memory = None if memory_mb is None else memory_mb << 20
        options: dict[str, Any] = {"memory": memory, "files": files}
        options |= {"control": its_control.fileno(), "data": its_data.fileno()}
        streams: tuple[int, ...] = ()
        if program is not None:
            streams, options["program"] = _connect(program, ours, theirs)
        # A program gets the user's PYTHON* settings; the interpreter that becomes it does not.
        flags = () if program is None else ("-I", "-S")
        inherited = {its_control.fileno(), its_data.fileno()}
        if program is not None:
            inherited |= {options["program"]["stdin"], options["program"]["stdout"]}
        told = json.dumps(options)
        parts = (told[at : at + LONGEST_ARGUMENT] for at in range(0, len(told), LONGEST_ARGUMENT))
        process = subprocess.Popen(
            [python, *flags, "-c", _BOOT, str(INSIDE), *parts],
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            env={**environment(), MARK: mark},
            pass_fds=sorted(inherited),
            start_new_session=True,  # Viva handles Ctrl-C
        )
        words.close()
        ours.pop_all()
        return Spawned(process, data, control, kept, mark, streams=streams)


def _connect(
    program: ProgramStart, ours: contextlib.ExitStack, theirs: contextlib.ExitStack
) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Return Viva's ends of a program's streams, and how `adapters/inside/program.py` starts it."""
    if program.terminal is None:
        stdin, our_stdin = os.pipe()
        theirs.callback(os.close, stdin)
        ours.callback(os.close, our_stdin)
        our_stdout, stdout = os.pipe()
        theirs.callback(os.close, stdout)
        ours.callback(os.close, our_stdout)
        streams: tuple[int, ...] = (our_stdin, our_stdout)
    else:
        terminal, stdin = open_terminal(*program.terminal)
        theirs.callback(os.close, stdin)
        ours.callback(os.close, terminal)
        stdout, streams = stdin, (terminal,)
    for each in streams:
        os.set_blocking(each, False)
    return streams, {
        "path": program.path,
        "arguments": program.arguments,
        "folder": program.folder,
        "is_folder": program.is_folder,
        "variables": dict(program.variables),
        "stdin": stdin,
        "stdout": stdout,
        "terminal": program.terminal is not None,
        "stderr": program.merge,
    }


def open_terminal(rows: int, columns: int) -> tuple[int, int]:
    """Return both ends of a new terminal that repeats nothing that is typed, of this size; Viva's end first."""
    terminal, side = os.openpty()
    settings = termios.tcgetattr(side)
    settings[3] &= ~(termios.ECHO | termios.ECHONL)
    settings[1] &= ~termios.ONLCR
    termios.tcsetattr(side, termios.TCSANOW, settings)
    termios.tcsetwinsize(side, (rows, columns))
    return terminal, side


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

"""Processes that are forked from one that has imported what they need, in a fraction of the time of fresh ones.

A `WarmProcess` is a `subprocess.Popen`, and its process a child of this one like any other: `wait`, `send_signal` and
`communicate` are those of the standard library.
"""

from __future__ import annotations

import array
import atexit
import ctypes
import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

READY = "ready"
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2)."""
_LIMITS = (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_AS, resource.RLIMIT_FSIZE)
_forking = threading.Lock()
_prctl = ctypes.CDLL(None, use_errno=True).prctl if sys.platform.startswith("linux") else None


def warm_processes_work() -> bool:
    """Return whether this system has what they require, and `VIVA_TESTS_WARM=0` does not forbid them."""
    return _prctl is not None and os.environ.get("VIVA_TESTS_WARM") != "0"


def limits_of_processes() -> list[tuple[int, int]]:
    """Return the limits that a process gets from the one that forks it."""
    return [resource.getrlimit(limit) for limit in _LIMITS]


class WarmServer:
    """The process that has imported what is needed, and the connection to it; it is started when it is first asked.

    `command` is given the number of its end of the connection, and `data` is its stdin.
    """

    def __init__(self, command: Sequence[str | Path], data: bytes = b"", env: Mapping[str, str] | None = None) -> None:
        self.command = command
        self.data = data
        self.env = env
        self._connection: socket.socket | None = None

    @classmethod
    def connected(cls, connection: socket.socket) -> WarmServer:
        """Return one that has been started, and listens at the other end of a connection."""
        server = cls(())
        server._connection = connection
        return server

    def fork(
        self,
        words: list[str],
        cwd: str,
        env: dict[str, str],
        streams: list[int],
        new_session: bool,
        open_files: tuple[int, int] | None = None,
        group: Path | None = None,
        passed: Sequence[int] = (),
    ) -> int:
        """Return the id of a new process, which is a child of this one."""
        asked = [words, cwd, env, new_session, open_files, group and str(group), list(passed)]
        request = json.dumps(asked).encode("utf-8", "surrogateescape")
        with _forking, os.fdopen(os.memfd_create("request"), "wb+", buffering=0) as file:
            # In a file, because an environment can be larger than a message of a socket.
            file.write(request)
            handles = array.array("i", [file.fileno(), *streams, *passed])
            connection = self._connection or self._start()
            _become_subreaper(True)
            try:
                connection.sendmsg([b"f"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)])
                answer = connection.recv(64)
            finally:
                _become_subreaper(False)
        assert answer, "the warm process has ended"
        return int(answer)

    def started(self) -> bool:
        """Start the process, unless it has been started; return whether it is ready."""
        self._connection = self._connection or self._try_to_start()
        return self._connection is not None

    def _start(self) -> socket.socket:
        connection = self._try_to_start()
        assert connection, "the warm process did not start"
        return connection

    def _try_to_start(self) -> socket.socket | None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [*self.command, str(theirs.fileno())]
            # Pipes, as most forks have: Python's streams remember whether one can seek in them.
            process = subprocess.Popen(
                command, pass_fds=(theirs.fileno(),), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.env
            )
        assert process.stdin is not None
        with process.stdin as stdin:
            stdin.write(self.data)
        if ours.recv(64).decode() != READY:
            _end(ours, process)
            return None
        atexit.register(_end, ours, process)
        self._connection = ours
        return ours


def _end(connection: socket.socket, process: subprocess.Popen[bytes]) -> None:
    """End a warm process; its connection is the sign that it is still needed."""
    connection.close()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


class WarmProcess(subprocess.Popen[Any]):
    """A process that is forked from the one that `server` starts."""

    server: ClassVar[WarmServer]

    def __init__(
        self, args: Any, *, open_files: tuple[int, int] | None = None, group: Path | None = None, **options: Any
    ) -> None:
        """Args:
        args: The words of the command.
        open_files: The soft and the hard limit of its descriptors.
        group: The folder of the control group that it joins.
        **options: Those of `Popen`.
        """
        self._open_files, self._group = open_files, group
        super().__init__(args, **options)

    def _execute_child(self, args: Any, *rest: Any) -> None:
        # The parameters of CPython's own method, by position, of which a warm process can honour these.
        _, _, _, passed, cwd, env, _, _, _, *more = rest
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *others = more
        new_session = others[-2] if sys.version_info >= (3, 11) else others[-1]
        streams = [own if given == -1 else given for own, given in enumerate((p2cread, c2pwrite, errwrite))]
        words = [os.fspath(word) for word in args]
        folder = os.fspath(cwd or Path.cwd())
        environment = dict(os.environ if env is None else env)
        self.pid = self.server.fork(
            words, folder, environment, streams, new_session, self._open_files, self._group, passed
        )
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)


def _become_subreaper(on: bool) -> None:
    """Have orphans among the descendants become children of this process, or no longer.

    The new process's parent is a process that ends at once. It becomes our child by that, and can be waited for.
    """
    assert _prctl is not None
    if _prctl(_SUBREAPER, int(on), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")

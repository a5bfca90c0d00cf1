"""Processes of `viva` that are forked from one that has imported it, which takes a third of the time of a fresh one.

Hundreds of tests need a process of `viva`: for its signals, its exit code, its streams, its descendants. Few need a
fresh interpreter. `WarmViva` is a `subprocess.Popen`, and its process a child of this one like any other: `wait`,
`send_signal` and `communicate` are those of the standard library.

A warm process differs from a fresh one in what the interpreter does at its start: variables that Python reads then,
options of the interpreter, limits and functions that are set before the program runs. Tests of those start a fresh one.
"""

from __future__ import annotations

import array
import atexit
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

READY = "ready"
_SERVER = Path(__file__).with_name("warm_viva_server.py")
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2)."""
_PYTHON = ("PYTHON", "LC_", "LANG", "MALLOC", "LD_", "GLIBC")
"""Variables that the interpreter, or the C library, reads when a process starts."""
_OPTIONS = frozenset({"stdin", "stdout", "stderr", "cwd", "env", "encoding", "errors", "text", "bufsize"})
"""Options of Popen that a warm process can honour."""
_OWN_OPTIONS = _OPTIONS | {"start_new_session", "universal_newlines", "pipesize"}


def can_be_warm(env: Mapping[str, str] | None, options: Mapping[str, Any]) -> bool:
    """Return whether a process with this environment and these options of Popen can be forked from a warm one."""
    if not sys.platform.startswith("linux") or os.environ.get("VIVA_TESTS_WARM") == "0":
        return False
    if not _OWN_OPTIONS.issuperset(options):
        return False
    return env is None or _start_variables(env) == _start_variables(os.environ)


def _start_variables(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_PYTHON)}


class WarmViva(subprocess.Popen[Any]):
    """A process of the command `viva`; the first of its arguments is the path of the script."""

    def _execute_child(self, args: Any, *rest: Any) -> None:
        # The parameters of CPython's own method, by position, of which a warm process can honour these.
        _, _, _, _, cwd, env, _, _, _, *more = rest
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *others = more
        new_session = others[-2] if sys.version_info >= (3, 11) else others[-1]
        streams = [own if given == -1 else given for own, given in enumerate((p2cread, c2pwrite, errwrite))]
        words = [os.fspath(word) for word in args]
        self.pid = _server().fork(words, os.fspath(cwd or Path.cwd()), dict(env or os.environ), streams, new_session)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)


class _Server:
    """The process that has imported `viva`, and this process's connection to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, _SERVER, str(theirs.fileno())], pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL
            )
        self.socket = ours
        self.lock = threading.Lock()
        assert ours.recv(64).decode() == READY, "the warm process of viva did not start"

    def fork(self, words: list[str], cwd: str, env: dict[str, str], streams: list[int], new_session: bool) -> int:
        """Return the id of a new process, which is a child of this one."""
        request = json.dumps([words, cwd, env, new_session]).encode("utf-8", "surrogateescape")
        with self.lock, os.fdopen(os.memfd_create("request"), "wb+", buffering=0) as file:
            # In a file, because an environment can be larger than a message of a socket.
            file.write(request)
            handles = array.array("i", [file.fileno(), *streams])
            _become_subreaper(True)
            try:
                self.socket.sendmsg([b"f"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)])
                answer = self.socket.recv(64)
            finally:
                _become_subreaper(False)
        assert answer, "the warm process of viva has ended"
        return int(answer)

    def end(self) -> None:
        """End the warm process; its connection is the sign that it is still needed."""
        self.socket.close()
        self.process.wait()


_found: _Server | None = None
_prctl = ctypes.CDLL(None, use_errno=True).prctl if sys.platform.startswith("linux") else None


def _server() -> _Server:
    global _found
    if _found is None:
        _found = _Server()
        atexit.register(_found.end)
    return _found


def _become_subreaper(on: bool) -> None:
    """Have orphans among the descendants become children of this process, or no longer.

    The new process's parent is a process that ends at once. It becomes our child by that, and can be waited for.
    """
    assert _prctl is not None
    if _prctl(_SUBREAPER, int(on), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")

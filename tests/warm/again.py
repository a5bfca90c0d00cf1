"""In a process that is forked from a warm one: the Python processes that it starts in turn are forked, too.

`viva init` runs `python -m viva` and `python -m pytest`, and pytest-xdist runs a program for each worker.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import Any

from processes import WarmProcess, WarmServer  # the folder of the script that is run is on the path

_OPTIONS = frozenset({"stdin", "stdout", "stderr", "cwd", "encoding", "errors", "text", "bufsize"})
_WORKER = "import sys;exec(eval(sys.stdin.readline()))"
"""What execnet has a worker of pytest-xdist run first."""

_fresh = subprocess.Popen._execute_child  # type: ignore[attr-defined]


class _Again(WarmProcess):
    """A process that is forked if it runs what the warm one has imported, and is fresh otherwise."""

    def __init__(self, args: Any, bufsize: int = -1, **options: Any) -> None:
        self._words = _words(args) if _OPTIONS.issuperset(options) else None
        super().__init__(args, bufsize=bufsize, **options)

    def _execute_child(self, args: Any, *rest: Any) -> None:
        if self._words is None:
            _fresh(self, args, *rest)
        else:
            super()._execute_child(self._words, *rest)


def start_from(connection: socket.socket) -> None:
    """From now on, fork what can be forked from the process at the other end."""
    _Again.server = WarmServer.connected(connection)
    subprocess.Popen = _Again  # type: ignore[assignment, misc]


def _words(args: Any) -> list[str] | None:
    """Return the words of a command without an option that makes no difference; None if it is for a fresh process."""
    if isinstance(args, str | bytes | os.PathLike) or len(args) < 3 or args[0] != sys.executable:
        return None
    words = [os.fspath(word) for word in args if word != "-u"]
    return words if words[1:3] in (["-m", "viva"], ["-m", "pytest"], ["-c", _WORKER]) else None

"""Programs for a shell that have `viva` and `pytest` run in warm processes: pages print hundreds of such commands."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.warm.commands import WarmPytest, can_be_warm, warm_for, warm_processes_work

_CLIENT = Path(__file__).with_name("typed_client.py")
FRESH = {"viva": [sys.executable, "-m", "viva"], "pytest": [sys.executable, "-m", "pytest"]}
"""The words of each program where it cannot be warm."""


@contextlib.contextmanager
def typed_programs(viva: Path) -> Iterator[dict[str, str]]:
    """Yield the text of a shell script for each program.

    Args:
        viva: The installed script.
    """
    if not warm_processes_work():
        yield {name: script_of(words) for name, words in FRESH.items()}
        return
    with (
        tempfile.TemporaryDirectory(prefix="viva-typed-") as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener,
    ):
        place = f"{folder}/socket"
        listener.bind(place)
        listener.listen()
        serving = threading.Thread(target=_serve, args=(listener, viva), daemon=True)
        serving.start()
        yield {name: script_of([sys.executable, "-I", "-S", str(_CLIENT), place, name]) for name in FRESH}
        listener.shutdown(socket.SHUT_RDWR)
        serving.join()


def script_of(words: list[str]) -> str:
    """Return the text of a program that adds its arguments to these words."""
    return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'


def _serve(listener: socket.socket, viva: Path) -> None:
    asked = []
    with contextlib.suppress(OSError):  # nobody asks any more
        while True:
            connection, _ = listener.accept()
            asked.append(threading.Thread(target=_run, args=(connection, viva), daemon=True))
            asked[-1].start()
    for thread in asked:
        thread.join(60)


def _run(connection: socket.socket, viva: Path) -> None:
    """Run one command, and tell its process and how it ended."""
    _, handles, _, _ = socket.recv_fds(connection, 16, 4)
    with connection, os.fdopen(handles[0]) as file:
        file.seek(0)
        (name, *words), folder, environment = json.load(file)
        warm = can_be_warm(environment, {})
        first = [str(viva)] if warm and name == "viva" else FRESH[name]
        kind = (WarmPytest if name == "pytest" else warm_for(words, environment)) if warm else subprocess.Popen
        streams = dict(zip(("stdin", "stdout", "stderr"), handles[1:], strict=True))
        process = kind([*first, *words], cwd=folder, env=environment, **streams)
        for handle in handles[1:]:
            os.close(handle)
        with contextlib.suppress(OSError):  # whoever asked may have ended
            connection.send(str(process.pid).encode())
        process.wait()
        with contextlib.suppress(OSError):
            connection.send(str(process.returncode).encode())

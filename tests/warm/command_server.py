"""The process from which `tests/warm/commands.py` forks: it imports what `viva` needs, and forks when it is asked.

The forks are processes of `viva`, or of a Python program that imports it. The arguments are more modules to import.
"""

from __future__ import annotations

import gc
import importlib
import io
import os
import random
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from functools import partial
from types import CodeType, ModuleType

from again import start_from  # the folder of this script is on the path
from forks import Fork, run_and_leave, serve_forks

MODULES = (
    "viva.cli.commands.run",
    "viva.cli.commands.suite",
    "viva.cli.commands.judge",
    "viva.cli.commands.replay",
    "viva.cli.commands.report",
    "viva.cli.commands.trace",
    "viva.cli.commands.label",
    "viva.cli.commands.calibrate",
    "viva.cli.init.command",
    "viva.cli.group",
    "viva.cli.main",
    "viva.cli.process",
    "viva.cli.supervision",
    "viva.exam.examine",
    "viva.exam.resources",
    "viva.exam.judging.resources",
    "viva.suites.conduct",
    "viva.suites.worker",
    "viva.suites.suite",
    "viva.reports.console.run",
    "viva.reports.json_document",
    "viva.reports.progress.reporter",
    "viva.statistics.summary",
    "viva.adapters.connectors.python",
    "viva.adapters.connectors.child.connector",
    "viva.adapters.connectors.command.connector",
    "viva.adapters.connectors.example",
    "viva.sandbox.bwrap",
    "viva.sandbox.docker.backend",
    "viva.sandbox.process",
    "asyncio",
    "encodings.utf_8_sig",
    "pyflakes.checker",
    "rich.console",
    "yaml",
)
PLUGINS = frozenset({"anyio", "xdist"})
"""Packages with plugins of pytest."""


def main() -> CodeType | None:
    """Import, and fork for each request. Return in the forked processes, which are what fresh ones would be.

    Returns:
        The program that the process is to run; None for that of `viva`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which end this process by leaving it
    for name in (*MODULES, *sys.argv[1:-1]):
        importlib.import_module(name)
    for name in PLUGINS.intersection(sys.modules):  # pytest warns of plugins that are imported, unless they say this
        sys.modules[name].__doc__ = "PYTEST_DONT_REWRITE"
    _compute_what_is_kept()
    assert threading.active_count() == 1
    gc.collect()
    gc.freeze()
    own_path = _path_of(os.environ)
    fork = serve_forks(int(sys.argv[-1]))
    if _starts_others(fork.words):
        fork = _with_a_server_of_its_own(fork)
    random.seed()
    _open_streams()
    code = None
    if fork.words[0] != sys.executable:
        sys.argv = fork.words
        sys.path[0] = os.path.dirname(sys.argv[0])
    elif fork.words[1] == "-c":
        sys.argv = ["-c", *fork.words[3:]]
        sys.path[0] = ""
        code = compile(fork.words[2], "<string>", "exec")
    elif fork.words[1] == "-m":
        sys.argv = ["-m", *fork.words[3:]]
        sys.path[0] = os.getcwd()
        run = f"import runpy; runpy.run_module({fork.words[2]!r}, run_name='__main__', alter_sys=True)"
        code = compile(run, "<string>", "exec")
    else:
        sys.argv = fork.words[1:]
        sys.path[0] = os.path.dirname(os.path.realpath(sys.argv[0]))
        with open(sys.argv[0], "rb") as file:
            code = compile(file.read(), sys.argv[0], "exec")
    sys.path[1:1] = [folder for folder in _path_of(fork.environment) if folder not in own_path]
    script = ModuleType("__main__")
    if sys.argv[0] not in ("-c", "-m"):
        script.__file__ = sys.argv[0]
    sys.modules["__main__"] = script
    return code


def _compute_what_is_kept() -> None:
    """Compute what a process computes once, and most commands need: half of what a command of one run takes."""
    from viva.cases.case import Case
    from viva.exam.versions import versions
    from viva.records.codec import prepare
    from viva.records.quick.lines import prepare_lines
    from viva.records.run_record import RunRecord, Setting
    from viva.records.transcript import Round, Transcript
    from viva.records.verdict import Insight
    from viva.sandbox.bundle import boot_frame
    from viva.suites.request import SuiteRequest

    prepare(Case, SuiteRequest, Setting, Round, Transcript, Insight, RunRecord)
    prepare_lines()
    versions()
    boot_frame({})


def _starts_others(words: list[str]) -> bool:
    """Whether a command starts Python again: `viva init`, which tries what it has written, and workers of pytest."""
    return words[1:2] == ["init"] or any(word.startswith("-n") for word in words[3:])


def _with_a_server_of_its_own(fork: Fork) -> Fork:
    """Fork a process that forks in turn, from which this one then starts `viva`, pytest and its workers.

    Returns:
        What is asked of this process, or of one of those.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        theirs.close()
        assert ours.recv(16) == b"ready"
        start_from(ours)
        return fork
    ours.close()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):  # whoever reads what the command prints waits until nobody can write any more
        os.dup2(nothing, number)
    os.close(nothing)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return serve_forks(theirs.detach())


def _path_of(environment: Mapping[str, str]) -> list[str]:
    return [os.path.abspath(folder) for folder in environment.get("PYTHONPATH", "").split(os.pathsep) if folder]


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
    program = main()
    if program is not None:
        run_and_leave(partial(exec, program, sys.modules["__main__"].__dict__))
    else:
        from viva.cli.main import main as viva

        run_and_leave(viva)

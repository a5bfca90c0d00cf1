"""The process from which `tests/warm/commands.py` forks: it imports what `viva` needs, and forks when it is asked."""

from __future__ import annotations

import gc
import importlib
import io
import os
import random
import signal
import sys
import threading
from types import ModuleType

from forks import serve_forks  # the folder of this script is on the path

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
    """Import, and fork for each request. Return in the forked processes, which are what fresh ones would be."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which end this process by leaving it
    for name in MODULES:
        importlib.import_module(name)
    assert threading.active_count() == 1
    gc.collect()
    gc.freeze()
    fork = serve_forks(int(sys.argv[1]))
    random.seed()
    _open_streams()
    sys.argv = fork.words
    sys.path[0] = os.path.dirname(fork.words[0])
    script = ModuleType("__main__")
    script.__file__ = fork.words[0]
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

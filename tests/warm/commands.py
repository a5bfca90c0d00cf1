"""Processes of `viva` that are forked from one that has imported it, which takes a third of the time of a fresh one.

Hundreds of tests need a process of `viva`: for its signals, its exit code, its streams, its descendants. Few need a
fresh interpreter.

A warm process differs from a fresh one in what the interpreter does at its start: variables that Python reads then,
options of the interpreter, limits and functions that are set before the program runs. It also differs in what the
interpreter does at its end, when it destroys what modules hold. Tests of those start a fresh one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from _pytest.config import default_plugins

from tests.warm.processes import WarmProcess, WarmServer, warm_processes_work

_PYTHON = ("PYTHON", "LC_", "LANG", "MALLOC", "LD_", "GLIBC", "TZ")
"""Variables that the interpreter, or the C library, reads when a process starts. A fork heeds PYTHONPATH."""
_OPTIONS = frozenset({"stdin", "stdout", "stderr", "cwd", "env", "encoding", "errors", "text", "bufsize"})
"""Options of Popen that a warm process can honour."""
_OWN_OPTIONS = _OPTIONS | {"group", "open_files", "start_new_session", "universal_newlines", "pipesize"}


_SERVER = Path(__file__).with_name("command_server.py")
_CLIENTS = (
    "viva.models.autogen.client",
    "viva.adapters.connectors.http.connector",
    "viva.adapters.connectors.http.chat",
    "viva.adapters.connectors.http.responses",
)
_PLUGINS = (
    "_pytest._argcomplete",
    "readline",
    "xdist.newhooks",
    "xdist._path",
    "xdist.looponfail",
    "xdist.plugin",
    "xdist.remote",
    "xdist.workermanage",
    "xdist.dsession",
    *(f"xdist.scheduler.{name}" for name in ("load", "worksteal")),
    "execnet.gateway",
    "pdb",
    "viva.pytest_plugin.entry_point",
    "viva.pytest_plugin.exams",
    "viva.pytest_plugin.conformance.host",
    "viva.pytest_plugin.conformance.checks",
    "viva.pytest_plugin.conformance.any_agent",
)
_PYTEST = ("pytest", *(f"_pytest.{name}" for name in default_plugins), *_PLUGINS, *_CLIENTS)
_SPEAKS = ("--model", "--judge-model", "http://")
"""What begins a word of commands that import the clients of models and of agents at an address."""


def can_be_warm(env: Mapping[str, str] | None, options: Mapping[str, Any]) -> bool:
    """Return whether a process with this environment and these options of Popen can be forked from a warm one."""
    if not warm_processes_work() or not _OWN_OPTIONS.issuperset(options):
        return False
    return env is None or start_variables(env) == start_variables(os.environ)


def start_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the interpreter reads when it starts."""
    return {name: value for name, value in env.items() if name.startswith(_PYTHON) and name != "PYTHONPATH"}


class WarmViva(WarmProcess):
    """A process of the command `viva`, or of a program that imports it.

    The first of its arguments is the path of the script `viva`, or `sys.executable`, which `-c` and a text follow, `-m`
    and a module, or a file.
    """

    server = WarmServer([sys.executable, _SERVER])


class WarmPytest(WarmProcess):
    """A process of pytest, which has also imported what Viva's models and the plugins need.

    The assertions of the plugins are not rewritten, as they are where pytest imports them.
    """

    server = WarmServer([sys.executable, _SERVER, *_PYTEST])


class WarmModels(WarmProcess):
    """A process of `viva` that has imported what Viva's models need, and agents at an address: a second and a half of
    processor time.
    """

    server = WarmPytest.server


def warm_for(words: Sequence[str | Path], env: Mapping[str, str] | None) -> type[WarmProcess]:
    """Return the kind of process that has imported most of what a command of `viva` needs."""
    has_key = "OPENAI_API_KEY" in (os.environ if env is None else env)
    return WarmModels if has_key or any(str(word).startswith(_SPEAKS) for word in words) else WarmViva

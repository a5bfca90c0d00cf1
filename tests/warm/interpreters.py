"""Processes of agents that are forked from an interpreter which has imported what they need.

A process of its own for each agent takes a tenth of a second to start, and with a framework seconds. Few tests are
about how it starts: those in tests/adapters/connectors/child/ start fresh ones.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from tests.warm.commands import start_variables
from tests.warm.processes import WarmProcess, WarmServer, limits_of_processes, warm_processes_work
from viva.adapters.connectors.child import spawn
from viva.adapters.connectors.child.leftovers import MARK

_SERVER = Path(__file__).with_name("interpreter_server.py")
_USUAL = Path(__file__).with_name("agent_imports.py")
_UNMARKED = "0" * 24
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""A process with threads cannot be forked, and NumPy starts one for each core."""


class _Subprocess(ModuleType):
    """The module `subprocess`, as far as agents are started with it; some interpreters are forked."""

    def __init__(self, imports: Mapping[Path, Path]) -> None:
        super().__init__("subprocess")
        self.__dict__.update({name: getattr(subprocess, name) for name in subprocess.__all__})
        self.__dict__["Popen"] = self._popen
        self.imports = {_place(python): file for python, file in imports.items()}
        self.limits = limits_of_processes()

    def _popen(self, args: Any, **options: Any) -> subprocess.Popen[Any]:
        """Start a process."""
        python, *words = args
        flags = tuple(words[: words.index("-c")])
        place = _place(python)
        file = self.imports.get(place)
        if file is None or _variables(options["env"]) != _variables(os.environ) or limits_of_processes() != self.limits:
            return subprocess.Popen(args, **options)
        kind = _warm(place, flags, file, _variables(os.environ))
        return kind([python, *words[len(flags) :]], **options)


def _place(python: str | Path) -> str:
    """Return the path of an interpreter without links to its environment; its name is a link that says which it is."""
    return os.path.join(os.path.realpath(os.path.dirname(python)), os.path.basename(python))


@cache
def _warm(python: str, flags: tuple[str, ...], file: Path, _: frozenset[tuple[str, str]]) -> type[WarmProcess]:
    environment = {**os.environ, **_ONE_THREAD, MARK: _UNMARKED}

    class WarmInterpreter(WarmProcess):
        server = WarmServer([python, *flags, _SERVER, file], env=environment)

    return WarmInterpreter


def _variables(environment: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    path = {"PYTHONPATH": environment.get("PYTHONPATH", "")}
    return frozenset({**start_variables(environment), **path}.items())


@contextlib.contextmanager
def warm_interpreters(imports: Mapping[Path, Path] | None = None) -> Iterator[None]:
    """Fork the processes of agents meanwhile, and the interpreters that become programs.

    Args:
        imports: By interpreter: the file whose imports it has made before it is forked. Beside them, there is Viva's.
    """
    if not warm_processes_work():
        yield
        return
    with mock.patch.object(spawn, "subprocess", _Subprocess({Path(sys.executable): _USUAL, **(imports or {})})):
        yield


@contextlib.contextmanager
def fresh_interpreters() -> Iterator[None]:
    """Start fresh ones, as users do."""
    with mock.patch.object(spawn, "subprocess", subprocess):
        yield

"""Servers of the sandbox `process` that are forked from an interpreter which has imported what they import.

Thousands of tests run a check, and few are about how its sandbox starts: those in tests/sandbox start fresh ones.
"""

from __future__ import annotations

import asyncio.unix_events
import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from tests.warm.processes import WarmProcess, WarmServer, limits_of_processes
from viva.sandbox.bundle import INSIDE, boot_frame, boot_script
from viva.sandbox.process import CLEAN_ENVIRONMENT

_SERVER = Path(__file__).with_name("box_server.py")
_COMMAND = [sys.executable, "-I", "-c", boot_script()]


class WarmBox(WarmProcess):
    """A server of a sandbox."""

    server = WarmServer([sys.executable, "-I", _SERVER, INSIDE / "boot.py"], boot_frame({}), CLEAN_ENVIRONMENT)


class _Subprocess(ModuleType):
    """The module `subprocess`, as far as asyncio uses it, with warm processes where they are the same as fresh ones."""

    def __init__(self) -> None:
        super().__init__("subprocess")
        self.limits = limits_of_processes()
        self.__dict__.update({name: getattr(subprocess, name) for name in subprocess.__all__})
        self.__dict__["Popen"] = self._popen

    def _popen(self, args: Any, **options: Any) -> subprocess.Popen[Any]:
        """Start a process."""
        as_usual = {name: options.get(name) for name in ("user", "group", "extra_groups", "preexec_fn")}
        is_box = list(args) == _COMMAND and options.get("env") == CLEAN_ENVIRONMENT and not any(as_usual.values())
        kind = WarmBox if is_box and limits_of_processes() == self.limits else subprocess.Popen
        return kind(args, **options)


@contextlib.contextmanager
def warm_boxes() -> Iterator[None]:
    """Start warm servers of sandboxes meanwhile."""
    with mock.patch.object(asyncio.unix_events, "subprocess", _Subprocess()):
        yield


@contextlib.contextmanager
def fresh_boxes() -> Iterator[None]:
    """Start fresh ones, as users do."""
    with mock.patch.object(asyncio.unix_events, "subprocess", subprocess):
        yield

"""Bundles `sandbox/inside` to be sent to a server: a boot script for `python3 -c`, and one frame of modules."""

from __future__ import annotations

import importlib.util
import json
import marshal
import sys
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

INSIDE = Path(__file__).parent / "inside"
CHECK_CODE = Path(__file__).parents[1] / "cases" / "check_code"
# What is known about a check from its source is known by the same modules inside and outside.
_ANALYSIS = ("certain", "conversation_types", "own_faults")
# The modules of `sandbox/inside` that a server needs, in the order in which they import each other.
_MODULES = (
    "hardening",
    "system_calls",
    "landlock",
    "files",
    "faults",
    "conversation",
    "watch",
    "frames",
    "check_run",
    "witness",
    "namespaces",
    "layers",
    "child",
    "staging",
    "server",
    "ending",
    "keeper",
)
# For the interpreter's environment, not that of checks: the linker finds symbols once, when the interpreter starts, and
# not again in each process that is forked from it.
BIND_AT_START = {"LD_BIND_NOW": "1"}


@cache
def boot_script() -> str:
    """Return the script that a server starts with; it reads the other modules from stdin."""
    return (INSIDE / "boot.py").read_text()


@cache
def _modules() -> tuple[tuple[str, str], ...]:
    packages = ("viva", "viva.cases", "viva.cases.check_code", "viva.sandbox", "viva.sandbox.inside")
    return (*((name, "") for name in packages), *((name, file.read_text()) for name, file in _files()))


def _files() -> list[tuple[str, Path]]:
    analysis = [(f"viva.cases.check_code.{name}", CHECK_CODE / f"{name}.py") for name in _ANALYSIS]
    return [*analysis, *((f"viva.sandbox.inside.{name}", INSIDE / f"{name}.py") for name in _MODULES)]


@cache
def _code() -> bytes:
    """Return what Python compiled of the modules when it installed or imported them, marshalled.

    Compiling takes a quarter of the time of a server's start. Without assertions (`python -O`) it is other code.
    """
    if sys.flags.optimize:
        return b""
    files = dict(_files())
    return marshal.dumps([_code_of(name, files[name]) if source else None for name, source in _modules()])


def _code_of(name: str, file: Path) -> CodeType:
    # Not by the module's own loader: those of pytest and of coverage tools return other code.
    code = SourceFileLoader(name, str(file)).get_code(name)
    assert code is not None
    return _renamed(code, f"<viva {name.rpartition('.')[2]}>")


def _renamed(code: CodeType, file: str) -> CodeType:
    """Return the code with another name of its file: a path of this machine says nothing inside."""
    constants = (_renamed(one, file) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_filename=file, co_consts=tuple(constants))


def boot_frame(options: dict[str, Any]) -> bytes:
    """Return the first frame: four bytes of length, then JSON with the modules' source and the server's options.

    The modules' code follows, for a server that runs on the same version of Python.
    """
    code = _code()
    magic = importlib.util.MAGIC_NUMBER.hex() if code else ""
    about = {"modules": _modules(), "options": options, "magic": magic, "code_bytes": len(code)}
    data = json.dumps(about).encode()
    return len(data).to_bytes(4, "big") + data + code

"""Bundles `sandbox/inside` to be sent to a server: a boot script for `python3 -c`, and one frame of source code."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
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
    "child",
    "staging",
    "server",
    "ending",
    "keeper",
)


@cache
def boot_script() -> str:
    """Return the script that a server starts with; it reads the other modules from stdin."""
    return (INSIDE / "boot.py").read_text()


@cache
def _modules() -> tuple[tuple[str, str], ...]:
    packages = ("viva", "viva.cases", "viva.cases.check_code", "viva.sandbox", "viva.sandbox.inside")
    analysis = [(f"viva.cases.check_code.{name}", (CHECK_CODE / f"{name}.py").read_text()) for name in _ANALYSIS]
    inside = [(f"viva.sandbox.inside.{name}", (INSIDE / f"{name}.py").read_text()) for name in _MODULES]
    return (*((name, "") for name in packages), *analysis, *inside)


def boot_frame(options: dict[str, Any]) -> bytes:
    """Return the first frame: four bytes of length, then JSON with the modules' source and the server's options."""
    data = json.dumps({"modules": _modules(), "options": options}).encode()
    return len(data).to_bytes(4, "big") + data

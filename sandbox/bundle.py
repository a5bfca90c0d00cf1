"""Bundles `sandbox/inside` to be sent to a server: a boot script for `python3 -c`, and one frame of source code."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

INSIDE = Path(__file__).parent / "inside"
# The modules of `sandbox/inside` that a server needs, in the order in which they import each other.
_MODULES = (
    "hardening",
    "system_calls",
    "landlock",
    "files",
    "faults",
    "own_faults",
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
    sources = [(f"viva.sandbox.inside.{name}", (INSIDE / f"{name}.py").read_text()) for name in _MODULES]
    return (*((name, "") for name in ("viva", "viva.sandbox", "viva.sandbox.inside")), *sources)


def boot_frame(options: dict[str, Any]) -> bytes:
    """Return the first frame: four bytes of length, then JSON with the modules' source and the server's options."""
    data = json.dumps({"modules": _modules(), "options": options}).encode()
    return len(data).to_bytes(4, "big") + data

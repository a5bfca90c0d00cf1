"""Makes of `sandbox/inside` what is sent into a room: a boot script for `python3 -c` and one frame of source."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

# In the order in which they import each other.
_MODULES = ("hardening", "files", "faults", "talk", "watch", "check_run", "child", "server")


@cache
def boot_script() -> str:
    return (resources.files("sandbox") / "inside" / "boot.py").read_text()


@cache
def _modules() -> tuple[tuple[str, str], ...]:
    folder = resources.files("sandbox") / "inside"
    sources = [(f"sandbox.inside.{name}", (folder / f"{name}.py").read_text()) for name in _MODULES]
    return (("sandbox", ""), ("sandbox.inside", ""), *sources)


def boot_frame(options: dict[str, Any]) -> bytes:
    """Four bytes of length, then JSON: the modules' source and the server's options."""
    data = json.dumps({"modules": _modules(), "options": options}).encode()
    return len(data).to_bytes(4, "big") + data

"""The first code to run inside. It reads the other modules' source from stdin: nothing is mounted or installed."""

from __future__ import annotations

import builtins
import json
import os
import select
import sys
import types
from typing import Any


def take(size: int) -> bytes:
    """Read exactly `size` bytes from stdin, or end this process."""
    data = b""
    while len(data) < size:
        # A server that hears nothing ends itself: its harness died between starting it and its first word.
        if not select.select([0], [], [], 60)[0]:
            os._exit(3)
        piece = os.read(0, size - len(data))
        if not piece:
            os._exit(3)
        data += piece
    return data


def load() -> Any:
    """Make modules of the source, and start the keeper, or the server."""
    boot = json.loads(take(int.from_bytes(take(4), "big")))
    for name, source in boot["modules"]:
        module = types.ModuleType(name)
        sys.modules[name] = module
        module.__dict__["__file__"] = "<viva>"
        # Builtins of their own: a check that patches `builtins` does not reach the code that reports on it.
        module.__dict__["__builtins__"] = dict(vars(builtins))
        if not source:
            module.__dict__["__path__"] = []
        parent, _, leaf = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], leaf, module)
        exec(compile(source, "<viva " + leaf + ">", "exec"), module.__dict__)  # noqa: S102
    return sys.modules["viva.sandbox.inside.keeper"].serve(boot["options"])


if __name__ == "__main__":
    load()

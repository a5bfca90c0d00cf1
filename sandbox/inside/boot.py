"""The first code to run inside. It reads the other modules from stdin: nothing is mounted or installed."""

from __future__ import annotations

import _frozen_importlib_external
import builtins
import json
import marshal
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


def load() -> dict[str, Any]:
    """Make modules of the source or its code, and return the options of the server."""
    boot = json.loads(take(int.from_bytes(take(4), "big")))
    data = take(boot["code_bytes"])
    compiled = boot["magic"] == _frozen_importlib_external.MAGIC_NUMBER.hex()  # by the same version of Python
    codes = marshal.loads(data) if compiled else [None] * len(boot["modules"])  # noqa: S302 - of the harness itself
    for (name, source), code in zip(boot["modules"], codes):  # noqa: B905 - the parameter is of Python 3.10
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
        exec(code or compile(source, "<viva " + leaf + ">", "exec"), module.__dict__)  # noqa: S102
    return boot["options"]  # type: ignore[no-any-return]


if __name__ == "__main__":
    _options = load()
    sys.modules["viva.sandbox.inside.keeper"].serve(_options)

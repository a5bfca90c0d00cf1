"""The process from which `tests/warm/boxes.py` forks: it has imported what servers in a sandbox import."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def main() -> None:
    """Import, and fork for each request. In the forked processes, run the boot script as Python's option -c does."""
    _, path, handle = sys.argv
    with open(path) as file:
        boot = compile(file.read(), "<string>", "exec")
    _import_all(boot)
    before = set(sys.modules)
    sys.path.insert(0, os.path.dirname(__file__))
    forks = import_module("forks")
    del sys.path[0]
    own = set(sys.modules) - before
    gc.collect()
    gc.freeze()
    forks.serve_forks(int(handle))
    for name in own:
        del sys.modules[name]
    sys.argv = ["-c"]
    script = ModuleType("__main__")
    sys.modules["__main__"] = script
    exec(boot, script.__dict__)


def _import_all(boot: Any) -> None:
    """Import what the modules of a server import, and forget these modules."""
    names: dict[str, Any] = {"__name__": "warm"}
    exec(boot, names)
    names["load"]()  # from stdin
    for name in sys.modules["viva.sandbox.inside.server"].PRELOADED.split():
        import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "viva"]:
        del sys.modules[name]


if __name__ == "__main__":
    main()

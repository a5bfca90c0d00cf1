"""Runs the benchmarks. Absolute figures hold for the machine they were measured on."""

from __future__ import annotations

import importlib
import platform
import sys

from bench.table import show

BENCHES = {
    "rounds": "time per round",
    "child_door": "an agent in a process of its own",
    "startup": "start-up and size",
    "sandbox": "checks in a sandbox",
    "suite": "many conversations at once, and peers on the same work",
}


def main(names: list[str]) -> None:
    """Run the benchmarks named, or all."""
    names = [name for name in names if not name.startswith("-")]
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    print(f"python {platform.python_version()} on {platform.machine()}")
    for name in names or BENCHES:
        show(BENCHES[name], importlib.import_module(f"bench.{name}").figures())


if __name__ == "__main__":
    main(sys.argv[1:])

"""Runs the benchmarks. Absolute figures hold for the machine they were measured on."""

from __future__ import annotations

import argparse
import importlib
import platform
from difflib import get_close_matches

from bench.table import show

BENCHES = {
    "rounds": "time per round",
    "child_door": "an agent in a process of its own",
    "startup": "start-up and size",
    "sandbox": "checks in a sandbox",
    "suite": "many conversations at once, and peers on the same work",
}


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmarks named, or all."""
    listed = "\n".join(f"  {name:<12} {what}" for name, what in BENCHES.items())
    parser = argparse.ArgumentParser(
        "python -m bench",
        description=__doc__,
        epilog=f"benchmarks:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which ones (default: all)")
    parser.add_argument("--write", action="store_true", help="with suite: write its figures and plot into docs/, too")
    said = parser.parse_args(arguments)
    names: list[str] = said.names
    for name in names:
        if name not in BENCHES:
            near = get_close_matches(name, BENCHES, 1)
            meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(BENCHES)}"
            parser.error(f"there is no benchmark {name!r}; {meant}")
    print(f"python {platform.python_version()} on {platform.machine()}")
    for name in names or BENCHES:
        show(BENCHES[name], importlib.import_module(f"bench.{name}").figures())


if __name__ == "__main__":
    main()

"""Runs the benchmarks. Absolute values are valid only for the machine they were measured on."""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
from collections.abc import Mapping
from difflib import get_close_matches

from bench import against
from bench.table import show

BENCHES = {
    "rounds": "time per round",
    "child_door": "an agent in its own process",
    "connectors": "each connector: a round, opening, closing",
    "collector": "observing a session, by event",
    "startup": "start-up and size",
    "floor": "the physical part of each figure, beside Viva",
    "sandbox": "checks in a sandbox",
    "worlds": "a run of its own, in a sandbox",
    "ray_engine": "suites on a Ray cluster of this machine",
    "trajectories": "recorded traces read and evaluated without a model",
    "corrected": "corrected scores: coverage and bias",
    "bisect": "planted faults found by forking, and how many forks that takes",
    "flips": "flipped verdicts found, and false alarms",
    "adaptive": "adaptive trials: wrong decisions, coverage, runs saved",
    "masks": "bounds over missing verdicts and runs",
    "conduct": "the examiner's conduct judged by code, for each round",
    "judge_cache": "share of a judge's input that a provider's cache can serve",
    "reports": "reports of 100,000 runs",
    "viewer": "the viewer on large journals",
    "families": "a family of 10,000 rows against 10,000 cases",
    "checks": "checks without code: usual and hostile replies",
    "suite": "many concurrent conversations, and other tools with the same work",
}

PASSES = 3
"""Passes of the comparison with the best states that follows all benchmarks."""


def main(arguments: list[str] | None = None) -> None:
    """Run the named benchmarks, or all."""
    listed = "\n".join(f"  {name:<12} {what}" for name, what in BENCHES.items())
    parser = argparse.ArgumentParser(
        "python -m bench",
        description=__doc__,
        epilog=f"benchmarks:\n{listed}\n\n`python -m bench against COMMIT` compares with an earlier state.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if arguments is None:
        arguments = sys.argv[1:]
    if arguments[:1] == ["against"]:
        against.main(arguments[1:])
        return
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run (default: all)")
    parser.add_argument(
        "--write", action="store_true", help="with suite or connectors: also write its figures into docs/"
    )
    names: list[str] = parser.parse_args(arguments).names
    for name in names:
        if name not in BENCHES:
            near = get_close_matches(name, BENCHES, 1)
            meant = f"did you mean {near[0]}?" if near else f"the benchmarks are {', '.join(BENCHES)}"
            parser.error(f"there is no benchmark {name!r}; {meant}")
    print(f"python {platform.python_version()} on {platform.machine()}")
    missed, over = [], {}
    known: dict[str, Mapping[str, float]] = {}
    for name in names or BENCHES:
        figures = importlib.import_module(f"bench.{name}").figures()
        show(BENCHES[name], figures)
        late = [figure.name.strip() for figure in figures if figure.kept is False and figure.absolute]
        missed += [figure.name.strip() for figure in figures if figure.kept is False and not figure.absolute]
        if late:
            over[name] = late
    if over:
        print("\nover an absolute budget; is it the machine, or this state?")
        missed += against.slower_than_best(over, PASSES, known)
    if missed:
        sys.exit(f"\nover budget: {'; '.join(missed)}")
    if not names:
        against.rest_against_best(known, PASSES)


if __name__ == "__main__":
    main()

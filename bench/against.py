"""Compares this state with an earlier commit: the same work in alternation, in one run, on one machine.

usage: python -m bench against [COMMIT] [--only WORD…] [--passes N] [--limit RATIO]

The commit gets a folder and an environment of its own under `.venv-bench/`, where its own scripts run. Machines
differ by a factor of two and are never quite idle, so what counts is the median ratio of neighbouring passes. Without
COMMIT, the comparison is with the best states so far, which `bench/best_state.txt` names. The exit code is 1 if a ratio
is above the limit.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import venv
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parent.parent
STATES = ROOT / ".venv-bench" / "commits"
BEST = Path(__file__).parent / "best_state.txt"
LIMIT = 1.1
PASSES = 5
MOST_TIMES = 4
"""How often the passes are measured at the most, if a ratio stays above the limit."""
_MORE_IS_BETTER = frozenset({"runs/s", "times", "%"})
"""Units of figures whose ratio is turned round, so that below 1 is always better."""
_FIGURES = """
import importlib, json, sys
figures = importlib.import_module("bench." + sys.argv[1]).figures()
own = [each for each in figures if not getattr(each, "reference", False)]
print(json.dumps({each.name.strip(): [each.value, each.unit] for each in own}))
"""
_RENAMED = {
    "a synchronous agent's thread hop, on top": "overhead of a synchronous agent's thread",
    "over 8 rooms at once": "in 8 concurrent sessions",
}
"""Parts of names of figures in earlier states, and what they are called now."""

Measured = Mapping[str, tuple[float, str]]
"""Value and unit by name."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A command that measures something, in the folder and environment of a state."""

    name: str
    arguments: tuple[str, ...]
    read: Callable[[dict[str, Any]], Measured]
    """Makes figures of the last line that the command prints, which is JSON."""


@dataclass(frozen=True, slots=True)
class State:
    """A commit, or the present files, with an environment."""

    name: str
    folder: Path
    python: Path

    def measure(self, measurement: Measurement) -> Measured | None:
        """Measure once; return None if this state cannot."""
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPATH"] = str(self.folder)
        command = [str(self.python), *measurement.arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=environment, check=False, capture_output=True, text=True, timeout=1800
        )
        if done.returncode != 0:
            words = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            print(f"  {self.name} cannot measure {measurement.name}: {words[0][:150]}", flush=True)
            return None
        return measurement.read(json.loads(done.stdout.strip().splitlines()[-1]))


def _many(name: str, key: str, unit: str, *arguments: object, times: float = 1.0) -> Measurement:
    """Return a measurement of concurrent conversations by `bench.many`."""
    command = ("-m", "bench.many", *map(str, arguments))
    return Measurement(name, command, lambda said: {name: (said[key] * times, unit)})


def _figures(module: str) -> Measurement:
    """Return a measurement of everything that a benchmark of this repository measures."""

    def read(said: dict[str, Any]) -> Measured:
        return {_present(name): (value, unit) for name, (value, unit) in said.items()}

    return Measurement(module, ("-c", _FIGURES, module), read)


def _present(name: str) -> str:
    for before, now in _RENAMED.items():
        name = name.replace(before, now)
    return name


MEASUREMENTS = (
    _many("a suite's round, scripted examiner, 10 rounds", "us_per_round", "us", 500, 10, 50),
    _many("a suite's round, scripted examiner, 50 rounds", "us_per_round", "us", 150, 50, 50),
    _many("a suite's run of one round", "ms_per_conv", "us", 2000, 1, 50, times=1000.0),
    _many("a suite's round, model examiner, 10 rounds", "us_per_round", "us", 200, 10, 50, "--model"),
    _many("a suite's round, model examiner, 50 rounds", "us_per_round", "us", 60, 50, 50, "--model"),
    _many("500 at once, 10 rounds of 200 ms", "wall_s", "s", 500, 10, 500, "--latency", 0.2),
    _many("500 at once, in their workspaces", "wall_s", "s", 500, 10, 500, "--latency", 0.2, "--workspace"),
    _many("10,000 conversations, memory", "peak_mb", "MB", 10000, 10, 50),
    Measurement(
        "judging 5,000 stored conversations again",
        ("-m", "bench.rejudge", "5000", "10"),
        lambda said: {
            "judging 5,000 stored conversations again": (said["wall_s"], "s"),
            "judging again: memory": (said["peak_mb"], "MB"),
        },
    ),
    _figures("startup"),
    _figures("rounds"),
    _figures("child_door"),
    _figures("sandbox"),
    _figures("worlds"),
    _figures("trajectories"),
    _figures("collector"),
)


def main(arguments: list[str] | None = None) -> None:
    """Compare, print a table of ratios, and exit with 1 if one is above the limit."""
    parser = argparse.ArgumentParser(
        "python -m bench against", description="Compare this state with an earlier commit."
    )
    parser.add_argument("commit", nargs="?", metavar="COMMIT", help="default: the commits in bench/best_state.txt")
    parser.add_argument("--only", nargs="+", default=(), metavar="WORD", help="measurements whose name has such a word")
    parser.add_argument("--passes", type=int, default=PASSES, help=f"passes in alternation (default: {PASSES})")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"maximum ratio (default: {LIMIT})")
    said = parser.parse_args(arguments)
    chosen = [each for each in MEASUREMENTS if not said.only or any(word in each.name for word in said.only)]
    if not chosen or said.passes < 1:
        parser.error(
            f"there is nothing to measure; the measurements are {', '.join(each.name for each in MEASUREMENTS)}"
        )
    ratios = {}
    for commit, some in _by_state(chosen, said.commit).items():
        ratios.update(against(commit, some, said.passes, said.limit))
    _require(ratios, said.limit)


def rest_against_best(known: Mapping[str, Mapping[str, float]], passes: int) -> None:
    """Compare all remaining measurements with the best states, and exit with 1 if a ratio is above the limit.

    Args:
        known: The ratios of the measurements that were compared before: by measurement, then by figure.
        passes: How often each state is measured.
    """
    ratios = {name: ratio for some in known.values() for name, ratio in some.items()}
    for commit, some in _by_state([each for each in MEASUREMENTS if each.name not in known], None).items():
        ratios.update(against(commit, some, passes))
    _require(ratios, LIMIT)


def _require(ratios: Mapping[str, float], limit: float) -> None:
    worse = [name for name, ratio in ratios.items() if ratio > limit]
    if worse:
        sys.exit(f"worse than {limit:g} times the earlier state: {'; '.join(worse)}")


def _by_state(measurements: Sequence[Measurement], commit: str | None) -> dict[str, list[Measurement]]:
    """Return the measurements by the commit with which each is compared."""
    found: dict[str, list[Measurement]] = {}
    for each in measurements:
        found.setdefault(commit or best_state(each.name), []).append(each)
    return found


def against(commit: str, measurements: Sequence[Measurement], passes: int, limit: float = LIMIT) -> dict[str, float]:
    """Measure today and a commit in alternation, print a line per figure, and return the ratios by name."""
    then, now = state_of(commit), State("today", ROOT, Path(sys.executable))
    print(
        f"today against {then.name}: medians of {passes} passes in alternation (up to {MOST_TIMES} times as many while "
        f"a ratio is above {limit:g}); a ratio below 1 is better",
        flush=True,
    )
    return dict(pair for each in measurements for pair in compare(each, now, then, passes, limit))


def slower_than_best(
    over: Mapping[str, Collection[str]], passes: int, known: dict[str, Mapping[str, float]]
) -> list[str]:
    """Compare figures that are over an absolute budget with the best state, and return those that are worse.

    An absolute budget is that of the machine on which it was set. On a slower machine the best state misses it as
    well, and only the comparison says whether this state is slow. A figure that cannot be compared counts as worse.

    Args:
        over: Names of figures, by the benchmark that printed them.
        passes: How often each state is measured.
        known: The ratios of the measurements that were compared before; those of this comparison are added.
    """
    worse = []
    for benchmark, names in over.items():
        ratios: dict[str, float] = {}
        for each in MEASUREMENTS:
            if each.name == benchmark or each.name in names:
                if each.name not in known:
                    known[each.name] = against(best_state(each.name), [each], passes)
                ratios.update(known[each.name])
        worse += [name for name in names if ratios.get(name, math.inf) > LIMIT]
    return worse


def compare(
    measurement: Measurement, now: State, then: State, passes: int, limit: float = LIMIT
) -> list[tuple[str, float]]:
    """Measure both states in alternation and print a line per figure; return the median ratio of each.

    As long as a ratio is above the limit, the same number of passes is measured again, up to `MOST_TIMES` times in all,
    and the median of all passes counts: of a hundred figures with a few passes each, some are above it by chance.
    """
    taken: dict[str, list[tuple[float, float]]] = {}
    units: dict[str, str] = {}
    for number in range(MOST_TIMES * passes):
        is_batch_complete = number and number % passes == 0
        if is_batch_complete and all(_middle(pairs, units[name]) <= limit for name, pairs in taken.items()):
            break
        pair = {}
        for state in (now, then) if number % 2 else (then, now):  # so that neither always comes first
            measured = state.measure(measurement)
            if measured is None:
                return []
            pair[state.name] = measured
        for name, (value, unit) in pair[now.name].items():
            if name in pair[then.name] and value and pair[then.name][name][0]:
                taken.setdefault(name, []).append((value, pair[then.name][name][0]))
                units[name] = unit
    return [(name, _line(name, pairs, units[name])) for name, pairs in taken.items()]


def _ratios(pairs: Sequence[tuple[float, float]], unit: str) -> list[float]:
    return sorted(then / now if unit in _MORE_IS_BETTER else now / then for now, then in pairs)


def _middle(pairs: Sequence[tuple[float, float]], unit: str) -> float:
    return median(_ratios(pairs, unit))


def _line(name: str, pairs: list[tuple[float, float]], unit: str) -> float:
    """Print the medians and ratios of one figure; return the median ratio."""
    ratios = _ratios(pairs, unit)
    middle, (now, then) = median(ratios), (median(column) for column in zip(*pairs, strict=True))
    print(
        f"  {name:<58} {now:>9.4g} {then:>9.4g} {unit:<6} {middle:6.2f}  ({ratios[0]:.2f} to {ratios[-1]:.2f})",
        flush=True,
    )
    return middle


def best_state(measurement: str = "") -> str:
    """Return the commit that `bench/best_state.txt` names for a measurement."""
    found = ""
    for line in BEST.read_text(encoding="utf-8").splitlines():
        commit, *names = line.partition("#")[0].split() or [""]
        if commit and (measurement in names or not (names or found)):
            found = commit
    if not found:
        sys.exit(f"{BEST} names no commit")
    return found


def state_of(commit: str) -> State:
    """Return the state of a commit, with its files and an environment beside this one's (created once)."""
    found = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    digest = found.stdout.strip()
    if not re.fullmatch(r"[0-9a-f]{40,64}", digest):
        sys.exit(f"there is no commit {commit!r} in {ROOT} (a shallow clone has few: git fetch --unshallow)")
    folder = STATES / digest[:12]
    python = folder / ".venv" / "bin" / "python"
    if not (folder / ".ready").exists():
        print(f"(installing {digest[:12]} into {folder.relative_to(ROOT)}, once)", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(["git", "archive", digest], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
        venv.create(folder / ".venv", with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*install, "-c", "constraints.txt", "-e", ".[trajectory]"], cwd=folder, check=True)
        (folder / ".ready").touch()
    return State(digest[:7], folder, python)

"""Measures the start-up time of `viva` and the size of its installation."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import sysconfig
import time
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from bench.table import Figure

REPEATS = 7


def figures() -> list[Figure]:
    """Measure start-up times and sizes."""
    viva = Path(sysconfig.get_path("scripts")) / "viva"
    count, size = installed("vivavoce")
    return [
        Figure("viva --version", _milliseconds([str(viva), "--version"]), "ms", 80),
        Figure("import viva", _milliseconds([sys.executable, "-c", "import viva"]), "ms", 80),
        Figure("python -c pass, for comparison", _milliseconds([sys.executable, "-c", "pass"]), "ms", reference=True),
        Figure("viva --help", _milliseconds([str(viva), "--help"]), "ms"),
        Figure("installed core, without byte code", size, "MB", 70),
        Figure("packages of the core", count, "", 43),
    ]


def _milliseconds(command: list[str]) -> float:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(REPEATS + 1):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=environment)
        times.append((time.perf_counter() - began) * 1e3)
    return statistics.median(times[1:])


def installed(root: str) -> tuple[int, float]:
    """Return the number and size in MB of a distribution and its requirements, without extras it does not name."""
    seen: set[tuple[str, str]] = set()
    names: set[str] = set()
    todo = [(root, "")]
    while todo:
        name, extra = todo.pop()
        if (name.lower(), extra) in seen:
            continue
        seen.add((name.lower(), extra))
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        names.add(distribution.metadata["Name"])
        for text in distribution.requires or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                todo.extend((requirement.name, wanted) for wanted in (requirement.extras or {""}))
                todo.append((requirement.name, ""))
    return len(names), sum(_size(name) for name in names) / 1e6


def _size(name: str) -> int:
    files = metadata.distribution(name).files or []
    total = 0
    for file in files:
        path = Path(str(file.locate()))
        if path.suffix != ".pyc" and path.is_file():
            total += path.stat().st_size
    return total

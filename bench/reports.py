"""Measures the reports of a journal with 100,000 runs, each in a process of its own.

usage: python -m bench.reports NAME JOURNAL

It prints one line of JSON with wall-clock and CPU seconds, peak memory, and the bytes that were written.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.memory import peak_mb
from bench.report_journals import write_pictures, write_rounds
from bench.table import Figure

RUNS = 100_000
SECONDS, MEGABYTES = 10.0, 100.0
ROUNDS, PICTURES = 100_000, 300
PAGE_SECONDS, LARGEST = 3.0, 2.0
LONG_MEGABYTES = 150.0
"""Maximum memory for one run of all these rounds, which is decoded as a whole."""
FORMATS = ("console", "html", "csv", "json", "junit", "markdown")
COMMANDS = ("compare", "history")


def measure(name: str, journal: Path) -> dict[str, float]:
    """Write one report as the command does, and return the time, the peak memory and the size of the output."""
    from viva.cli.group import viva

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report"
        if name in FORMATS:
            arguments = ["report", str(journal), "--format", name, "--out", str(out)]
        elif name == "compare":
            arguments = ["compare", str(journal), "--agents", "example:careful", "openai:gpt-4o-mini"]
        else:
            arguments = [name, str(journal)]
        printed = io.StringIO()
        began, used = time.perf_counter(), time.process_time()
        silent = contextlib.redirect_stderr(io.StringIO())
        # Commands end with SystemExit; one that fails writes nothing.
        with contextlib.redirect_stdout(printed), silent, contextlib.suppress(SystemExit):
            viva.main(arguments)
        wall, cpu = time.perf_counter() - began, time.process_time() - used
        size = out.stat().st_size if out.exists() else len(printed.getvalue())
        parts = [part.stat().st_size for part in out.with_name("report_files").glob("part-*")]
    assert size, f"{name} wrote nothing"
    return {
        "wall_s": round(wall, 3),
        "cpu_s": round(cpu, 3),
        "peak_mb": peak_mb(),
        "bytes": size + sum(parts),
        "largest": max(size, *parts, 0),
    }


def figures() -> list[Figure]:
    """Measure every format and command against the budget."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal"
        subprocess.run([sys.executable, "-m", "bench.report_journals", str(journal), str(RUNS)], check=True)
        # Read once, so that the first report does not also measure the disk.
        with open(journal / "journal.jsonl", "rb") as file:
            while file.read(1 << 20):
                pass
        for name in (*FORMATS, *COMMANDS):
            said = _measured(name, journal)
            note = f"{said['bytes'] / 1e6:.1f} MB written"
            found.append(Figure(f"{RUNS:,} runs: {name}", said["wall_s"], "s", SECONDS, note=note))
            found.append(Figure("  peak memory", said["peak_mb"], "MB", MEGABYTES))
            if name == "html":
                found.append(Figure("  largest file", said["largest"] / 1e6, "MB", LARGEST))
        found += _pages(Path(folder))
    return found


def _pages(folder: Path) -> list[Figure]:
    """Measure pages of long conversations, and of a session with screenshots that are scaled once."""
    write_rounds(folder / "rounds", ROUNDS // 50, 50)
    said = _measured("html", folder / "rounds")
    found = [
        Figure(f"{ROUNDS:,} rounds in {ROUNDS // 50:,} runs: html", said["cpu_s"], "s", PAGE_SECONDS, note="CPU"),
        Figure("  peak memory", said["peak_mb"], "MB", MEGABYTES),
        Figure("  largest file", said["largest"] / 1e6, "MB", LARGEST),
    ]
    write_rounds(folder / "long", 1, ROUNDS)
    said = _measured("html", folder / "long")
    found += [
        Figure(f"{ROUNDS:,} rounds in one run: html", said["cpu_s"], "s", PAGE_SECONDS, note="CPU"),
        Figure("  peak memory", said["peak_mb"], "MB", LONG_MEGABYTES),
        Figure("  largest file", said["largest"] / 1e6, "MB", LARGEST),
    ]
    write_pictures(folder / "pictures", PICTURES)
    first = _measured("html", folder / "pictures", XDG_CACHE_HOME=str(folder / "cache"))
    again = _measured("html", folder / "pictures", XDG_CACHE_HOME=str(folder / "cache"))
    note = f"CPU; {first['cpu_s']:.1f} s the first time"
    found.append(Figure(f"{PICTURES} screenshots of 1080p: html again", again["cpu_s"], "s", PAGE_SECONDS, note=note))
    found.append(Figure("  largest file", again["largest"] / 1e6, "MB", LARGEST))
    return found


def _measured(name: str, journal: Path, **variables: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.reports", name, str(journal)]
    environment = {**os.environ, "COLUMNS": "100", **variables}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed: without it, each process compiles all modules
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    loaded: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return loaded


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]))))

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
from bench.table import Figure

RUNS = 100_000
SECONDS, MEGABYTES = 10.0, 100.0
FORMATS = ("console", "html", "csv", "json", "junit", "markdown")
COMMANDS = ("compare", "history")


def measure(name: str, journal: Path) -> dict[str, float]:
    """Write one report as the command does, and return the time, the peak memory and the size of the output."""
    from viva.cli.main import viva

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
    assert size, f"{name} wrote nothing"
    return {"wall_s": round(wall, 3), "cpu_s": round(cpu, 3), "peak_mb": peak_mb(), "bytes": size}


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
    return found


def _measured(name: str, journal: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.reports", name, str(journal)]
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    loaded: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return loaded


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]))))

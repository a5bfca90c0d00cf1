"""Measures a suite of a family of 10,000 rows against 10,000 cases of shared files, and 10,000 files.

usage: python -m bench.families STEP CASES FOLDER

`STEP` is suite, resume or report. It prints a line of JSON: CPU seconds, peak memory bytes of the journal.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.memory import peak_mb
from bench.table import Figure

CASES = 10_000
PASSES = 3
"""The kinds are measured in alternation, as the speed of a machine changes within minutes."""
RATIO = 1.1
KINDS = ("family", "cases", "files")
OF_ONE_FILE = 2_000
"""Cases of one file: a case file has a maximum size."""
STEPS = ("suite", "resume", "report")
AGENT = """\
class Agent:
    async def get_reply_from_agent(self, message):
        return message + " It costs 40 euros."
"""
FAMILY = """\
cases:
  price:
    for_each: rows.csv
    script: ["What is a trip to {{ city }}?"]
    scoring_points:
      - check: {contains: "{{ price }} euros"}
      - check: {contains: "{{ city }}"}
"""
CASE = """\
script: ["What is a trip to City{number}?"]
scoring_points:
  - check: {{contains: "{price} euros"}}
  - check: {{contains: City{number}}}
"""


def write_cases(kind: str, number: int, folder: Path) -> Path:
    """Write the same exams in one of the forms, and return where they are."""
    place = folder / kind
    place.mkdir(parents=True)
    texts = [CASE.format(number=each, price=each % 50) for each in range(number)]
    if kind == "family":
        rows = "".join(f"{each},City{each},{each % 50}\n" for each in range(number))
        (place / "rows.csv").write_text(f"id,city,price\n{rows}")
        (place / "trips.yaml").write_text(FAMILY)
    elif kind == "cases":
        for first in range(0, number, OF_ONE_FILE):
            part = texts[first : first + OF_ONE_FILE]
            whole = "".join(f"  r{first + each}:\n{_indented(text)}" for each, text in enumerate(part))
            (place / f"trips{first}.yaml").write_text(f"cases:\n{whole}")
    else:
        for each, text in enumerate(texts):
            (place / f"r{each}").mkdir()
            (place / f"r{each}/case.yaml").write_text(text)
    return place


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def measure(step: str, cases: Path, folder: Path) -> dict[str, float]:
    """Do one step of a suite as the command does, and return CPU seconds, peak memory and the size of the journal."""
    from viva.cli.group import viva

    journal = folder / "journal"
    words = {
        "suite": ["suite", str(cases), "--agent", f"{folder}/agent.py:Agent", "--out", str(journal), "--quiet"],
        "resume": ["suite", "--resume", str(journal), "--quiet"],
        "report": ["report", str(journal), "--format", "json", "--out", str(folder / "report.json")],
    }[step]
    began = time.process_time()
    # The command ends with SystemExit.
    silent = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with silent[0], silent[1], contextlib.suppress(SystemExit):
        viva.main(words)
    taken = time.process_time() - began
    size = sum(file.stat().st_size for file in journal.rglob("*") if file.is_file())
    return {"cpu_s": round(taken, 3), "peak_mb": peak_mb(), "journal_mb": round(size / 1e6, 3)}


def figures() -> list[Figure]:
    """Measure each step of each kind in a process of its own, kind after kind, several times."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for _ in range(PASSES):
        with tempfile.TemporaryDirectory() as temporary:
            for kind in KINDS:
                folder = Path(temporary) / kind
                cases = write_cases(kind, CASES, folder)
                (folder / "agent.py").write_text(AGENT)
                for step in STEPS:
                    for what, value in _measured(step, cases, folder).items():
                        found.setdefault((step, what, kind), []).append(value)
    middle = {key: median(values) for key, values in found.items()}
    return [figure for step in STEPS for figure in _compared(step, middle)]


def _measured(step: str, cases: Path, folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.families", step, str(cases), str(folder)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    loaded: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return loaded


def _compared(step: str, middle: dict[tuple[str, str, str], float]) -> list[Figure]:
    found = []
    units = {"cpu_s": "s", "peak_mb": "MB"} | ({"journal_mb": "MB"} if step == STEPS[0] else {})
    names = {"cpu_s": "CPU", "peak_mb": "memory", "journal_mb": "journal"}
    for what, unit in units.items():
        values = {kind: middle[step, what, kind] for kind in KINDS}
        title = f"{step} of {CASES:,}: {names[what]}"
        found.append(Figure(f"{title} of a family", values["family"], unit))
        for kind in KINDS[1:]:
            note = f"{values[kind]:.4g} {unit}"
            found.append(Figure(f"  against {kind}", values["family"] / values[kind], "x", RATIO, note=note))
    return found


def main() -> None:
    """Measure one step once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("cases", type=Path)
    parser.add_argument("folder", type=Path)
    said = parser.parse_args()
    print(json.dumps(measure(said.step, said.cases, said.folder)))


if __name__ == "__main__":
    main()

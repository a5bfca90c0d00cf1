"""Measures many concurrent conversations: against Viva's budgets, and against other tools with the same work.

Each tool runs offline, in its own process and its own environment, which is created once under `.venv-bench/`.
`python -m bench suite` prints the figures; `--write` also updates `docs/benchmarks/suite.json` and the plot.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from bench.plot import bars
from bench.table import IDEAL, Figure

ENVIRONMENTS = Path(".venv-bench")
OUTPUT = Path("docs/benchmarks")
PEERS = {
    "deepeval": "deepeval_simulator.py",
    "openevals": "openevals_multiturn.py",
    "inspect-ai": "inspect_mock_model.py",
}
SAVES = {
    "viva": "every round, each verdict",
    "inspect-ai": "a log of samples",
    "deepeval": "nothing",
    "openevals": "nothing",
}
CONVERSATIONS, CONCURRENCY = 200, 50
ROUNDS = {10: 0.55, 50: 0.15}
"""Rounds of the conversations, and the budget of each: Viva's time divided by that of the fastest other tool."""
PASSES = 3
"""Each figure is the median of this many passes, alternating with those that it is compared with."""


def figures() -> list[Figure]:
    """Measure the budgets first, then the other tools."""
    found = [*_budgets(), *_peers()]
    if "--write" in sys.argv:
        _write(found)
    return found


def viva(*arguments: object) -> dict[str, Any]:
    """Measure Viva once, in a separate process."""
    return _json([sys.executable, "-m", "bench.many", *map(str, arguments)])


def _budgets() -> list[Figure]:
    found = []
    rates = {}
    for number in (200, 1000, 10000):
        measured = viva(number, 10, 50)
        rates[number] = measured["us_per_round"]
        found.append(Figure(f"{number:,} conversations of 10 rounds, at 50: per round", rates[number], "us"))
        if number == 10000:
            found.append(Figure("  peak memory", measured["peak_mb"], "MB", 60))
    found.append(Figure("  10,000 against 1,000: linear is 1", rates[10000] / rates[1000], "x", 1.25))
    for rounds, budget in ((50, 0.97), (10, 0.95)):
        share = median(viva(500, rounds, 500, "--latency", 0.2)["ideal"] for _ in range(PASSES))
        found.append(Figure(f"500 at once, {rounds} rounds of 200 ms", share, IDEAL, budget, True))
    share = median(viva(500, 10, 500, "--latency", 0.2, "--workspace")["ideal"] for _ in range(PASSES))
    found.append(Figure("500 at once, in their workspaces", share, IDEAL, 0.94, True))
    found.extend(_judging())
    return found


def _judging() -> list[Figure]:
    measured = _json([sys.executable, "-m", "bench.rejudge", "5000", "10"])
    return [
        Figure("judging 5,000 stored conversations again", measured["wall_s"], "s", 1.7),
        Figure("  peak memory", measured["peak_mb"], "MB", 60),
    ]


def _peers() -> list[Figure]:
    found = []
    for rounds, share in ROUNDS.items():
        taken: dict[str, list[float]] = {}
        versions = {}
        for _ in range(PASSES):
            ours = viva(CONVERSATIONS, rounds, CONCURRENCY, "--model")["us_per_round"]
            taken.setdefault("viva", []).append(ours)
            taken.setdefault("bare", []).append(_run(Path(sys.executable), "bare.py", rounds)["us_per_round"])
            for name, script in PEERS.items():
                measured = _run(_environment(name), script, rounds)
                taken.setdefault(name, []).append(measured["us_per_round"])
                versions[name] = measured["version"]
        middle = {name: median(values) for name, values in taken.items()}
        note = f"saves {SAVES['viva']}"
        found.append(Figure(f"{rounds} rounds: viva, model examiner", middle["viva"], "us", note=note))
        found.append(Figure(f"{rounds} rounds: a bare loop", middle["bare"], "us", note="the floor"))
        for name in PEERS:
            note = f"{middle[name] / middle['viva']:.1f} x viva; {versions[name]}; saves {SAVES[name]}"
            found.append(Figure(f"{rounds} rounds: {name}", middle[name], "us", note=note))
        best = min(middle[name] for name in PEERS)
        found.append(Figure(f"{rounds} rounds: viva against the fastest of them", middle["viva"] / best, "x", share))
    return found


def _run(python: Path, script: str, rounds: int) -> dict[str, Any]:
    file = Path(__file__).parent / "peers" / script
    measured = _json([str(python), str(file), str(CONVERSATIONS), str(rounds), str(CONCURRENCY)])
    measured["us_per_round"] = measured["wall_s"] / CONVERSATIONS / rounds * 1e6
    return measured


def _environment(name: str) -> Path:
    folder = ENVIRONMENTS / name
    python = folder / "bin" / "python"
    if not (folder / ".installed").exists():
        print(f"  (installing {name} into {folder}, once)", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", name], check=True, capture_output=True)
        (folder / ".installed").touch()
    return python


def _json(command: list[str]) -> dict[str, Any]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    loaded: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return loaded


def _write(found: list[Figure]) -> None:
    OUTPUT.mkdir(parents=True, exist_ok=True)
    (OUTPUT / "suite.json").write_text(json.dumps([asdict(figure) for figure in found], indent=1) + "\n")
    groups = {
        f"{rounds} rounds": [
            (figure.name.removeprefix(f"{rounds} rounds: "), figure.value)
            for figure in found
            if figure.name.startswith(f"{rounds} rounds: ") and figure.unit == "us"
        ]
        for rounds in ROUNDS
    }
    title = "Harness time per round in microseconds, partners that answer at once"
    (OUTPUT / "suite.svg").write_text(bars(title, groups))

"""How often `viva.bisect` finds a planted fault, and how many forks that takes.

Conversations of 64 rounds fail because of one round. A reference agent continues them from the agent's state; a
deterministic one succeeds before that round and fails after it, flaky ones do so with given probabilities. 50 faults
each are found by real forks of real conversations (seven forks a second of one processor, 25 seconds a block), and
1,000 by the search alone, with forks drawn at random: what 50 conversations cannot tell of flaky agents.

usage: python -m bench bisect
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import viva
from bench.table import Figure
from viva.statistics.bisection.search import ForkResult, ForkTrial, SearchRules, search

ROUNDS, FAULTS = 64, 50
SEARCHES = 1_000
FLAKY = ((0.9, 0.05), (0.8, 0.1), (0.7, 0.1))
"""The probabilities that a fork succeeds before the fault, and after it."""
SEED = 28


class Counter(viva.VirtualUser):
    """Knows its round and whether the fault has happened; says in the last round whether it succeeds."""

    fault = ROUNDS + 1
    good, bad = 1.0, 0.0
    chance = random.Random(SEED)

    def __init__(self, task_description: str, app_dir: str | None = None, config_var: Any = None) -> None:
        super().__init__(task_description, app_dir, config_var)
        self.round, self.lost, self.drawn = 0, False, self.chance.random()

    async def get_reply_from_agent(self, message: str) -> str:
        """Return the reply of the next round."""
        self.round += 1
        self.lost = self.lost or self.round == self.fault
        if self.round < ROUNDS:
            return f"step {self.round}: {'off' if self.lost else 'fine'}"
        return "success" if self.drawn < (self.bad if self.lost else self.good) else "failure"

    def save_state(self) -> dict[str, Any]:
        """Return what a fork continues from."""
        return {"round": self.round, "lost": self.lost}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from there."""
        self.round, self.lost = state["round"], state["lost"]


@dataclass(frozen=True, slots=True)
class Found:
    """The result of one bisection."""

    fault: int
    best: int
    decided: bool
    forks: int
    """Number of rounds that were forked after."""
    runs: int


def case(rounds: int = ROUNDS) -> viva.Case:
    """Return the case of these conversations."""
    script = [f"Do step {number}." for number in range(1, rounds + 1)]
    check = {"score_point": "It succeeds.", "eval_code": "assert rounds[-1]['agent'] == 'success'"}
    return viva.Case("planted", script=script, scoring_points=[check], max_rounds=rounds)


def bisected(folder: Path, fault: int, good: float = 1.0, bad: float = 0.0, seed: int = SEED) -> Found:
    """Record a conversation with a fault in one round, and have the round found.

    Args:
        folder: An empty folder.
        fault: The round.
        good: The probability that a fork before it succeeds.
        bad: The same after it.
        seed: Of the random numbers.
    """
    fails = type("Fails", (Counter,), {"fault": fault})
    reference = type("Reference", (Counter,), {"good": good, "bad": bad, "chance": random.Random(seed)})
    run = viva.examine(case(), fails, sandbox="process", out=folder / "run", max_rounds=ROUNDS)
    found = viva.bisect(run, reference, sandbox="process", out=folder / "forks", concurrency=1, max_rounds=ROUNDS)
    state = found.details.state
    return Found(fault, state.best, found.finding != "not_decided", len(state.tallies), state.runs)


def searched(fault: int, good: float, bad: float, chance: random.Random) -> Found:
    """Have the search find a fault from forks that are drawn at random.

    Args:
        fault: The round.
        good: The probability that a fork before it succeeds.
        bad: The same after it.
        chance: The random numbers.
    """
    results: dict[ForkTrial, ForkResult] = {}
    rules = SearchRules(ROUNDS)
    while (state := search(rules, results)).wanted:
        for trial in state.wanted:
            succeeded = chance.random() < (good if trial.kept < fault else bad)
            results[trial] = ForkResult(succeeded, trial.kept)
    return Found(fault, state.best, state.confidence >= rules.confidence, len(state.tallies), state.runs)


def faults(number: int = FAULTS, seed: int = SEED) -> list[int]:
    """Return the rounds of the planted faults."""
    return random.Random(seed).sample(range(1, ROUNDS + 1), number)


def summary(name: str, found: Sequence[Found]) -> list[Figure]:
    """Return the figures of these bisections."""
    right = sum(each.best == each.fault for each in found) / len(found)
    near = sum(abs(each.best - each.fault) <= 1 for each in found) / len(found)
    wrong = sum(each.decided and each.best != each.fault for each in found) / len(found)
    runs = sorted(each.runs for each in found)
    return [
        Figure(f"{name}: round right", right * 100, "%", budget=90, at_least=True),
        Figure(f"{name}: within 1", near * 100, "%", budget=98, at_least=True),
        Figure(f"{name}: decided, but wrong", wrong * 100, "%", budget=5),
        Figure(
            f"{name}: forks of 3 trials, most",
            max(runs) / 3,
            "",
            budget=7 if name.startswith("deterministic") else None,
        ),
        Figure(f"{name}: forks in all, median", float(runs[len(runs) // 2]), ""),
    ]


def figures() -> list[Figure]:
    """Measure."""
    measured: list[Figure] = []
    for name, good, bad in (("deterministic", 1.0, 0.0), *((f"flaky {g:g}/{b:g}", g, b) for g, b in FLAKY)):
        found = []
        for number, fault in enumerate(faults()):
            with tempfile.TemporaryDirectory() as folder:
                found.append(bisected(Path(folder), fault, good, bad, seed=SEED + number))
        measured += summary(name, found)
        chance = random.Random(SEED)
        drawn = [searched(chance.randint(1, ROUNDS), good, bad, chance) for _ in range(SEARCHES)]
        measured += summary(f"{name}, search alone", drawn)
    return measured

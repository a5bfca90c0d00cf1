"""How often flipped verdicts are found, and how often noise is taken for drift.

Two judgings of 1,000 verdicts differ by noise alone, or 5 % of the verdicts were flipped in addition: at random, hits
only, or those of a few cases.

usage: python -m bench flips
"""

from __future__ import annotations

import random

from bench.table import Figure
from viva.statistics.flips.drift import Drift, drift_between
from viva.statistics.flips.points import Judgings, KeptVerdict, PointKey, SameConversation

VERDICTS, REPEATS = 1_000, 250
FLIPPED = 0.05
NOISES = (0.0, 0.005, 0.01)
"""The shares of verdicts that differ between two judgings without drift."""
KINDS = ("at random", "of hits", "of a few cases")
POINTS_OF_RUN = 5


def judging(labels: list[bool]) -> Judgings:
    """Return a judging with these verdicts, in runs of five points."""
    made = Judgings([])
    for number, hit in enumerate(labels):
        run = f"run-{number // POINTS_OF_RUN}"
        made.conversations[run] = SameConversation(1, 1.0)
        key = PointKey(run, "scoring_points", "", str(number))
        made.points[key] = KeptVerdict(run, "hit" if hit else "miss", float(hit), by_model=True)
    return made


def compared(seed: int, noise: float, drift: str | None, verdicts: int = VERDICTS, share: float = FLIPPED) -> Drift:
    """Return what is found between two judgings.

    Args:
        seed: Of the random numbers.
        noise: The share of verdicts that flip by chance.
        drift: Which verdicts are flipped in addition, one of `KINDS`; None for none.
        verdicts: How many there are.
        share: How many of them are flipped in addition.
    """
    rng = random.Random(seed)
    hits = rng.uniform(0.3, 0.8)
    old = [rng.random() < hits for _ in range(verdicts)]
    new = [hit != (rng.random() < noise) for hit in old]
    if drift is not None:
        places = [place for place in range(verdicts) if drift != "of hits" or old[place]]
        number = min(len(places), round(share * verdicts))
        first = rng.randrange(verdicts)
        chosen = rng.sample(places, number) if drift != "of a few cases" else range(first, first + number)
        for place in chosen:
            new[place % verdicts] = not old[place % verdicts]
    return drift_between(judging(old), judging(new))


def found(noise: float, drift: str | None, repeats: int = REPEATS) -> float:
    """Return the share of repeats in which drift is reported."""
    return sum(compared(seed, noise, drift).drifted for seed in range(repeats)) / repeats


def same_judge(repeats: int = REPEATS, noise: float = 0.01) -> float:
    """Return the share of false alarms between two judgings that both have noise, each half of it."""
    alarms = 0
    for seed in range(repeats):
        rng = random.Random(seed)
        truth = [rng.random() < 0.7 for _ in range(VERDICTS)]
        sides = ([hit != (rng.random() < noise / 2) for hit in truth] for _ in range(2))
        alarms += drift_between(*map(judging, sides)).drifted
    return alarms / repeats


def figures() -> list[Figure]:
    """Return the figures of this benchmark."""
    made = [Figure("two judgings by one noisy judge: false alarms", same_judge(), "share", FLIPPED)]
    for noise in NOISES:
        name = f"noise {noise:.1%}"
        made.append(Figure(f"{name}: false alarms", found(noise, None), "share", FLIPPED))
        made += [
            Figure(f"{name}: 5 % flipped {kind}, found", found(noise, kind), "share", 0.8, at_least=True)
            for kind in KINDS
        ]
    return made

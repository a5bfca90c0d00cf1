"""Measures the time that code takes to judge an examiner, for each round of an exam.

usage: python -m bench conduct
"""

from __future__ import annotations

import time
from pathlib import Path

from bench.table import Figure
from viva.cases import Case, ScoringPoint
from viva.judge.exam.examination import examine_conduct
from viva.judge.exam.paper import paper_of_case
from viva.records.transcript import Round, StopReason, Transcript

ROUNDS, TIMES = 50, 20
MOST_MICROSECONDS = 1_000
LONG = "The total of what you asked for is complex, and needs a good many words to be told. " * 240
"""About 20,000 characters."""


def _case() -> Case:
    task = (
        "The task has 50 rounds, from round 1 to round 50. In each, ask the agent to add its number to the total sum."
    )
    points = tuple(ScoringPoint(f"p{n}", f"In round {n} the sum is {n * (n + 1) // 2}.", 1.0) for n in (10, 30, 50))
    return Case("sums", Path("case.yaml"), "0" * 64, task, points, max_rounds=50)


def _microseconds(said: str, reply: str) -> float:
    """Return the shortest time for one round, of several exams."""
    rounds = tuple(Round(n, f"Round {n}: add {n} to the sum.{said}", f"{reply}{n}") for n in range(1, ROUNDS + 1))
    transcript, paper = Transcript(rounds, stop=StopReason.FINISHED), paper_of_case(_case())
    taken = []
    for _ in range(TIMES):
        began = time.process_time()
        examine_conduct(transcript, paper)
        taken.append(time.process_time() - began)
    return min(taken) / ROUNDS * 1e6


def figures() -> list[Figure]:
    """Return the figures of this benchmark."""
    measured = {
        "short messages, short replies": _microseconds("", "The sum is "),
        "short messages, replies of 20,000 characters": _microseconds(" My ref is QX77812.", LONG),
        "messages and replies of 20,000 characters": _microseconds(LONG, LONG),
    }
    return [Figure(name, value, "us", MOST_MICROSECONDS) for name, value in measured.items()]

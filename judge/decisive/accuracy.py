"""Stores how often a judge found the decisive step of labelled runs: one line for each measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from viva.judge.measurements import add_measurement, read_measurements
from viva.records.text import counted

FILE = "decisive-accuracy.jsonl"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class DecisiveAccuracy:
    """How often one judge, a model with its prompts, named the agent and the step that people had labelled."""

    model: str
    prompts: Mapping[str, str]
    """The first 12 hex digits of the SHA-256 of each of its prompts, by name."""
    _: KW_ONLY
    runs: int
    """Labelled runs that it was asked about. A run without a usable answer counts as one in which it was wrong."""
    agents_right: int
    steps_right: int
    near: int
    """Runs in which the step is right or next to the right one."""
    unsure: int = 0
    unusable: int = 0
    agents_by_chance: float = 0.0
    """The share of the agents that choosing at random among those of each run finds."""
    steps_by_chance: float = 0.0
    v: int = FORMAT
    source: str = ""
    """The name of the file with the labels."""
    digest: str = ""
    """The first 12 hex digits of the SHA-256 of the labels."""
    at: str = ""
    """When, in UTC: `2026-11-22T23:30:00Z`."""


def store_beside(journal: Path) -> Path:
    """Return the file with the measurements that belong to a journal: it is beside the journal's folder."""
    return journal.resolve().parent / FILE


def add_accuracy(file: Path, accuracy: DecisiveAccuracy) -> None:
    """Append a measurement with one write.

    Raises:
        SetupError: it cannot be written.
    """
    add_measurement(file, accuracy, "the accuracy")


def newest_accuracy(file: Path, model: str, prompts: Mapping[str, str]) -> DecisiveAccuracy | None:
    """Return the newest measurement of a judge with these prompts; None if it was never measured."""
    stored = reversed(read_measurements(file, DecisiveAccuracy, FORMAT))
    return next((each for each in stored if each.model == model and dict(each.prompts) == dict(prompts)), None)


def accuracy_words(known: DecisiveAccuracy | None) -> str:
    """Return how often a judge is right, in words."""
    if known is None or known.runs < 1:
        return "how often this judge is right is not known (viva calibrate --decisive)"
    steps, agents = _share(known.steps_right, known.runs), _share(known.agents_right, known.runs)
    return (
        f"of {counted(known.runs, 'labelled run')}, this judge found the step in {steps} (at random "
        f"{known.steps_by_chance:.0%}) and the agent in {agents} (at random {known.agents_by_chance:.0%})"
    )


def _share(right: int, runs: int) -> str:
    return f"{right / runs:.0%}"

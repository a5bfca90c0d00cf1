"""Stores how well a judge agreed with labels: `calibrations.jsonl` beside the journals, one calibration per line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

from viva.judge.measurements import add_measurement, read_measurements

FILE = "calibrations.jsonl"
FORMAT = 1
BUILTIN = "builtin"
"""The name of the labelled set that comes with Viva."""
JUDGE_PROMPTS = ("judge", "scoring_point")
"""Names of the prompts with which a model judges scoring points, as settings of runs have them."""


@dataclass(frozen=True, slots=True)
class LabelShares:
    """How right a judge is about one label; None where there is nothing to divide by."""

    precision: float | None
    recall: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """How well one judge, a model with its prompts, agreed with labels."""

    model: str
    prompts: Mapping[str, str]
    """The first 12 hex digits of the SHA-256 of each of its prompts, by name."""
    _: KW_ONLY
    items: int
    """Labelled scoring points that it judged."""
    cases: int
    """The cases of these; intervals go by them."""
    v: int = FORMAT
    votes: int = 1
    """Maximum number of votes of each model on a point."""
    hard: int = 0
    """Points of these that people labelled because they seemed hard to judge (`viva label --sample`)."""
    left_out: int = 0
    """Labelled scoring points that it could not judge; they are in none of the figures."""
    source: str = ""
    """The names of the label files, or of the set."""
    journals: str = ""
    """The journals that people labelled, such as `runs/v3`; empty for a set."""
    digest: str = ""
    """The first 12 hex digits of the SHA-256 of the labels."""
    people: int = 0
    """How many people labelled; 0 if the labels are true by construction."""
    confusion: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Items by true label, then by the judge's."""
    accuracy: float | None = None
    accuracy_interval: tuple[float, float] | None = None
    kappa: float | None = None
    kappa_interval: tuple[float, float] | None = None
    alpha: float | None = None
    """Krippendorff's, among the people; None with fewer than two, or without the packages that it requires."""
    alpha_interval: tuple[float, float] | None = None
    labels: Mapping[str, LabelShares] = field(default_factory=dict)
    at: str = ""
    """When, in UTC: `2026-11-22T23:30:00Z`."""

    def is_of(self, model: str, prompts: Mapping[str, str], votes: int = 1) -> bool:
        """Return whether this is a calibration of a judge: of its model, its prompts for scoring points, and its votes.

        The figures of one vote say nothing about those of several.
        """
        return self.model == model and self.votes == votes and dict(self.prompts) == judge_prompts(prompts)


def judge_prompts(prompts: Mapping[str, str]) -> dict[str, str]:
    """Return the prompts of the judge of scoring points among all of a setting: another one is another judge."""
    return {name: prompts[name] for name in JUDGE_PROMPTS if name in prompts}


def store_of(journal: Path) -> Path:
    """Return the file with the calibrations that belong to a journal: it is beside the journal's folder."""
    return journal.resolve().parent / FILE


def names_of(journals: Iterable[Path]) -> str:
    """Return journals as calibrations name what was labelled: each by its folder and the folder that holds it."""
    return ", ".join(dict.fromkeys("/".join(journal.resolve().parts[-2:]).lstrip("/") for journal in journals))


def read_calibrations(file: Path) -> list[Calibration]:
    """Return the calibrations in a file in their order; none if there is no file.

    Lines that are torn or of another version are passed over: a report does not fail because of them.
    """
    return read_measurements(file, Calibration, FORMAT)


def add_calibration(file: Path, calibration: Calibration) -> None:
    """Append a calibration with one write.

    Raises:
        SetupError: it cannot be written.
    """
    add_measurement(file, calibration, "the calibration")


def newest_of(
    calibrations: Iterable[Calibration], model: str, prompts: Mapping[str, str], votes: int = 1
) -> Calibration | None:
    """Return the newest calibration of a judge, or None if it is not calibrated.

    One by people who labelled conversations of the user's comes before one on a set that is true by construction.
    """
    found = [each for each in reversed([*calibrations]) if each.is_of(model, prompts, votes)]
    return next((each for each in found if each.people), found[0] if found else None)

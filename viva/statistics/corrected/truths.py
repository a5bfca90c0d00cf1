"""What people say about the points of a journal's runs: one truth for each point, from the labels of all raters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from viva.judge.calibration.label_files import HumanLabel
from viva.records.verdict import Label


@dataclass(frozen=True, slots=True)
class Truths:
    """The truth of each labelled point by run."""

    points: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    """Run to criterion to whether it is a hit."""
    oldest: Mapping[str, float] = field(default_factory=dict)
    """Run to when its first label was given, in seconds since the epoch; without the runs of which nobody knows."""
    undecided: int = 0
    """Points of which most raters are unsure, or as many say hit as miss."""


def truths_of(labels: Iterable[HumanLabel]) -> Truths:
    """Return what most raters of each point say.

    Args:
        labels: Those that apply, as `read_labels` returns them.
    """
    votes: dict[tuple[str, str], Counter[str]] = {}
    oldest: dict[str, float] = {}
    for label in labels:
        if label.label is None:
            continue
        votes.setdefault((label.run, label.criterion), Counter())[label.label] += 1
        if (at := _seconds(label.at)) is not None:
            oldest[label.run] = min(at, oldest.get(label.run, at))
    points: dict[str, dict[str, bool]] = {}
    undecided = 0
    for (run, criterion), given in votes.items():
        hits, misses = given[Label.HIT], given[Label.MISS]
        if hits == misses or max(hits, misses) < given[Label.UNSURE]:
            undecided += 1
        else:
            points.setdefault(run, {})[criterion] = hits > misses
    return Truths(points, oldest, undecided)


def _seconds(at: str) -> float | None:
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()

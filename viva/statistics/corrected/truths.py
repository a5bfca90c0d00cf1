"""What people say about the points of a journal's runs: one truth for each point, from the labels of all raters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from viva.journal.reader import StoredRun
from viva.judge.calibration.label_files import RANDOM, HumanLabel
from viva.records.verdict import Label
from viva.records.wording import counted
from viva.statistics.calibration.joining import LabelJoin


@dataclass(frozen=True, slots=True)
class Truths:
    """The truth of each labelled point by run."""

    points: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    """Run to criterion to whether it is a hit. Points that were not chosen at random are not in it: the judge errs more
    often about hard ones, and a correction would take its errors for those about all."""
    undecided: int = 0
    """Points of which most raters are unsure, or as many say hit as miss."""
    set_aside: int = 0
    """Points that were not chosen at random."""
    unknown: int = 0
    """Points in `points` of which no label says how they were chosen."""
    given: int = 0
    """Labels in the files."""
    further: tuple[str, ...] = ()
    """What else is to be said about the labels, in words."""

    def notes(self) -> list[str]:
        """Return in words which labels are not used, and what is assumed of those that are."""
        found = [*self.further]
        if self.undecided:
            found.append(f"{counted(self.undecided, 'point')} of which the raters are unsure or divided: not used")
        if self.set_aside:
            at_random = sum(map(len, self.points.values())) - self.unknown
            verb = "was" if self.set_aside == 1 else "were"
            found.append(
                f"{counted(self.set_aside, 'labelled point')} {verb} not chosen at random (viva label --sample, or one "
                f"run): not used, because hard points do not stand for all; {at_random} chosen at random"
            )
        if self.unknown:
            words = f"the labels of {counted(self.unknown, 'point')} do not say how it was chosen"
            if self.unknown > 1:
                words = words.replace("how it was", "how they were")
            found.append(f"{words}: taken as chosen at random")
        return found

    def refusal(self, labelled: int, fewest: int) -> str:
        """Return in words why the labels of so many cases are too few to correct a score; empty if they are enough."""
        if labelled >= fewest:
            return ""
        if not self.given:
            return "the label file holds no labels"
        at_random = " chosen at random" if self.set_aside else ""
        words = f"labels of {counted(labelled, 'case')}{at_random}; a corrected score requires {fewest}"
        return f"{words} (viva label without --sample)" if self.set_aside else words


def truths_about(labels: Sequence[HumanLabel], runs: Callable[[frozenset[str]], Iterable[StoredRun]]) -> Truths:
    """Return what most raters say about each point of the runs of journals; labels of other conversations are left out.

    Args:
        labels: Those that apply, as `read_labels` returns them.
        runs: Reads the runs with these ids.
    """
    join = LabelJoin(labels)
    found = [label for stored in runs(join.runs) for label in join.labels_of(stored)]
    return truths_of(found, len(labels), join.notes())


def truths_of(labels: Iterable[HumanLabel], given: int | None = None, further: Iterable[str] = ()) -> Truths:
    """Return what most raters of each point say.

    Args:
        labels: Those about the conversations of one journal, as `LabelJoin` gives them.
        given: How many labels the files hold; None if all are among these.
        further: What else is to be said about the labels.
    """
    votes: dict[tuple[str, str], Counter[str]] = {}
    ways: dict[tuple[str, str], set[str]] = {}
    count = 0
    for label in labels:
        count += 1
        if label.label is not None:
            key = label.run, label.criterion
            votes.setdefault(key, Counter())[label.label] += 1
            ways.setdefault(key, set()).add(label.chosen)
    points: dict[str, dict[str, bool]] = {}
    undecided = set_aside = unknown = 0
    for key, said in votes.items():
        hits, misses = said[Label.HIT], said[Label.MISS]
        if not ways[key] & {RANDOM, ""}:
            set_aside += 1
        elif hits == misses or max(hits, misses) < said[Label.UNSURE]:
            undecided += 1
        else:
            unknown += RANDOM not in ways[key]
            points.setdefault(key[0], {})[key[1]] = hits > misses
    return Truths(points, undecided, set_aside, unknown, count if given is None else given, tuple(further))

"""What people say about the points of a journal's runs: one truth for each point, from the labels of all raters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from viva.cases import Case
from viva.journal.reader import StoredRun
from viva.judge.calibration.label_files import RANDOM, HumanLabel
from viva.records.verdict import Label
from viva.records.wording import counted
from viva.statistics.calibration.joining import LabelJoin
from viva.statistics.calibration.majority import majority
from viva.statistics.calibration.points import case_of
from viva.statistics.corrected.requirements import under_requirements


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
    unfounded: int = 0
    """Points that require a point without a label."""
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
        if self.unfounded:
            words = "requires a point" if self.unfounded == 1 else "require points"
            found.append(f"{counted(self.unfounded, 'labelled point')} that {words} without a label: not used")
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
        if not labelled and self.further:
            words += f" ({self.further[0]})"
        return f"{words} (viva label without --sample)" if self.set_aside else words


def truths_about(labels: Sequence[HumanLabel], runs: Callable[[frozenset[str]], Iterable[StoredRun]]) -> Truths:
    """Return what most raters say about each point of the runs of journals; labels of other conversations are left out.

    Args:
        labels: Those that apply, as `read_labels` returns them.
        runs: Reads the runs with these ids.
    """
    join = LabelJoin(labels)
    found: list[HumanLabel] = []
    cases: dict[str, Case] = {}
    for stored in runs(join.runs):
        about = join.labels_of(stored)
        found += about
        case = case_of(stored) if about else None
        if case is not None and any(point.require for point in case.scoring_points):
            cases[stored.id] = case
    return truths_of(found, len(labels), join.notes(), cases)


def truths_of(
    labels: Iterable[HumanLabel],
    given: int | None = None,
    further: Iterable[str] = (),
    cases: Mapping[str, Case] | None = None,
) -> Truths:
    """Return what most raters of each point say.

    Args:
        labels: Those about the conversations of one journal, as `LabelJoin` gives them.
        given: How many labels the files hold; None if all are among these.
        further: What else is to be said about the labels.
        cases: The cases whose points require others, by run.
    """
    given_labels: dict[str, dict[str, list[str]]] = {}
    ways: dict[tuple[str, str], set[str]] = {}
    count = 0
    for label in labels:
        count += 1
        if label.label is not None:
            given_labels.setdefault(label.run, {}).setdefault(label.criterion, []).append(label.label)
            ways.setdefault((label.run, label.criterion), set()).add(label.chosen)
    points: dict[str, dict[str, bool]] = {}
    undecided = set_aside = unfounded = unknown = 0
    for run, by_point in given_labels.items():
        said = {criterion: _is_hit(each) for criterion, each in by_point.items()}
        case = (cases or {}).get(run)
        truths = said if case is None else under_requirements(case, said)
        for criterion in said:
            way = ways[run, criterion]
            if not way & {RANDOM, ""}:
                set_aside += 1
            elif criterion not in truths:
                unfounded += 1
            elif (truth := truths[criterion]) is None:
                undecided += 1
            else:
                unknown += RANDOM not in way
                points.setdefault(run, {})[criterion] = truth
    return Truths(
        points,
        undecided=undecided,
        set_aside=set_aside,
        unfounded=unfounded,
        unknown=unknown,
        given=count if given is None else given,
        further=tuple(further),
    )


def _is_hit(labels: Sequence[str]) -> bool | None:
    found = majority(labels)
    return None if found is None else found == Label.HIT

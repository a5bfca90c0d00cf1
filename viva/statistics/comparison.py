"""Compares two suites, or two agents of one, case by case: differences with intervals, and an exact test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from viva.records.wording import counted
from viva.statistics.cells import Cell
from viva.statistics.clustered import paired_interval
from viva.statistics.comparison_inputs import Runs
from viva.statistics.flips.by_trial import PointFlips, flips_of_case
from viva.statistics.groups import Group, group_of
from viva.statistics.intervals import Interval, detectable_difference, mcnemar

LABELS = "A", "B"
"""The names of the two sides."""


@dataclass(frozen=True, slots=True)
class PairedSide:
    """Holds one of the two that are compared, over the cases that both have."""

    label: str
    """`A` or `B`."""
    journal: str
    agent: str
    score: float
    """Mean over cases of the mean score of their trials."""
    rate: float
    """Mean over cases of the share of their trials that pass."""
    group: Group
    """Usage, cost, seconds and the rest; over the common cases."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Holds B minus A, averaged over cases."""

    value: float
    interval: Interval
    """95 %, bootstrap over cases."""
    detectable: float
    """The smallest true difference that so many cases, varying as these do, would show in 4 of 5 attempts."""

    @property
    def clear(self) -> bool:
        """Return whether the interval excludes 0."""
        return self.interval.low > 0 or self.interval.high < 0


@dataclass(frozen=True, slots=True)
class CasePair:
    """Holds one case on both sides, over the runs that count."""

    case: str
    first_score: float
    second_score: float
    first_passes: int
    first_runs: int
    second_passes: int
    second_runs: int
    changed_paper: bool = False
    """Whether the case file or its data changed in between."""

    @property
    def first_passed(self) -> bool:
        """Return whether A passes the case, that is, more than half of its trials."""
        return 2 * self.first_passes > self.first_runs

    @property
    def second_passed(self) -> bool:
        """Return whether B passes it."""
        return 2 * self.second_passes > self.second_runs

    @property
    def turned(self) -> str:
        """Return "better", "worse", or "" if both pass or both fail."""
        if self.first_passed == self.second_passed:
            return ""
        return "better" if self.second_passed else "worse"

    @property
    def score_difference(self) -> float:
        """Return the score of B minus that of A."""
        return self.second_score - self.first_score

    @property
    def rate_difference(self) -> float:
        """Return the pass rate of B minus that of A."""
        return self.second_passes / self.second_runs - self.first_passes / self.first_runs


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """Holds two sides, paired by case."""

    threshold: float
    """A run passes when its low bound reaches this."""
    first: PairedSide
    second: PairedSide
    score: Difference
    rate: Difference
    cases: tuple[CasePair, ...]
    """The cases, in natural order of their names."""
    p_value: float
    """McNemar's exact test on the cases that turned, two-sided."""
    trials_paired: int
    """Trials of the same case and number that count on both sides."""
    trials_better: int
    """Number of these trials that failed in A and passed in B."""
    trials_worse: int
    only_first: tuple[str, ...] = ()
    """Cases that only A has runs of."""
    only_second: tuple[str, ...] = ()
    not_counted: tuple[str, ...] = ()
    """Cases that both have, but without a run that counts on one side: they are not compared."""
    notes: tuple[str, ...] = ()
    """How the runs of a side were chosen, and what differed besides the agents: judges, examiners, cases."""
    flips: tuple[PointFlips, ...] = ()
    """The points whose verdicts changed, in the trials that both sides have; cases in natural order."""
    evaluator: str | None = None
    """The evaluator whose scores are compared; None for each run's primary evaluator."""
    own_thresholds: int = 0
    """Runs that count and pass by the threshold of their case, not by `threshold`."""

    @property
    def better(self) -> tuple[CasePair, ...]:
        """List the cases that failed in A and pass in B."""
        return tuple(pair for pair in self.cases if pair.turned == "better")

    @property
    def worse(self) -> tuple[CasePair, ...]:
        """List the cases that passed in A and fail in B."""
        return tuple(pair for pair in self.cases if pair.turned == "worse")


def compare(
    first: Runs, second: Runs, agents: tuple[str, str], threshold: float = 1.0, labels: tuple[str, str] = LABELS
) -> PairedComparison | None:
    """Compare two agents over the cases that both were examined with.

    A case passes when more than half of its trials do: trials of one case are not independent, so they are collapsed
    before McNemar's test, by a rule that does not favour the side with fewer of them.

    Returns:
        None if no case has a run that counts on both sides.
    """
    cells = first.of(agents[0]), second.of(agents[1])
    shared = [case for case in cells[0] if case in cells[1]]
    counted = [case for case in shared if cells[0][case].scores and cells[1][case].scores]
    if not counted:
        return None
    ours = [cells[0][case] for case in counted]
    theirs = [cells[1][case] for case in counted]
    pairs = tuple(
        _pair(a, b, threshold, changed=_changed(first, second, a, b)) for a, b in zip(ours, theirs, strict=True)
    )
    trials = [turn for a, b in zip(ours, theirs, strict=True) for turn in _trials(a, b, threshold)]
    better = sum(pair.turned == "better" for pair in pairs)
    worse = sum(pair.turned == "worse" for pair in pairs)
    return PairedComparison(
        threshold,
        _side(labels[0], first, agents[0], ours, threshold),
        _side(labels[1], second, agents[1], theirs, threshold),
        _difference([pair.score_difference for pair in pairs]),
        _difference([pair.rate_difference for pair in pairs]),
        pairs,
        mcnemar(better, worse),
        len(trials),
        sum(turn > 0 for turn in trials),
        sum(turn < 0 for turn in trials),
        tuple(case for case in cells[0] if case not in cells[1]),
        tuple(case for case in cells[1] if case not in cells[0]),
        tuple(case for case in shared if case not in counted),
        (*part_notes(first, second, labels), *_notes(first, second, agents, pairs)),
        _flips(first, second, agents, shared),
        first.evaluator,
        sum(len(cell.thresholds) for cell in (*ours, *theirs)),
    )


def _side(label: str, runs: Runs, agent: str, cells: Sequence[Cell], threshold: float) -> PairedSide:
    return PairedSide(
        label,
        str(runs.journal),
        agent,
        fmean(fmean(cell.scores) for cell in cells),
        fmean(cell.passed(threshold) / len(cell.scores) for cell in cells),
        group_of("agent", agent, cells, threshold),
    )


def _pair(a: Cell, b: Cell, threshold: float, *, changed: bool) -> CasePair:
    passed = a.passed(threshold), b.passed(threshold)
    scores = fmean(a.scores), fmean(b.scores)
    return CasePair(a.case, *scores, passed[0], len(a.scores), passed[1], len(b.scores), changed)


def _difference(differences: Sequence[float]) -> Difference:
    # Differences of thirds that cancel out must not look like varying ones.
    rounded = [round(difference, 12) for difference in differences]
    return Difference(fmean(rounded), paired_interval(rounded), detectable_difference(rounded))


def _trials(a: Cell, b: Cell, threshold: float) -> list[int]:
    """For each trial number that counts on both sides: 1 improved, -1 worse, 0 neither."""
    before = dict(zip(a.trials, a.passing(threshold), strict=True))
    after = dict(zip(b.trials, b.passing(threshold), strict=True))
    return [after[trial] - passed for trial, passed in before.items() if trial in after]


def _changed(first: Runs, second: Runs, a: Cell, b: Cell) -> bool:
    return first.case_hashes[a.case, a.agent] != second.case_hashes[b.case, b.agent]


def _flips(first: Runs, second: Runs, agents: tuple[str, str], cases: Sequence[str]) -> tuple[PointFlips, ...]:
    found: list[PointFlips] = []
    for case in cases:
        before, after = first.labels.get((case, agents[0]), {}), second.labels.get((case, agents[1]), {})
        statements = {**first.statements.get(case, {}), **second.statements.get(case, {})}
        found += flips_of_case(case, before, after, statements)
    return tuple(found)


def part_notes(first: Runs, second: Runs, labels: tuple[str, str] = LABELS) -> Iterator[str]:
    """Yield how the runs of each side were chosen, if they were: the choice may be all that the difference shows."""
    if first is second:
        yield from first.parts
        return
    for label, runs in zip(labels, (first, second), strict=True):
        yield from (f"{label}: {words}" for words in runs.parts)


def _notes(first: Runs, second: Runs, agents: tuple[str, str], pairs: Sequence[CasePair]) -> tuple[str, ...]:
    notes = []
    before, after = first.settings[agents[0]], second.settings[agents[1]]
    for name in before:
        # A prompt that only one side has follows from another judge, which has its own note.
        if name in after and before[name] != after[name]:
            values = (", ".join(sorted(value or "none" for value in each[name])) for each in (before, after))
            notes.append(f"the {name} differs: {' against '.join(values)}")
    changed = [pair.case for pair in pairs if pair.changed_paper]
    if changed:
        shown = ", ".join(changed[:5]) + (" and others" if len(changed) > 5 else "")
        notes.append(f"{counted(len(changed), 'case')} changed in between: {shown}")
    return tuple(notes)

"""Compares two judgings of the same conversations, verdict by verdict: has the judge drifted, or is this noise?

A model that judges the same conversation twice does not always say the same. So a flip is no drift; more flips than
noise explains are. Two exact tests find them, each at half of the level (Bonferroni), so that both together raise a
false alarm in at most 5 % of comparisons:

- of the **number** of flips: binomial, against `TOLERATED` flips for each verdict; where the votes of one model on the
  same question are known, also against their rate (Fisher), and the larger p-value counts;
- of their **direction**, which finds a judge that has become stricter or more lenient: McNemar's, but with more than
  one null hypothesis. Between two judgings by the same noisy judge, as many hits become misses as misses become hits.
  If noise befalls every verdict alike, hits become misses as often as there are hits. A direction between the two
  proves nothing.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from statistics import fmean

from viva.records.verdict import Label
from viva.statistics.flips.exact_tests import binomial_tail, direction_test, fisher_tail
from viva.statistics.flips.points import Judgings, KeptVerdict, PointKey, differences

TOLERATED = 0.01
"""The share of verdicts that may flip by chance where nothing is known of the judge's noise."""
LEVEL = 0.05
"""The most that false alarms may be of all comparisons without drift."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """Holds one point whose verdict changed."""

    run: str
    case: str
    evaluator: str
    subject: str = ""
    """The id of a round or a step; empty for the run itself."""
    criterion: str
    statement: str = ""
    """What the point says."""
    before: str
    after: str
    direction: int = 0
    """1 for a better verdict, -1 for a worse one, 0 if neither is known."""
    by_model: bool = True
    """False if code judged it both times."""
    by_rule: bool = False
    """Whether it followed from a rule on either side, without anybody being asked; then it is not tested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Holds what changed between two judgings of the same runs."""

    runs: int
    """Runs that are compared."""
    others: int = 0
    """Runs with the same id whose conversations are not the same: they are not compared."""
    points: int
    """Points with a verdict on both sides."""
    tested: int
    """Those that a model judged on either side, which the tests are about; if there is none, those that code judged.
    A point that a rule decided on either side is in neither."""
    ruled: int = 0
    """Points that a rule decided on either side."""
    flips: tuple[Flip, ...] = ()
    """All flips, in the order of the runs."""
    lost: int = 0
    """Points of the same runs that had a verdict before and have none now: each of them may have flipped."""
    gained: int = 0
    """Points that had none before and have one now."""
    better: int = 0
    """Of the tested flips: to a better verdict."""
    worse: int = 0
    flipped: int = 0
    """Flips among the tested points."""
    repeats: int = 0
    """Points on which one model voted twice, on either side."""
    repeats_flipped: int = 0
    """Of these: with two different votes."""
    noise_p: float = 1.0
    """Of the number of flips."""
    direction_p: float = 1.0
    """Of their direction; 1 where it cannot be tested."""
    all_before: str = ""
    """`hit` or `miss` if all tested verdicts were that before: flips had one direction only, which proves nothing."""
    notes: tuple[str, ...] = ()
    """What differs in how the two sides were judged."""

    @property
    def drifted(self) -> bool:
        """Return whether more verdicts flipped than noise explains, or more in one direction."""
        return min(self.noise_p, self.direction_p) <= LEVEL / 2


def drift_between(before: Judgings, after: Judgings) -> Drift:
    """Compare two judgings of the same runs; runs of one side only are left out.

    Args:
        before: The earlier judging.
        after: The later one.
    """
    runs = before.conversations.keys() & after.conversations.keys()
    same = {run for run in runs if before.conversations[run] == after.conversations[run]}
    old, new = _judged(before, same), _judged(after, same)
    both = [key for key in new if key in old]
    # What a rule makes of another verdict is no judgement of its own: it would count that verdict's flip once more.
    asked = [key for key in both if not (old[key].by_rule or new[key].by_rule)]
    tested = [key for key in asked if old[key].by_model or new[key].by_model] or asked
    flipped = {key: _flip(key, old[key], new[key]) for key in both if old[key].label != new[key].label}
    counted = [flipped[key] for key in tested if key in flipped]
    better, worse = (sum(flip.direction == way for flip in counted) for way in (1, -1))
    votes = [point.repeated for side in (old, new) for point in side.values() if point.repeated is not None]
    different = sum(first != second for first, second in votes)
    mean = fmean(map(_goodness, map(old.__getitem__, tested))) if tested else 0.5
    noise_p = binomial_tail(len(counted), len(tested), TOLERATED)
    if votes:
        noise_p = max(noise_p, fisher_tail(len(counted), len(tested), different, len(votes)))
    return Drift(
        runs=len(same),
        others=len(runs) - len(same),
        points=len(both),
        tested=len(tested),
        ruled=len(both) - len(asked),
        flips=tuple(flipped.values()),
        lost=len(old) - len(both),
        gained=len(new) - len(both),
        better=better,
        worse=worse,
        flipped=len(counted),
        repeats=len(votes),
        repeats_flipped=different,
        noise_p=noise_p,
        direction_p=direction_test(better, worse, mean),
        all_before={0.0: Label.MISS.value, 1.0: Label.HIT.value}.get(mean, ""),
        notes=differences(before.judging, after.judging),
    )


def _judged(side: Judgings, runs: Set[str]) -> dict[PointKey, KeptVerdict]:
    return {key: point for key, point in side.points.items() if key.run in runs and point.label != Label.ERROR}


def _flip(key: PointKey, old: KeptVerdict, new: KeptVerdict) -> Flip:
    return Flip(
        run=key.run,
        case=new.case,
        evaluator=key.evaluator,
        subject=key.subject,
        criterion=key.criterion,
        statement=new.statement or old.statement,
        before=old.label,
        after=new.label,
        direction=_direction(old, new),
        by_model=old.by_model or new.by_model,
        by_rule=old.by_rule or new.by_rule,
    )


def _direction(old: KeptVerdict, new: KeptVerdict) -> int:
    """Compare by the scores; a hit is better and a miss worse than what is unsure, which has no score."""
    before, after = _goodness(old), _goodness(new)
    return (after > before) - (after < before)


def _goodness(point: KeptVerdict) -> float:
    if point.label in (Label.HIT, Label.MISS):
        return float(point.label == Label.HIT)
    return 0.5 if point.score is None else point.score

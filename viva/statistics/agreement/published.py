"""Compares a published figure with the labels it is said to come from, and finds the mistake that would explain it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from viva.statistics.agreement.coding import Counts, counted_pairs, described, kind_of, recodings, renamed
from viva.statistics.agreement.kappa import kappa_of_counts
from viva.statistics.agreement.ratings import Ratings

MOST_CAUSES = 3
MOST_COLUMNS = 12
"""Raters among whose pairs a figure is looked for: of more, some pair has it by chance."""
NAMES = ("kappa", "agreement", "accuracy", "precision", "recall")
_SAME = {"agreement", "accuracy"}


@dataclass(frozen=True, slots=True)
class Claim:
    """A figure that somebody has published about two raters."""

    name: str
    """One of `NAMES`."""
    first: str
    """The true labels, or the first rater."""
    second: str
    value: float
    decimals: int
    """Digits after the point, with which the figure was given."""
    label: str = ""
    """Of `precision` and `recall`."""

    def fits(self, value: float | None) -> bool:
        """Return whether a value is the same to the digits that were given."""
        return value is not None and abs(value - self.value) <= 0.5 * 10**-self.decimals + 1e-9

    def words(self) -> str:
        """Return what the figure is about: `kappa of gold and judge`."""
        of = f" of label {self.label}" if self.label else ""
        return f"{self.name}{of} of {self.first} and {self.second}"


@dataclass(frozen=True, slots=True)
class Check:
    """Says whether a published figure is that of the data, and if not, what would give it."""

    claim: Claim
    value: float | None
    """As recomputed; None if it is not defined."""
    agrees: bool
    causes: tuple[str, ...] = ()
    """In words: what has the published value instead; the first ones found."""


def check_claim(claim: Claim, ratings: Ratings) -> Check:
    """Return whether a published figure is that of the data.

    Args:
        claim: The figure.
        ratings: The labels.

    Raises:
        ValueError: the data has no such rater.
    """
    counts = counted_pairs(ratings.pairs(claim.first, claim.second))
    value = _value(claim.name, counts, claim.label)
    if claim.fits(value):
        return Check(claim, value, True)
    causes = dict.fromkeys(_causes(claim, counts, ratings))
    return Check(claim, value, False, tuple(causes)[:MOST_CAUSES])


def _causes(claim: Claim, counts: Counts, ratings: Ratings) -> Iterator[str]:
    """Yield mistakes under which the figure comes out, the likeliest first."""
    yield from islice(_recoded(claim, counts), 1)
    for other in NAMES:
        # Accuracy is the agreement with the true labels: one of them is named.
        if other != claim.name and {other, claim.name} != _SAME and claim.fits(_value(other, counts, claim.label)):
            yield f"it is the {other}, not the {claim.name}"
            break
    if len(ratings.raters) <= MOST_COLUMNS:
        for first, second in ratings.each_two():
            given = {claim.first, claim.second}
            others = counted_pairs(ratings.pairs(first, second))
            if {first, second} != given and claim.fits(_value(claim.name, others, claim.label)):
                yield f"it is that of {first} and {second}"


def _recoded(claim: Claim, counts: Counts) -> Iterator[str]:
    """Yield codings of either rater's labels under which the figure comes out."""
    for names in recodings(counts):
        if claim.fits(_value(claim.name, renamed(counts, names), claim.label)):
            yield f"the labels of {claim.second} are {described(kind_of(names), names)}"
    exchanged = _exchanged(counts)
    for names in recodings(exchanged):
        if claim.fits(_value(claim.name, _exchanged(renamed(exchanged, names)), claim.label)):
            yield f"the labels of {claim.first} are {described(kind_of(names), names)}"


def _exchanged(counts: Counts) -> Counts:
    return {(second, first): number for (first, second), number in counts.items()}


def _value(name: str, counts: Counts, label: str) -> float | None:
    if name == "kappa":
        return kappa_of_counts(counts)
    same = sum(number for (first, second), number in counts.items() if first == second)
    if name in _SAME:
        return _share(same, sum(counts.values()))
    place = 1 if name == "precision" else 0
    return _share(counts.get((label, label), 0), sum(number for both, number in counts.items() if both[place] == label))


def _share(some: int, whole: int) -> float | None:
    return some / whole if whole else None

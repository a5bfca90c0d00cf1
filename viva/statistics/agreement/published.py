"""Compares a published figure with the labels it is said to come from, and finds the mistake that would explain it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from viva.statistics.agreement.by_label import LabelFigures, accuracy_of
from viva.statistics.agreement.coding import described, kind_of, recodings, renamed
from viva.statistics.agreement.kappa import cohen_kappa
from viva.statistics.agreement.ratings import Pair, Ratings

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
    pairs = ratings.pairs(claim.first, claim.second)
    value = _value(claim.name, pairs, claim.label)
    if claim.fits(value):
        return Check(claim, value, True)
    causes = dict.fromkeys(_causes(claim, pairs, ratings))
    return Check(claim, value, False, tuple(causes)[:MOST_CAUSES])


def _causes(claim: Claim, pairs: Sequence[Pair], ratings: Ratings) -> Iterator[str]:
    """Yield mistakes under which the figure comes out, the likeliest first."""
    yield from islice(_recoded(claim, pairs), 1)
    for other in NAMES:
        # Accuracy is the agreement with the true labels: one of them is named.
        if other != claim.name and {other, claim.name} != _SAME and claim.fits(_value(other, pairs, claim.label)):
            yield f"it is the {other}, not the {claim.name}"
            break
    if len(ratings.raters) <= MOST_COLUMNS:
        for first, second in ratings.each_two():
            given = {claim.first, claim.second}
            if {first, second} != given and claim.fits(_value(claim.name, ratings.pairs(first, second), claim.label)):
                yield f"it is that of {first} and {second}"


def _recoded(claim: Claim, pairs: Sequence[Pair]) -> Iterator[str]:
    """Yield codings of either rater's labels under which the figure comes out."""
    for names in recodings(pairs):
        if claim.fits(_value(claim.name, renamed(pairs, names), claim.label)):
            yield f"the labels of {claim.second} are {described(kind_of(names), names)}"
    exchanged = _exchanged(pairs)
    for names in recodings(exchanged):
        if claim.fits(_value(claim.name, _exchanged(renamed(exchanged, names)), claim.label)):
            yield f"the labels of {claim.first} are {described(kind_of(names), names)}"


def _exchanged(pairs: Sequence[Pair]) -> list[Pair]:
    return [Pair(pair.cluster, pair.second, pair.first) for pair in pairs]


def _value(name: str, pairs: Sequence[Pair], label: str) -> float | None:
    if name == "kappa":
        return cohen_kappa(pairs)
    found = accuracy_of(pairs)
    if name in ("agreement", "accuracy"):
        return found.share
    of: Callable[[LabelFigures], float | None] = (
        (lambda each: each.precision) if name == "precision" else (lambda each: each.recall)
    )
    return next((of(each) for each in found.labels if each.label == label), None)

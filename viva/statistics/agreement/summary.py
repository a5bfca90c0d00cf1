"""All figures about the agreement of some raters: of each two, of all, and of each with the true labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from viva.statistics.agreement.alpha import Alpha, krippendorff_alpha
from viva.statistics.agreement.by_label import Accuracy, accuracy_of, confusion_of
from viva.statistics.agreement.coding import Recoding, find_recoding
from viva.statistics.agreement.kappa import RaterAgreement, agreement_of
from viva.statistics.agreement.ratings import Ratings

MOST_PAIRS = 66
"""Maximum number of pairs of raters that are compared one by one: those of 12 raters."""


@dataclass(frozen=True, slots=True)
class RaterPair:
    """Compares two raters."""

    first: str
    second: str
    agreement: RaterAgreement
    recoding: Recoding | None
    """Another coding of the second rater's labels that fits much better; None if none does."""


@dataclass(frozen=True, slots=True)
class JudgedRater:
    """Compares a rater with the true labels."""

    rater: str
    accuracy: Accuracy
    confusion: Mapping[str, Mapping[str, int]]
    """Items by true label, then by the rater's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementFigures:
    """Holds the agreement about all items, or about one kind of them."""

    kind: str
    """Empty for all items."""
    items: int
    clusters: int
    raters: tuple[str, ...]
    given: int
    """Labels that were given, without gaps."""
    labels: tuple[str, ...]
    ordinal: bool
    alpha: Alpha | None
    """Of all raters; None if it was not asked for."""
    pairs: tuple[RaterPair, ...]
    """Each two raters, if there are at most `MOST_PAIRS`; otherwise each with the true labels, if there are any."""
    judged: tuple[JudgedRater, ...]
    """Each rater against the true labels."""


def agreement_figures(
    ratings: Ratings,
    *,
    kind: str = "",
    order: Sequence[str] | None = None,
    gold: str = "",
    with_alpha: bool = True,
) -> AgreementFigures:
    """Return the agreement of raters.

    Args:
        ratings: The labels.
        kind: The name of the kind of items.
        order: The labels from the lowest to the highest if they are ordinal.
        gold: The rater whose labels are true; empty if there is none.
        with_alpha: Whether to reckon Krippendorff's alpha, which requires further packages.
    """
    others = [rater for rater in ratings.raters if rater != gold]
    return AgreementFigures(
        kind=kind,
        items=len(ratings.items),
        clusters=len(set(ratings.clusters)),
        raters=ratings.raters,
        given=ratings.given,
        labels=ratings.labels,
        ordinal=order is not None,
        alpha=krippendorff_alpha(ratings, order) if with_alpha and len(ratings.raters) > 1 else None,
        pairs=tuple(_pair(ratings, *both, gold) for both in _compared(ratings, gold, others)),
        judged=tuple(_judged(ratings, gold, rater) for rater in others) if gold else (),
    )


def _compared(ratings: Ratings, gold: str, others: Sequence[str]) -> Iterable[tuple[str, str]]:
    with_gold = [(gold, rater) for rater in others] if gold else []
    if len(with_gold) + math.comb(len(others), 2) > MOST_PAIRS:
        return with_gold[:MOST_PAIRS]
    return with_gold + list(ratings.only(others).each_two())


def _pair(ratings: Ratings, first: str, second: str, gold: str) -> RaterPair:
    pairs = ratings.pairs(first, second)
    # Against the true labels only, if there are any: otherwise one strange coding would be named for every other rater.
    return RaterPair(first, second, agreement_of(pairs), find_recoding(pairs) if gold in ("", first) else None)


def _judged(ratings: Ratings, gold: str, rater: str) -> JudgedRater:
    pairs = ratings.pairs(gold, rater)
    return JudgedRater(rater, accuracy_of(pairs), confusion_of(pairs))

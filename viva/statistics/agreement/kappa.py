"""Agreement of two raters: the share of equal labels, and Cohen's kappa, which takes out what chance alone gives."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from viva.statistics.agreement.ratings import Pair
from viva.statistics.clustered import clustered_wilson
from viva.statistics.intervals import CONFIDENCE, Interval
from viva.statistics.student_t import student_t


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """Says how far two raters agree about the items that both labelled."""

    items: int
    clusters: int
    same: int
    """Items with equal labels."""
    share: float | None
    """`same / items`; None without items."""
    share_interval: Interval
    kappa: float | None
    """None if it is not defined: there are no items, or both raters gave one and the same label throughout."""
    kappa_interval: Interval | None


def agreement_of(pairs: Sequence[Pair], confidence: float = CONFIDENCE) -> RaterAgreement:
    """Return the agreement of two raters with intervals that hold when the items of a cluster go together.

    Args:
        pairs: The labels of each item that both labelled.
        confidence: Of the intervals, two-sided.
    """
    same = sum(pair.first == pair.second for pair in pairs)
    kappa = cohen_kappa(pairs)
    return RaterAgreement(
        items=len(pairs),
        clusters=len({pair.cluster for pair in pairs}),
        same=same,
        share=same / len(pairs) if pairs else None,
        share_interval=_share_interval(pairs, confidence),
        kappa=kappa,
        kappa_interval=None if kappa is None else kappa_interval(pairs, confidence),
    )


def cohen_kappa(pairs: Sequence[Pair]) -> float | None:
    """Return Cohen's kappa (Cohen 1960, "A coefficient of agreement for nominal scales"); None if it is not defined."""
    return kappa_of_counts(Counter((pair.first, pair.second) for pair in pairs))


def kappa_of_counts(counts: Mapping[tuple[str, str], int]) -> float | None:
    """Return Cohen's kappa of a table; None if it is not defined.

    Args:
        counts: How many items have each label of the first rater together with each of the second.
    """
    items = sum(counts.values())
    firsts: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for (first, second), number in counts.items():
        firsts[first] += number
        seconds[second] += number
    # In whole numbers, so that certain agreement by chance is not missed by a rounding.
    chance = sum(number * seconds[label] for label, number in firsts.items())
    same = sum(number for (first, second), number in counts.items() if first == second)
    return None if chance == items**2 else (same * items - chance) / (items**2 - chance)


def kappa_interval(pairs: Sequence[Pair], confidence: float = CONFIDENCE) -> Interval:
    """Return the interval of kappa in closed form: no random numbers are drawn.

    Student's interval from the linearized kappa, summed by cluster (for items by themselves, the variance of Fleiss,
    Cohen and Everitt 1969; by clusters, Yang and Zhou 2014, "Kappa statistic for clustered matched-pair data",
    Statistics in Medicine 33), joined with the clustered Wilson interval of the share of equal labels at the same
    agreement by chance: near 1 the former is too narrow, and has no width at all where every label is equal.

    Args:
        pairs: The labels of each item; kappa must be defined.
        confidence: Two-sided.

    Raises:
        ValueError: kappa is not defined.
    """
    kappa, chance = cohen_kappa(pairs), _chance(*_margins(pairs))
    if kappa is None or chance is None:
        raise ValueError("kappa is not defined")
    by_share = _share_interval(pairs, confidence)
    low, high = ((end - chance) / (1 - chance) for end in (by_share.low, by_share.high))
    count = len({pair.cluster for pair in pairs})
    if count < 2:
        return Interval(-1.0, 1.0)
    half = student_t(1 - (1 - confidence) / 2, count - 1) * kappa_error(pairs)
    return Interval(max(-1.0, min(low, kappa - half)), min(1.0, max(high, kappa + half)))


def kappa_error(pairs: Sequence[Pair]) -> float:
    """Return the standard error of kappa, linearized and summed by cluster; see `kappa_interval`.

    Args:
        pairs: The labels of each item, of two clusters or more; kappa must be defined.
    """
    firsts, seconds = _margins(pairs)
    share = sum(pair.first == pair.second for pair in pairs) / len(pairs)
    chance = _chance(firsts, seconds) or 0.0
    sums: defaultdict[str, float] = defaultdict(float)
    for pair in pairs:
        of_share = (pair.first == pair.second) - share
        of_chance = seconds.get(pair.first, 0.0) + firsts.get(pair.second, 0.0) - 2 * chance
        sums[pair.cluster] += (of_share * (1 - chance) - (1 - share) * of_chance) / (1 - chance) ** 2
    count = len(sums)
    return math.sqrt(count / (count - 1) * math.fsum(each**2 for each in sums.values())) / len(pairs)


def _margins(pairs: Sequence[Pair]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the share of each label, of the first rater and of the second."""
    return _shares([pair.first for pair in pairs]), _shares([pair.second for pair in pairs])


def _shares(labels: Sequence[str]) -> dict[str, float]:
    return {label: number / len(labels) for label, number in Counter(labels).items()}


def _chance(firsts: Mapping[str, float], seconds: Mapping[str, float]) -> float | None:
    """Return the agreement by chance alone; None if it is certain, as both raters gave one label throughout."""
    if len(firsts) == 1 and firsts.keys() == seconds.keys():
        return None
    return math.fsum(share * seconds.get(label, 0.0) for label, share in firsts.items())


def _share_interval(pairs: Sequence[Pair], confidence: float) -> Interval:
    return share_interval([(pair.cluster, pair.first == pair.second) for pair in pairs], confidence)


def share_interval(items: Sequence[tuple[str, bool]], confidence: float = CONFIDENCE) -> Interval:
    """Return the Wilson interval of a share with items in clusters (`viva.statistics.clustered`).

    Args:
        items: The cluster of each item, and whether it counts.
        confidence: Two-sided.
    """
    clusters: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for cluster, counts in items:
        clusters[cluster][0] += counts
        clusters[cluster][1] += 1
    return clustered_wilson([(counted, number) for counted, number in clusters.values()], confidence)

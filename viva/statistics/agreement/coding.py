"""Finds mistakes of coding: labels that two raters spell, count or name differently, and columns that are exchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from viva.statistics.agreement.kappa import cohen_kappa, kappa_interval, kappa_of_counts
from viva.statistics.agreement.ratings import Pair, in_order, number_in

MOST_PERMUTED = 5
"""Maximum number of labels for which every recoding is tried; of more, only shifts, the reverse and the spelling."""
FEWEST = 20
"""Minimum number of items: in fewer, some recoding fits by chance."""
GOOD, BETTER = 0.5, 0.2
"""How large kappa must be after a recoding, and how much larger than before, for the recoding to be reported."""
Counts = Mapping[tuple[str, str], int]
"""How many items have each two labels."""
_OUTSIDE = "\0"
"""Stands for a code that the other rater does not use."""


@dataclass(frozen=True, slots=True)
class Recoding:
    """Says that the second rater's labels fit the first's much better under other names."""

    kind: str
    """In words: `shifted by 1`, `exchanged`, `spelled differently` or `named differently`."""
    names: Mapping[str, str]
    """What each label of the second rater would be in the coding of the first."""
    kappa: float | None
    """As the labels are."""
    recoded: float
    """After the recoding."""

    def words(self) -> str:
        """Return the recoding in words: `shifted by 1 (0 is 1, 1 is 2)`."""
        return described(self.kind, self.names)


def described(kind: str, names: Mapping[str, str]) -> str:
    """Return a recoding in words: `shifted by -1 (1 is 0, 2 is 1)`, `named differently (2 has a code of its own)`."""
    changed = [
        f"{old} has a code of its own" if new == _OUTSIDE else f"{old} is {new}"
        for old, new in names.items()
        if old != new
    ]
    return f"{kind} ({', '.join(changed)})"


def find_recoding(pairs: Sequence[Pair]) -> Recoding | None:
    """Return the recoding of the second rater's labels with the largest kappa, if it is much larger than as they are.

    The intervals of kappa before and after must not overlap, and the latter must exclude weak agreement, so that labels
    given at random are not recoded.

    Args:
        pairs: The labels of each item.
    """
    if len(pairs) < FEWEST:
        return None
    now = cohen_kappa(pairs)
    found: list[tuple[float, dict[str, str]]] = []
    counts = counted_pairs(pairs)
    for names in recodings(counts):
        kappa = kappa_of_counts(renamed(counts, names))
        if kappa is not None and kappa >= max(GOOD, (now or 0.0) + BETTER):
            found.append((kappa, names))
    if not found:
        return None
    kappa, names = max(found, key=lambda each: each[0])  # the first of equal ones, which is the simplest
    low = kappa_interval([Pair(pair.cluster, pair.first, names[pair.second]) for pair in pairs]).low
    if low < BETTER or (now is not None and low <= kappa_interval(pairs).high):
        return None
    return Recoding(kind_of(names), names, now, kappa)


def counted_pairs(pairs: Sequence[Pair]) -> Counts:
    """Return how many items have each two labels: there are far fewer of them than items."""
    return Counter((pair.first, pair.second) for pair in pairs)


def recodings(counts: Counts) -> Iterator[dict[str, str]]:
    """Yield other namings of the second rater's labels, the simplest first: by spelling, by shifts, reversed, others.

    Args:
        counts: How many items have each two labels.
    """
    mine = in_order({first for first, _ in counts})
    other = in_order({second for _, second in counts})
    seen: list[dict[str, str]] = [{label: label for label in other}]
    for names in _recodings(mine, other):
        if names not in seen:
            seen.append(names)
            yield names


def _recodings(mine: Sequence[str], other: Sequence[str]) -> Iterator[dict[str, str]]:
    spelled = {label.strip().casefold(): label for label in mine}
    yield {label: spelled.get(label.strip().casefold(), label) for label in other}
    for shift in (1, -1):
        if shifted := _shifted(other, shift):
            yield shifted
    both = in_order({*mine, *other})
    if set(other) <= set(mine):
        yield dict(zip(both, reversed(both), strict=True))
    if max(len(mine), len(other)) <= MOST_PERMUTED:
        # Each label gets one of the first rater's labels, or none that the first rater has.
        for size in range(min(len(mine), len(other)), 0, -1):
            for chosen in combinations(other, size):
                for names in permutations(mine, size):
                    given = dict(zip(chosen, names, strict=True))
                    yield {label: given.get(label, _OUTSIDE) for label in other}


def _shifted(labels: Sequence[str], shift: int) -> dict[str, str]:
    """Return each whole number with the one that a coding from 0 instead of 1 (or the reverse) makes of it."""
    values = {label: number_in(label) for label in labels}
    if any(value is None or value != int(value) for value in values.values()):
        return {}
    return {label: str(int(value) + shift) for label, value in values.items() if value is not None}


def renamed(counts: Counts, names: Mapping[str, str]) -> Counts:
    """Return the counts with other names for the second rater's labels."""
    found: Counter[tuple[str, str]] = Counter()
    for (first, second), number in counts.items():
        found[first, names.get(second, second)] += number
    return found


def kind_of(names: Mapping[str, str]) -> str:
    """Return what a recoding does, in words."""
    if all(old.strip().casefold() == new.strip().casefold() for old, new in names.items()):
        return "spelled differently"
    for shift in (1, -1):
        if names == _shifted(tuple(names), shift):
            return f"shifted by {shift}"
    return "exchanged" if set(names) == set(names.values()) else "named differently"

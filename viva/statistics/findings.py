"""Describes in words what a comparison shows, and what it cannot show."""

from __future__ import annotations

import math

from viva.records.wording import counted
from viva.statistics.comparison import PairedComparison
from viva.statistics.groups import FEWEST_CASES
from viva.statistics.intervals import fewest_discordant


def findings(comparison: PairedComparison) -> list[str]:
    """Return sentences that say what the comparison shows, and what it cannot show."""
    one, two = comparison.first.label, comparison.second.label
    count, words = len(comparison.cases), []
    # Where every score is 0 or 1, the two say the same.
    rate = () if comparison.rate == comparison.score else (("pass rate", comparison.rate),)
    for name, found in (("mean score", comparison.score), *rate):
        ends = f"{found.value:+.3f}, 95 % between {found.interval.low:+.3f} and {found.interval.high:+.3f}"
        if found.clear and count < FEWEST_CASES:
            words.append(f"{two}'s {name} over these cases differs by {ends}.")
            continue
        if found.clear:
            words.append(f"{two}'s {name} is {'higher' if found.value > 0 else 'lower'} than {one}'s: {ends}.")
            continue
        if found.value and found.detectable in (0, math.inf):
            # The same in every case: "no significant difference" would read as a mistake.
            where = "the one case" if count == 1 else f"all {count} cases"
            told = f"In {where}, {two}'s {name} differs from {one}'s by the same amount"
            words.append(f"{told}, which is too little evidence to generalize to other cases ({ends}).")
            continue
        told = f"No significant difference in {name} ({ends})."
        if 0 < found.detectable < math.inf:
            told += f" A sample like this usually misses a true difference below {min(found.detectable, 1.0):.2f}."
        words.append(told)
    better, worse = len(comparison.better), len(comparison.worse)
    turned = f"{counted(better, 'case')} improved, {worse} got worse (McNemar, exact: p = {comparison.p_value:.3g})"
    need = fewest_discordant()
    if better + worse < need:
        turned += f"; with fewer than {need} changed cases, this test cannot reach p < 0.05"
    elif comparison.p_value >= 0.05:
        turned += ", which is not significant"
    words.append(f"{turned}.")
    if count < FEWEST_CASES:
        words.append(f"Intervals need at least {FEWEST_CASES} cases; these are {counted(count, 'case')}.")
    return words

"""What several people together say about one point: the same rule for calibrations and for corrected scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from viva.records.verdict import Label


def majority(labels: Iterable[str]) -> str | None:
    """Return `hit` or `miss`, whichever more people say; None if as many say either, or more than that are unsure."""
    said = Counter(labels)
    hits, misses = said[Label.HIT], said[Label.MISS]
    if hits == misses or max(hits, misses) < said[Label.UNSURE]:
        return None
    return (Label.HIT if hits > misses else Label.MISS).value

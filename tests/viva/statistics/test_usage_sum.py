"""Sums of usage that grow are the same as sums of `Usage`, also at its maximum."""

from __future__ import annotations

from functools import reduce
from operator import add

from hypothesis import given
from hypothesis import strategies as st

from viva.records.transcript import MOST_DOLLARS, MOST_TOKENS, NO_USAGE, Usage
from viva.statistics.usage_sum import UsageSum

COUNTS = st.sampled_from([0, 1, 17, MOST_TOKENS - 1, MOST_TOKENS])
COSTS = st.sampled_from([None, 0.0, 0.5, MOST_DOLLARS])
USAGES = st.builds(
    Usage, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COSTS, cache_write_tokens=COUNTS, reported=st.booleans()
)


@given(st.lists(st.lists(USAGES, max_size=3), max_size=3))
def test_a_sum_of_sums_is_the_sum_of_all(cells: list[list[Usage]]) -> None:
    whole = UsageSum()
    for cell in cells:
        part = UsageSum()
        for used in cell:
            part.add(used)
        assert part.total() == reduce(add, cell, NO_USAGE)
        whole.join(part)
    assert whole.total() == reduce(add, [used for cell in cells for used in cell], NO_USAGE)

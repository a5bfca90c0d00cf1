"""No figure of usage is anything but a finite number from 0 on, whoever reports it, so that sums and budgets hold."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.records.codec import decode
from viva.records.transcript import NO_USAGE, UNREPORTED, Reply, Usage
from viva.suites.engine import Budget, over_budget

ODD: list[Any] = [math.nan, math.inf, -math.inf, -1, -1e300, "7", None, [], True, 1e300]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_an_odd_count_leaves_every_sum_finite_and_is_not_taken_for_reported(odd: Any) -> None:
    for name in ("input_tokens", "output_tokens", "calls", "cached_tokens", "retries"):
        total = Usage(1000, 10, cost=0.5) + Usage(**{name: odd})
        assert total.input_tokens >= 1000
        assert total.output_tokens >= 10
        assert type(total.input_tokens) is type(total.output_tokens) is int
        assert total.reported is (odd is True)
    limits = Budget(max_tokens=1000)
    assert over_budget(limits, Usage(odd, odd) + Usage(1000)) is not None, "the budget still ends"


@pytest.mark.parametrize("odd", [math.nan, math.inf, -0.01, -math.inf, "0.1"], ids=repr)
def test_an_odd_cost_is_unknown_and_ends_a_budget_in_dollars(odd: Any) -> None:
    total = Usage(1, 1, cost=0.1) + Usage(1, 1, cost=odd)
    assert total.cost is None
    assert over_budget(Budget(max_cost=1000), total) is not None


def test_what_a_file_or_an_agent_says_is_held_to_the_same() -> None:
    usage = {"input_tokens": -5, "output_tokens": 7, "cost": -1.0}
    reply = decode(Reply, {"text": "a", "usage": usage, "steps": [{"id": "s", "usage": usage}]})
    for found in (reply.usage, reply.steps[0].usage):
        assert (found.input_tokens, found.output_tokens, found.cost, found.reported) == (0, 7, None, False)


counted = st.integers(0, 10**6)


@given(*[st.builds(Usage, *[counted] * 6, cost=st.integers(0, 99), cache_write_tokens=counted)] * 2)
def test_what_was_spent_since_is_what_the_later_total_exceeds_the_earlier_by(before: Usage, spent: Usage) -> None:
    assert (before + spent) - before == spent


def test_a_total_that_shrinks_counts_as_nothing_spent_and_stays_reported() -> None:
    assert Usage(1, 1, cost=0.1) - Usage(7, 7, 7, 7, 7, 7, 0.5) == NO_USAGE


def test_a_difference_of_unknown_figures_is_unknown() -> None:
    assert (Usage(5, 5, cost=None) - Usage(1, 1, cost=0.1)).cost is None
    assert not (Usage(5, 5) - Usage(1, 1, reported=False)).reported


def test_counts_that_were_not_reported_are_unknown_and_not_0() -> None:
    assert Usage.answered(0, 0).known_tokens == 0
    for nothing in (Usage.answered(None, None), Usage.answered(0, None), UNREPORTED, NO_USAGE):
        assert nothing.known_tokens is None
    assert Usage.answered(7, None).known_tokens == 7
    assert NO_USAGE.known_cost is None
    assert Usage.answered(None, None, cost=0.1).known_cost == 0.1


@given(st.lists(st.builds(Usage, *[st.integers() | st.floats()] * 6, cost=st.none() | st.floats()), max_size=5))
def test_any_sum_is_sound(usages: list[Usage]) -> None:
    total = sum(usages, NO_USAGE)
    assert total.input_tokens >= 0
    assert total.output_tokens >= 0
    assert total.cost is None or 0 <= total.cost <= math.inf
    assert total.cost is None or not math.isnan(total.cost)

"""Numbers from recordings: what no sum and no report could bear is none."""

from __future__ import annotations

import math

import pytest

from viva.recordings.numbers import amount, finite

ODD: list[object] = [None, True, "1", [], math.nan, math.inf, -math.inf, 10**400]


@pytest.mark.parametrize("odd", ODD, ids=lambda value: repr(value)[:20])
def test_what_is_no_finite_number_is_none(odd: object) -> None:
    assert finite(odd) is None
    assert amount(odd) is None


def test_an_amount_is_not_negative_and_a_sum_of_amounts_is_finite() -> None:
    assert (finite(-1.5), amount(-1.5)) == (-1.5, None)
    assert (amount(0), amount(7), amount(0.25)) == (0.0, 7.0, 0.25)
    assert finite(1e308) == 1e308
    assert amount(1e308) is None

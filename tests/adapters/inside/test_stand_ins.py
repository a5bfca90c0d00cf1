"""What an agent in its own process computes with the stand-in of Usage is what it would compute with Viva's own."""

from __future__ import annotations

import itertools
import math
from dataclasses import fields
from typing import Any

import pytest

from viva.adapters.inside import stand_ins
from viva.records import transcript

HUGE = transcript.MOST_TOKENS
VALUES: tuple[dict[str, Any], ...] = (
    {},
    {"input_tokens": HUGE, "calls": HUGE, "cost": transcript.MOST_DOLLARS},
    {"input_tokens": HUGE + 1, "output_tokens": 3},
    {"output_tokens": 10**400, "cost": 1e300},
    {"input_tokens": -1, "cost": -1.0},
    {"cached_tokens": math.nan, "cost": math.nan},
    {"reasoning_tokens": 2.0, "retries": math.inf, "cost": math.inf},
    {"cache_write_tokens": "7", "cost": "7"},
    {"input_tokens": 5, "output_tokens": True, "cost": 0.5, "reported": False},
)


def as_dict(usage: Any) -> dict[str, Any]:
    return {each.name: getattr(usage, each.name) for each in fields(transcript.Usage)}


@pytest.mark.parametrize(("one", "two"), list(itertools.product(VALUES, repeat=2)))
def test_values_sums_and_differences_are_those_of_the_real_class(one: dict[str, Any], two: dict[str, Any]) -> None:
    real = transcript.Usage(**one), transcript.Usage(**two)
    stand_in = stand_ins.Usage(**one), stand_ins.Usage(**two)
    assert as_dict(stand_in[0]) == as_dict(real[0])
    assert as_dict(stand_in[0] + stand_in[1]) == as_dict(real[0] + real[1])
    assert as_dict(stand_in[0] - stand_in[1]) == as_dict(real[0] - real[1])
    assert (stand_in[0].tokens, stand_in[0].known) == (real[0].tokens, real[0].known)


def test_the_bounds_are_the_same() -> None:
    assert (stand_ins.MOST_TOKENS, stand_ins.MOST_DOLLARS) == (transcript.MOST_TOKENS, transcript.MOST_DOLLARS)

"""JSON that is written in pieces is the same as JSON that is written at once."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.cli.json_pieces import PIECE, json_pieces

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3), max_leaves=4)

NAMES = st.text(max_size=5)
UNTIMED = settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@UNTIMED
@given(st.dictionaries(NAMES, VALUES | st.dictionaries(NAMES, VALUES, max_size=3), max_size=3))
def test_the_pieces_are_what_is_written_at_once(value: dict[str, object]) -> None:
    assert "".join(json_pieces(value)) == json.dumps(value) + "\n"


@UNTIMED
@given(st.dictionaries(NAMES, st.lists(VALUES, max_size=3), max_size=3))
def test_an_iterator_is_written_as_a_list(value: dict[str, list[Any]]) -> None:
    given_once: dict[str, object] = {name: iter(each) for name, each in value.items()}
    assert "".join(json_pieces({"inner": given_once})) == json.dumps({"inner": value}) + "\n"


def test_values_are_asked_for_when_the_earlier_ones_have_been_written() -> None:
    asked: list[int] = []

    def values() -> Any:
        for number in range(3):
            asked.append(number)
            yield "x" * PIECE

    pieces = json_pieces({"values": values()})
    next(pieces)
    assert asked == [0]

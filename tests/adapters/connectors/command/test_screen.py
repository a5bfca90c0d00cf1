"""What a program writes to a terminal is read as a person reads it there, and cannot grow by being read."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.adapters.connectors.command.screen import readable

PIECES = (
    "\x1b[99999Cx\n",
    "\x1b[99999C",
    "\x1b[99999G",
    "\x1b[9C",
    "\x1b[K",
    "\x1b[2K",
    "\x1b[P",
    "\x1b[3D",
    "\r",
    "\b",
    "\n",
    "\t",
    "xy",
)


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("plain\nlines\n", "plain\nlines\n"),
        ("10 %\r20 %\r100 %\n", "100 %\n"),
        ("[#   ]\r[##  ]\r[####]", "[####]"),
        ("ab\b\bAB", "AB"),
        ("long line\rshort", "shortline"),
        ("long line\r\x1b[Kshort", "short"),
        ("name\x1b[20Gsize\x1b[30Gdate", "name               size      date"),
        ("left\x1b[4Cright", "left    right"),
        ("12345\x1b[3DX", "12X45"),
        ("12345\r\x1b[2P", "345"),
        ("left\x1b[9999Gright", f"left{' ' * 9994}right"),
        ("\x1b[1;31mred\x1b[0m \x1b]0;title\x07end\x00\x7f", "red end"),
        ("tab\tkept", "tab\tkept"),
        ("é\x1b[Cü", "é ü"),
        (f"{'x' * 20_000}\x1b[3D!!!", f"{'x' * 19_997}!!!"),
    ],
)
def test_bars_columns_and_colours_are_read_as_they_look(output: str, shown: str) -> None:
    assert readable(output) == shown


def test_a_cursor_stops_at_the_right_edge_of_the_terminal() -> None:
    assert readable("\x1b[99999Cx") == f"{' ' * 10_000}x"


def test_movements_keep_words_apart_when_they_make_no_more_blanks() -> None:
    *_, last = readable("\x1b[9999Ca\x1b[9999Gb\n" * 5_000 + "left\x1b[9999Gright").split("\n")
    assert last == "left right"


@settings(max_examples=examples(200))
@example([("\x1b[99999Cx\n", 100)], 40)
@example([("\x1b[99999Gx\x1b[2K", 100)], 40)
@given(st.lists(st.tuples(st.sampled_from(PIECES), st.integers(1, 400)), max_size=30), st.integers(1, 40))
def test_a_text_is_never_much_longer_than_what_was_written(pieces: list[tuple[str, int]], times: int) -> None:
    output = "".join(piece * number for piece, number in pieces) * times
    assert len(readable(output)) <= 6 * len(output) + 20_000

"""Quotes are found as judges may give them, and marking them never changes the text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viva.reports.page.page_parts import in_script
from viva.reports.page.quote_marks import segments


def marked(text: str, *quotes: str) -> list[str]:
    pieces, _ = segments(text, list(enumerate(quotes)))
    return [piece[0] for piece in pieces if not isinstance(piece, str)]


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("so it is 12.48 now", "it is 12.48", ["it is 12.48"]),
        ("so it\n   is  now", "so it is", ["so it\n   is"]),
        ("he said “yes” to it", 'said "yes"', ["said “yes”"]),
        ("one two three four", "one … four", ["one", "four"]),
        ("one two three four", "one [...] three", ["one", "three"]),
        ("the ﬁle is there", "the file", ["the ﬁle"]),
        ("four and one", "one … four", []),
        ("nothing", "something", []),
        ("nothing", "  ", []),
        ("it is 1,550 in all", "55", []),
        ("it is -55 or 55", "55", ["55"]),
        ("“…”, she said", "…", []),
    ],
)
def test_a_quote_is_marked_where_it_stands(text: str, quote: str, expected: list[str]) -> None:
    assert marked(text, quote) == expected


def test_overlapping_quotes_name_each_verdict_where_it_holds() -> None:
    pieces, found = segments("ab cd ef", [(3, "ab cd"), (7, "cd ef")])
    assert pieces == [("ab ", [3]), ("cd", [3, 7]), (" ef", [7])]
    assert found == {3, 7}


@settings(deadline=None)
@given(st.text(max_size=60), st.lists(st.text(max_size=12), max_size=4))
def test_the_pieces_are_the_text(text: str, quotes: list[str]) -> None:
    pieces, _ = segments(text, list(enumerate(quotes)))
    assert "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces) == text


@given(st.text())
def test_a_block_holds_nothing_that_ends_a_script(text: str) -> None:
    block = in_script({"text": text})
    assert not set("<>&\u2028\u2029") & set(block)

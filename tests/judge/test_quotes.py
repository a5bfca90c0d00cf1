"""A quote is found where its words stand, with where they stand in the text as it was said."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from viva.judge.quotes import LongText, Text, fold


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("it is 55.", "55", ["55"]),
        ("1,550", "55", []),
        ("1550 and 55", "55", ["55"]),
        ("so it\n   is  now", " so it  is", ["so it\n   is"]),
        ("one two three", "\u201cone\u201d \u2026 'three'", ["one", "three"]),
        ("three, then one", "one ... three", []),
        ("a cafe\u0301 there", "caf\u00e9", ["cafe\u0301"]),
        ("a caf\u00e9 there", "cafe\u0301 there", ["caf\u00e9 there"]),
        ("\u1112\u1161\u11ab now", "\ud55c", ["\u1112\u1161\u11ab"]),
        ("the \ufb01le", "file", ["\ufb01le"]),
        ("twenty", "!?", []),
        ("white", "hit", []),
        ("\u00e9tude", "tude", []),
        ("e\u0301tude", "tude", []),
        ("cafe\u0301", "cafe", []),
        ("", "x", []),
    ],
)
def test_a_quote_is_found_with_where_it_stands(text: str, quote: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in Text(text).find(quote)] == expected


@given(st.text(max_size=30), st.text(min_size=1, max_size=20), st.text(max_size=30))
def test_exact_words_are_always_found(before: str, words: str, after: str) -> None:
    quote = words.strip()
    assume(any(character.isalnum() for character in fold(quote)[0]))
    assert Text(f"{before} | {quote} | {after}").find(quote)


@given(st.text(max_size=40))
def test_folding_is_nfkc_with_single_blanks_and_knows_where_each_character_stood(text: str) -> None:
    folded, spans = fold(text)
    assert folded == folded.strip()
    assert "  " not in folded
    assert len(spans) == len(folded)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    if text.isascii() and "  " not in text:
        assert folded == " ".join(text.split())


LATIN, MARKS = st.characters(codec="utf-8", max_codepoint=0x24F), st.characters(categories=["Mn", "Mc"])


@given(st.text(LATIN | MARKS | st.characters(), max_size=30))
def test_composed_and_decomposed_letters_fold_alike(text: str) -> None:
    composed, decomposed = (fold(unicodedata.normalize(form, text))[0] for form in ("NFC", "NFD"))
    assert composed == decomposed


def test_every_letter_that_decomposes_folds_like_its_parts() -> None:
    """Beside an ordinary letter and a mark, too, and in the form of the compatibility decomposition."""
    letters = [chr(point) for point in range(0x80, sys.maxunicode + 1) if not 0xD800 <= point <= 0xDFFF]
    forms = [(letter, unicodedata.normalize(form, letter)) for letter in letters for form in ("NFD", "NFKD")]
    # Spaces aside: two words of them, like the space under a lone accent, are told from one by their white space.
    several = [
        (f"{before}{letter}{after}", f"{before}{parts}{after}")
        for letter, parts in forms
        if parts != letter and not any(part.isspace() for part in parts)
        for before, after in (("", ""), ("x", ""), ("", "\u0301"))
    ]
    assert len(several) > 40_000
    assert [pair for pair in several if fold(pair[0])[0] != fold(pair[1])[0]] == []


def test_a_character_that_composes_with_the_one_before_it_is_never_cut_off() -> None:
    """All pairs that some letter is composed of, half-width kana and Hangul jamo among them."""
    pairs = [
        (chr(0x1112), chr(0x1161)),
        (chr(0xD558), chr(0x11AB)),
        (chr(0xFF76), chr(0xFF9E)),
        (chr(0x314E), chr(0x314F)),
    ]
    for point in range(0x80, sys.maxunicode + 1):
        parts = unicodedata.normalize("NFD", chr(point)) if not 0xD800 <= point <= 0xDFFF else ""
        pairs += [(parts[:cut], parts[cut:]) for cut in range(1, len(parts))]
    cut_off = [pair for pair in pairs if fold("".join(pair))[0] != unicodedata.normalize("NFKC", "".join(pair)).strip()]
    assert cut_off == []


SOME_TEXT = st.text(st.sampled_from("ab1 .,-\n\u00a0\u201c\u00e9e\u0301\ufb01\u1112\u1161\u11ab\u2026"), max_size=30)


@given(SOME_TEXT, SOME_TEXT, SOME_TEXT)
def test_a_quote_that_is_found_is_found_in_a_long_text_too(before: str, quote: str, after: str) -> None:
    for text in (before + quote + after, before, f"{before} {quote} {after}"):
        if Text(text).find(quote):
            assert LongText(text).holds(quote)


def test_a_long_text_is_searched_by_words_and_numbers() -> None:
    text = LongText("The  total is\n1,550 \u201cin all\u201d. " * 100_000)
    assert text.holds('total is 1,550 "in all"')
    assert text.holds("The total \u2026 in all")
    assert not text.holds("550")
    assert not text.holds("tot")

"""Hostile text: nothing that an agent says may drive a terminal, hide words, or break an encoder."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from viva.adapters.inside.replies import clean
from viva.journal.writer import observed_run_id, run_id
from viva.records.text import exact_line, one_line, printable, slug, storable

# Everything Python can hold in a string, lone surrogates included; what terminals and parsers choke on is likely.
ODD = "\x1b\r\n\t\0\x7f\x85\x9b\u2028\u202e\u2066\ufeff\u200b\ud800\U000e0041"
anything = st.text(st.characters() | st.sampled_from(ODD))

DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
# Format characters that are seen: signs of Arabic, Syriac and Kaithi numbers, and Egyptian joiners.
SEEN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13460)}


def drives_or_hides(character: str) -> bool:
    category = unicodedata.category(character)
    return (
        (category == "Cc" and character not in "\t\n")
        or category in ("Cs", "Zl", "Zp")
        or (category == "Cf" and ord(character) not in SEEN)
        or unicodedata.bidirectional(character) in DIRECTIONS
    )


@given(anything)
@example("\r\r\n")
def test_no_control_reordering_or_invisible_character_survives_printing(text: str) -> None:
    assert not [character for character in printable(text) if drives_or_hides(character)]


def test_every_single_character_is_harmless_once_printed() -> None:
    everything = "".join(map(chr, range(0x110000)))
    assert not {f"{ord(each):x}" for each in printable(everything) if drives_or_hides(each)}


@given(anything)
def test_what_is_printable_stays_as_it_is(text: str) -> None:
    once = printable(text)
    assert printable(once) == once
    assert one_line(one_line(text)) == one_line(text)


@given(anything)
def test_storable_text_can_be_encoded_and_stays_as_it_is(text: str) -> None:
    once = storable(text)
    once.encode("utf-8")
    assert storable(once) == once


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_sound_text_is_stored_untouched(text: str) -> None:
    assert storable(text) is text


def test_halves_of_a_character_are_joined_and_a_lone_one_is_an_escape() -> None:
    halves = "\ud83d\ude00 and \ud83d"
    assert storable(halves) == "\U0001f600 and \\ud83d"
    assert clean(halves) == storable(halves)


def test_escapes_are_shown_not_obeyed() -> None:
    assert printable("\x1b[31mred\x1b[0m\a") == "\\x1b[31mred\\x1b[0m\\x07"
    assert printable("a\u202eb\U000e0041") == "a\\u202eb\\U000e0041"
    assert printable("a\r\nb\rc") == "a\nb\\x0dc"


def test_cut_text_says_how_much_is_missing() -> None:
    assert printable("x" * 1500, 10) == "xxxxxxxxxx… [1,490 more characters]"
    assert printable("x" * 10, 10) == "x" * 10


@given(anything, st.integers(1, 30))
def test_one_line_is_one_line_and_no_longer_than_asked(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


def test_one_line_never_drops_words_without_a_mark() -> None:
    assert one_line("\n" * 100_000 + "the answer", 20).endswith("…")
    assert one_line("  a \n\t b  ") == "a b"


@given(anything, st.integers(1, 80))
def test_a_slug_is_a_safe_file_name_whatever_it_is_made_from(text: str, limit: int) -> None:
    name = slug(text, limit)
    assert 1 <= len(name) <= limit
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_.-")
    assert name.strip(".")
    assert name[0] not in ".-"


@given(anything, anything, st.integers(1, 1000))
def test_a_run_id_is_a_safe_file_name_and_the_same_every_time(subject: str, agent: str, trial: int) -> None:
    name = run_id(subject, agent, trial)
    assert name == run_id(subject, agent, trial)
    assert len(name) <= 60
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_.-")
    assert "#" not in name


@pytest.mark.parametrize("other", [("a/b", "x", 1), ("A b", "x", 1), ("a b", "y", 1), ("a b", "x", 2), ("ä b", "x", 1)])
def test_names_that_look_alike_have_run_ids_of_their_own(other: tuple[str, str, int]) -> None:
    assert run_id(*other) != run_id("a b", "x", 1)


def test_run_ids_do_not_change_between_versions() -> None:
    """A suite that was killed under an older Viva is resumed by these."""
    assert run_id("sum_1_to_50", "examples/agents/careful.py:Careful") == "sum_1_to_50-c8c89115"


@given(st.text(), st.text())
def test_the_id_of_an_observed_run_is_a_safe_file_name_and_the_same_every_time(trace: str, subject: str) -> None:
    name = observed_run_id(trace, subject)
    assert name == observed_run_id(trace, subject)
    assert re.fullmatch(r"[a-z0-9_.-]{1,48}-[0-9a-f]{12}", name)
    assert not name.startswith(".")


def test_two_traces_of_one_subject_and_two_subjects_of_one_session_are_two_runs() -> None:
    ids = {observed_run_id(*each) for each in (("t1", "task"), ("t2", "task"), ("t1", "other"), ("t1",), ("task",))}
    assert len(ids) == 5
    assert observed_run_id("5b8aa5a2d2c872e8321cf37308d69df2", "book a flight") == "book-a-flight-28a8e8876a59"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one two", "one two"),
        ("one  two", "one··two"),
        (" one\ttwo ", "·one⇥two·"),
        ("one\ntwo\n\n  three\n", "one⏎ two⏎⏎··three⏎"),
        ("one\r\ntwo", r"one\x0d⏎ two"),
        ("one\u00a0two\u3000", r"one\xa0two\u3000"),
        (f"one{' ' * 1000}two", "one·{1000}two"),
    ],
)
def test_every_white_space_but_a_blank_between_words_can_be_seen_on_an_exact_line(text: str, line: str) -> None:
    assert exact_line(text) == line


@given(anything, st.integers(1, 200))
def test_an_exact_line_is_one_line_within_its_limit_and_drives_no_terminal(text: str, limit: int) -> None:
    line = exact_line(text, limit)
    assert len(line) <= limit
    assert line.split(" ") == line.split() or line in ("", " ") or line.strip() != line
    assert line == printable(line)
    assert not set("\n\t\r") & set(line)


@given(st.text(" \n\t\u00a0a", max_size=7), st.text(" \n\t\u00a0a", max_size=7))
def test_texts_that_differ_have_exact_lines_that_differ(one: str, other: str) -> None:
    assert (exact_line(one) == exact_line(other)) is (one == other)


@given(st.text(st.characters(max_codepoint=0x7F)))
@example("two\nlines")
def test_ascii_is_printed_as_it_is_unless_it_holds_a_control(text: str) -> None:
    escaped = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))
    assert printable(text) == escaped

"""A multiple-choice question of Inspect counts as answered where Inspect's scorer says so, whatever else is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.judge.checks.talks import check
from tests.viva.interchange.imports import Imported, checks, said
from viva.interchange.inspect_ai.letters import LETTERS, letter_check
from viva.records.verdict import Label

LONG = "I think about it. " * 1_000


def names(reply: str, letters: str, number: int = 4) -> bool:
    """Whether a reply answers with these letters."""
    return check(letter_check(letters, number), reply).label is Label.HIT


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("ANSWER: B", "B"),
        ("ANSWER:B.", "B"),
        ("answer: b", "B"),
        ("First I compare them.\n\nANSWER: B\n", "B"),
        ("**ANSWER: B**", "B"),
        ("**Answer:** B", "B"),
        ("ANSWER: $B$", "B"),
        ("ANSWER: (B)", "B"),
        ("ANSWER: B) oak", "B"),
        ("ANSWER: B. New York", "B"),
        ("ANSWER: B\r\nBecause oaks are trees.\r\n", "B"),
        ("ANSWER: B\n\nAn oak is a tree, and moss is none.", "B"),
        ("ANSWER: A\nNo, wait.\nANSWER: B", "B"),
        ("ANSWER: A\nANSWER: B\nANSWER: C", "C"),
        ("To find the answer: a triangle has three sides.\n\nANSWER: C", "C"),
        ("Answer: a triangle has three sides.\nANSWER: C", "C"),
        (LONG + "\nANSWER: B", "B"),
        (LONG + "\n**ANSWER: B**\n", "B"),
        ("ANSWER: A\n" + LONG + "\nANSWER: B", "B"),
        ("B", ""),
        ("It is B.", ""),
        ("ANSWER: A or B", ""),
        ("ANSWER: A, B", ""),
        ("ANSWER: A) or B)", ""),
        ("ANSWER: A / ANSWER: B", ""),
        ("ANSWER: all of them", ""),
        ("ANSWER: Because", ""),
        ("ANSWER: don't know", ""),
        ("the answer: a triangle", ""),
        ("The answer is\nANSWERS: B", ""),
    ],
)
def test_the_last_line_answer_counts_if_it_names_one_letter(reply: str, letter: str) -> None:
    assert [each for each in "ABCD" if names(reply, each)] == list(letter)


@settings(max_examples=examples(200), deadline=None)
@given(
    lines=st.lists(st.sampled_from(["ANSWER: A", "ANSWER: B", "**Answer: C**", "words", "An oak.", "", "a", "answer"]))
)
def test_no_reply_answers_with_several_letters(lines: list[str]) -> None:
    last = next((line for line in reversed(lines) if ":" in line), "")
    expected = [each for each in "ABC" if f": {each}" in last]
    # A line that begins like the word is taken for an answer, too: that costs a hit, and never gives one.
    if "answer" not in lines:
        assert [each for each in "ABCD" if names("\n".join(lines), each)] == expected
    assert sum(names("\n".join(lines), each) for each in "ABCD") <= 1


@pytest.mark.parametrize("reply", ["AC", "A, C", "C,A", "A and C", "A C", "(C, A)"])
def test_several_right_letters_must_all_be_named_and_no_others(reply: str) -> None:
    assert names(f"ANSWER: {reply}", "AC")
    assert not any(names(f"ANSWER: {reply}", each) for each in ("A", "C", "AB", "ABC", "BC"))


def imported(tmp_path: Path, **sample: Any) -> Imported:
    (tmp_path / "s.jsonl").write_text(json.dumps({"id": "s", "input": "Which one?", **sample}))
    return Imported(tmp_path / "s.jsonl", tmp_path / "out")


def answers(found: Imported, reply: str) -> bool:
    (case,) = found.cases.values()
    (wanted,) = checks(case)
    return check(wanted, reply).label is Label.HIT


def test_an_empty_choice_keeps_its_letter_and_is_reported(tmp_path: Path) -> None:
    found = imported(tmp_path, choices=["moss", "", "oak"], target="C")
    (case,) = found.cases.values()
    assert "A) moss\nB) \nC) oak" in said(case)[0]
    assert answers(found, "ANSWER: C")
    assert not answers(found, "ANSWER: B")
    assert found.reported("needs a person", "choices")


def test_choices_beyond_the_alphabet_have_digits_and_none_is_dropped_silently(tmp_path: Path) -> None:
    found = imported(tmp_path, choices=[f"choice {number}" for number in range(1, 41)], target="2")
    (case,) = found.cases.values()
    assert "Z) choice 26\n1) choice 27\n2) choice 28" in said(case)[0]
    assert f"{LETTERS[-1]}) choice 35" in said(case)[0]
    assert answers(found, "ANSWER: 2")
    assert found.reported("no home", "choices[35]") or found.reported("no home", "choices.35")
    assert "import-incomplete" in case.tags


@pytest.mark.parametrize("target", ["AC", "A, C", ["A", "C"], ["C", "A"]])
def test_a_target_may_be_several_letters(target: Any, tmp_path: Path) -> None:
    found = imported(tmp_path, choices=["oak", "moss", "fir"], target=target)
    (case,) = found.cases.values()
    assert "LETTERS" in said(case)[0]
    assert answers(found, "ANSWER: A, C")
    assert not answers(found, "ANSWER: A")


def test_a_small_letter_is_a_letter_too(tmp_path: Path) -> None:
    found = imported(tmp_path, choices=["oak", "moss"], target="b")
    assert answers(found, "ANSWER: B")
    assert not answers(found, "A bag of moss")


def test_the_choices_of_a_cell_are_read_as_inspect_reads_them(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(
        'id,input,target,choices\na,Which?,B,"[""oak, old"", ""moss""]"\nb,Which?,C,"oak,,fir"\n'
    )
    found = Imported(tmp_path / "s.csv", tmp_path / "out")
    assert "A) oak, old\nB) moss" in said(found.cases["a"])[0]
    assert "A) oak\nB) \nC) fir" in said(found.cases["b"])[0]

"""What a reason compares is found in the forms that checks really print, and nowhere else."""

from __future__ import annotations

import unittest

import pytest

from viva.cases import find_case, load_case
from viva.reports.page.reason_diffs import MOST_COMPARED, ONLY_SPACES, Compared, compared, shortened

AT = " (line 3 of the check)"


def words(found: Compared | None) -> list[tuple[str, str]]:
    assert found is not None
    return [
        (side.label, "".join(part if isinstance(part, str) else part[0] for part in side.parts)) for side in found.sides
    ]


def marked(found: Compared | None) -> list[list[str]]:
    assert found is not None
    return [[part[0] for part in side.parts if not isinstance(part, str)] for side in found.sides]


@pytest.mark.parametrize(
    ("reason", "values"),
    [
        ("AssertionError: 41 != 42" + AT, [("left", "41"), ("right", "42")]),
        ("AssertionError: assert 'a  b' == 'a b'" + AT, [("left", "'a  b'"), ("right", "'a b'")]),
        ("AssertionError: expected 5050, got 5049" + AT, [("expected", "5050"), ("got", "5049")]),
        ("AssertionError: Expected 'a b' but got 'a  b'" + AT, [("expected", "'a b'"), ("got", "'a  b'")]),
        ("AssertionError: got 4, expected 5" + AT, [("got", "4"), ("expected", "5")]),
        ("AssertionError: got 4 instead of 5" + AT, [("got", "4"), ("instead of", "5")]),
        ("AssertionError: want x, got y" + AT, [("want", "x"), ("got", "y")]),
        ("AssertionError: row 3: expected: 1\n got: 2" + AT, [("expected", "1"), ("got", "2")]),
        ("Expected:\n    1\nGot:\n    2", [("expected", "    1"), ("got", "    2")]),
        ("AssertionError: \nNot equal\n ACTUAL: 1\n DESIRED: 2", [("actual", "1"), ("desired", "2")]),
        ("AssertionError: differ\n[left]:  [1, 2]\n[right]: [1, 3]", [("left", "[1, 2]"), ("right", "[1, 3]")]),
        (
            "AssertionError: content of a.txt: 41, content of b.txt: 42" + AT,
            [("content of a.txt", "41"), ("content of b.txt", "42")],
        ),
    ],
)  # fmt: skip
def test_both_values_are_found_and_the_rest_of_the_reason_is_kept(reason: str, values: list[tuple[str, str]]) -> None:
    found = compared(reason)
    assert words(found) == values
    assert found is not None
    assert reason.startswith(found.head)
    assert reason.endswith(found.tail)
    assert (found.tail == AT) is reason.endswith(AT)


@pytest.mark.parametrize("index", ["positional index", "index"])
@pytest.mark.parametrize("line", [AT, ""])
def test_what_pandas_says_after_the_values_is_not_part_of_them(index: str, line: str) -> None:
    after = f"\nAt {index} 1, first diff: 2 != 3{line}"
    found = compared(f"AssertionError: Series are different\n[left]:  [1, 2]\n[right]: [1, 3]{after}")
    assert words(found) == [("left", "[1, 2]"), ("right", "[1, 3]")]
    assert found is not None
    assert found.tail == after


@pytest.mark.parametrize(
    "reason",
    [
        "AssertionError: the exam ended in round 3 (line 2 of the check)",
        "AssertionError: round 40: The total sum is now 810. (line 4 of the check)",
        "AssertionError: mean is 171.25, the agent said: Done. (line 7 of the check)",
        "FileNotFoundError: [Errno 2] No such file or directory: 'a.txt' (line 1 of the check)",
        "AssertionError: a file was expected (line 1 of the check)",
        "AssertionError: a != b != c",
        "AssertionError: expected 3, got ",
        "",
        "x" * (MOST_COMPARED + 1) + " != y",
    ],
)
def test_reasons_that_compare_nothing_stay_as_they_are(reason: str) -> None:
    assert compared(reason) is None


def test_a_difference_of_spaces_is_marked_and_named() -> None:
    found = compared("AssertionError: expected 'a b\nc', got 'a  b\n\nc'")
    assert found is not None
    assert found.note == ONLY_SPACES
    assert marked(found) == [[], [" ", "\n"]]


def test_only_the_words_that_differ_are_marked() -> None:
    found = compared("AssertionError: 'the sum is 810.' != 'the sum is 820.'")
    assert marked(found) == [["810"], ["820"]]
    assert marked(compared("AssertionError: apples != pears")) == [[], []], "where all differs, marks say nothing"


def test_the_message_of_unittest_is_read() -> None:
    compare = unittest.TestCase().assertEqual
    with pytest.raises(AssertionError) as raised:
        compare("a  b\nc", "a b\nc")
    reason = f"AssertionError: {raised.value}{AT}"
    found = compared(reason)
    assert words(found) == [("left", r"'a  b\nc'"), ("right", r"'a b\nc'")]
    assert marked(found) == [[" "], []]


def test_the_message_of_the_bundled_check_of_two_files_is_read() -> None:
    (point,) = load_case(find_case("same_number_in_two_files")).scoring_points
    assert "content of a.txt: {content_a}, content of b.txt: {content_b}" in (point.eval_code or "")


def test_long_stretches_that_are_the_same_are_shortened_on_request_only() -> None:
    long = "word " * 200
    found = compared(f"AssertionError: {long}one != {long}two")
    assert words(found) == [("left", f"{long}one"), ("right", f"{long}two")]
    assert found is not None
    short = shortened(found.sides[0].parts)
    assert len(str(short[0])) < 200
    assert short[-1] == ("one",)


@pytest.mark.parametrize("body", ["expected ", "got, ", "a: ", "x x: ", "a b c d e f g h != i", "[left] = [right] = "])
def test_hostile_reasons_are_read_to_their_end(body: str) -> None:
    repeated = (body * MOST_COMPARED)[:MOST_COMPARED]
    found = compared(repeated)
    assert found is None or all(side.parts for side in found.sides)

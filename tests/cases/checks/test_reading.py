"""Checks without code are read from case files, said in words, and stored as they stand in the file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from viva.api.given_cases import with_own_hash
from viva.cases import Case, CaseError, load_case
from viva.cases.checks.patterns import LONGEST_PATTERN, compiled
from viva.cases.checks.reader import CheckMistake, check_of, read_check
from viva.cases.checks.words import check_words
from viva.cases.points.words import point_lines
from viva.records.codec import decode, encode, loads

WORDS: list[tuple[dict[str, Any], str]] = [
    ({"contains": "320 euros"}, "the last reply contains '320 euros'"),
    ({"contains": ["a", "b"]}, "the last reply contains 'a' and 'b'"),
    (
        {"contains": {"any": ["a", "b"], "ignore_case": True}, "over": "any_round"},
        "a reply contains 'a' or 'b' in any case of letters",
    ),
    ({"not_contains": "sorry", "over": "all"}, "every reply contains no 'sorry'"),
    ({"not_contains": ["a", "b"]}, "the last reply contains neither 'a' nor 'b'"),
    ({"equals": "Paris", "over": "conversation"}, "what the agent says is 'Paris'"),
    ({"starts_with": "Hi"}, "the last reply begins with 'Hi'"),
    ({"ends_with": {"text": ["!", "?"]}}, "the last reply ends with '!' or '?'"),
    ({"regex": r"\d+ euros?", "over": {"round": 2}}, r"the reply of round 2 matches /\d+ euros?/"),
    ({"regex": {"pattern": "yes|no", "whole": True}}, "the last reply matches as a whole /yes|no/"),
    ({"number": 320}, "the last reply contains the number 320"),
    ({"number": 1234567}, "the last reply contains the number 1234567"),
    ({"number": 1234567.25}, "the last reply contains the number 1234567.25"),
    ({"words": {"max": 2000000}}, "the last reply has at most 2000000 words"),
    ({"number": {"equals": 320, "tolerance": 0.5}}, "the last reply contains the number 320 (from 319.5 to 320.5)"),
    ({"number": {"equals": 200, "percent": 10}}, "the last reply contains the number 200 (from 180 to 220)"),
    ({"number": {"min": 3, "only": True}}, "the last reply contains no number but of at least 3"),
    ({"json": True}, "the last reply is JSON"),
    ({"json": {"equals": {"a": 1}}}, 'the last reply is JSON equal to {"a": 1}'),
    ({"json": {"path": "a[0].b", "equals": None}}, "the last reply is JSON with a value at a[0].b that is null"),
    ({"json": {"inside": True, "schema": {"type": "object"}}}, "the last reply contains JSON of a schema"),
    ({"file": "out/a.txt"}, "the file 'out/a.txt' exists"),
    ({"file": {"path": "a.txt", "exists": False}}, "the file 'a.txt' does not exist"),
    ({"file": {"path": "a.txt", "contains": "x", "words": 3}}, "the file 'a.txt' contains 'x' and has 3 words"),
    ({"tool_called": "refund"}, "the agent calls 'refund' at least once"),
    ({"tool_called": {"name": "refund", "times": 0}}, "the agent never calls 'refund'"),
    (
        {"tool_called": {"name": "r", "arguments": {"id": 7}, "times": 2, "recorded_by": "environment"}},
        "the agent calls 'r' with {\"id\": 7} 2 times, as the environment recorded",
    ),
    ({"tool_order": ["find", "book"], "over": {"round": 1}}, "the agent calls 'find', then 'book' in round 1"),
    ({"tool_f1": {"tools": ["a", "b"], "at_least": 0.5}}, "the agent calls the tools 'a' and 'b' (F1 at least 0.5)"),
    ({"steps": {"max": 5, "kind": "tool"}}, "the agent takes at most 5 steps of the kind tool"),
    ({"similar": {"to": "Hello", "at_least": 0.9}}, "the last reply is similar to 'Hello' by at least 90 %"),
    ({"similar": {"to": "Hello", "distance_at_most": 2}}, "the last reply is at most 2 edits from 'Hello'"),
    ({"words": {"min": 2, "max": 50}}, "the last reply has 2 to 50 words"),
    ({"rounds_at_most": 3}, "the conversation has at most 3 rounds"),
    ({"seconds_at_most": 2.5, "over": "all"}, "the agent takes at most 2.5 seconds in every round"),
    ({"cost_at_most": 0.01}, "the agent costs at most 0.01 US dollars"),
    (
        {"all": [{"contains": "a"}, {"any": [{"regex": "b"}, {"not": {"words": 1}}]}], "over": "any_round"},
        "in one round: the reply contains 'a' and (the reply matches /b/ or not (the reply has 1 word))",
    ),
]

MISTAKES: list[tuple[Any, str]] = [
    ([], "a check must be a mapping with one kind, such as contains, not []"),
    ({"over": "last"}, "a check needs a kind: contains, not_contains"),
    ({"contans": "x"}, "unknown key 'contans'; did you mean 'contains'?"),
    ({"contains": "a", "regex": "b"}, "a check has one kind, and this has contains, regex: combine them"),
    ({"contains": 320}, "contains must be text, not 320; put it in quotes"),
    ({"contains": ""}, "contains is empty"),
    ({"contains": {"any": ["a"], "all": ["b"]}}, "contains needs a text, a list of texts, or a mapping with either"),
    ({"contains": {"text": "a", "case": "b"}}, "unknown key 'text'"),
    (
        {"contains": "a", "over": "lst"},
        "over must be one of last, any_round, all, conversation, or round: N, not 'lst'",
    ),
    ({"contains": "a", "over": {"round": 0}}, "round must be the number of a round, from 1, not 0"),
    ({"contains": "x" * 10_001}, "contains is longer than 10,000 characters"),
    ({"equals": {"trim": False}}, "equals needs text"),
    ({"equals": {"text": "a", "trim": "no"}}, "trim must be true or false, not 'no'"),
    ({"regex": "("}, "regex '(' cannot be used: unclosed group"),
    ({"regex": r"(?<=a)b"}, "it has look-around"),
    ({"regex": r"(a)\1"}, "it refers back to a group"),
    ({"regex": r"\w{200}"}, "it repeats too much"),
    ({"regex": "((a{100}){100}){100}"}, "it repeats too much"),
    ({"regex": "x" * (LONGEST_PATTERN + 1)}, "it is longer than 1,000 characters"),
    ({"regex": {"pattern": "a)(b", "whole": True}}, "unopened group"),
    ({"number": "3"}, "number must be a number, or a mapping with equals, min or max, not '3'"),
    ({"number": True}, "number must be a number"),
    ({"number": float("nan")}, "number must be a number"),
    ({"number": {"tolerance": 1}}, "number needs either equals"),
    ({"number": {"equals": 1, "min": 0}}, "number needs either equals"),
    ({"number": {"equals": 1, "tolerance": -1}}, "tolerance must be a number from 0, not -1"),
    ({"number": {"min": 3, "max": 1}}, "number can never be: min 3 is above max 1"),
    ({"json": False}, "json must be true, or a mapping"),
    ({"json": {"path": "a..b"}}, "a path looks like items[0].price; nothing is known at '..b'"),
    ({"json": {"equals": float("inf")}}, "equals is inf, which JSON cannot hold"),
    ({"json": {"schema": {"typ": "object"}}}, "unknown key 'typ'; did you mean 'type'?"),
    ({"json": {"schema": {"type": "text"}}}, "type must be one of object, array"),
    ({"json": {"schema": {"properties": {"a": {"minimum": "3"}}}}}, "minimum must be a number, not '3'"),
    ({"json": {"schema": {"pattern": "(?=a)"}}}, "it has look-around"),
    ({"json": {"schema": {"$ref": "http://x.example/a"}}}, "$ref must be a reference in this schema"),
    ({"json": {"schema": {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}}}, "lead in a circle"),
    ({"json": {"schema": 3}}, "a schema must be a mapping, true or false, not 3"),
    ({"file": "../secret"}, "file '../secret' leaves the workspace"),
    ({"file": "/etc/passwd"}, "is not relative"),
    ({"file": "."}, "is the workspace itself"),
    ({"file": {"contains": "x"}}, "path must be text, not None"),
    ({"file": {"path": "a", "exists": False, "contains": "x"}}, "a file that does not exist holds nothing"),
    ({"file": "a", "over": "all"}, "over has no effect on file"),
    ({"tool_called": {"name": "a", "arguments": [1]}}, "arguments must be a mapping, not [1]"),
    ({"tool_called": {"name": "a", "times": -1}}, "times must be a whole number from 0"),
    ({"tool_called": {"name": "a", "times": {"min": 2, "max": 1}}}, "times can never be"),
    ({"tool_called": {"name": "a", "exact": True}}, "exact has no effect without arguments"),
    ({"tool_called": {"name": "a", "recorded_by": "enviroment"}}, "did you mean 'environment'?"),
    ({"tool_order": []}, "tool_order must be a list of 1 to 100 texts"),
    ({"tool_f1": {"tools": ["a"], "at_least": 2}}, "at_least must be a number from 0 to 1, not 2"),
    ({"steps": {}}, "steps needs min, max or both"),
    ({"steps": {"max": 1, "kind": "tol"}}, "did you mean 'tool'?"),
    ({"similar": {}}, "to must be text, not None"),
    ({"similar": {"to": "a", "at_least": 1.5}}, "at_least must be a number from 0 to 1"),
    ({"similar": {"to": "a", "at_least": 0.5, "distance_at_most": 1}}, "remove one of them"),
    ({"similar": "x" * 1001}, "similar compares with at most 1,000 characters; this has 1,001"),
    ({"words": 2.5}, "words must be a whole number from 0"),
    ({"rounds_at_most": 1.5}, "rounds_at_most must be a whole number from 0, not 1.5"),
    ({"rounds_at_most": 3, "over": "all"}, "over has no effect on rounds_at_most"),
    ({"cost_at_most": -1}, "cost_at_most must be a number from 0, not -1"),
    ({"all": []}, "all must be a list of checks, not []"),
    ({"not": {"contains": 1}}, "contains must be text, not 1"),
    ({"all": [{"contains": "a"}] * 101}, "holds more than 100 checks"),
]


@pytest.mark.parametrize(("form", "words"), WORDS, ids=lambda each: each if isinstance(each, str) else "")
def test_a_check_is_said_in_words_that_a_person_can_read(form: dict[str, Any], words: str) -> None:
    assert check_words(read_check(form)) == words


@pytest.mark.parametrize(("form", "message"), MISTAKES)
def test_a_mistake_is_reported_with_what_to_change(form: Any, message: str) -> None:
    with pytest.raises(CheckMistake) as raised:
        read_check(form)
    assert any(message in said for said, _ in raised.value.faults), raised.value.faults
    assert len({said for said, _ in raised.value.faults}) == len(raised.value.faults), "one mistake is said once"


def test_checks_inside_of_checks_have_a_maximum_depth() -> None:
    form: dict[str, Any] = {"contains": "a"}
    for _ in range(9):
        form = {"not": form}
    assert read_check(form)
    with pytest.raises(CheckMistake, match="nested deeper than 10 levels"):
        read_check({"not": form})


def written(tmp_path: Path, points: str) -> Path:
    file = tmp_path / "sum" / "case.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"task_description: Ask for 17 + 25.\nscoring_points:\n{points}")
    return file


def test_every_mistake_is_reported_with_its_line(tmp_path: Path) -> None:
    points = """\
  - check: {contains: 42}
  - score_point: It adds.
    check:
      tool_called:
        name: add
        argumnts: {a: 17}
    eval_code: assert 1
  - check:
      any:
        - contains: a
        - regex: (b
    shown: step
"""
    with pytest.raises(CaseError) as raised:
        load_case(written(tmp_path, points))
    assert [(each.line, each.message) for each in raised.value.mistakes] == [
        (3, "check: contains must be text, not 42; put it in quotes"),
        (5, "a scoring point has either check or eval_code: remove one of them"),
        (8, "check: unknown key 'argumnts'; did you mean 'arguments'?"),
        (13, "check: regex '(b' cannot be used: unclosed group"),
        (14, "shown: step is about what a model judges, and this point has check: remove one of them"),
    ]


def test_a_point_needs_nothing_but_its_check(tmp_path: Path) -> None:
    (point,) = load_case(written(tmp_path, "  - check: {contains: '42'}\n")).scoring_points
    assert (point.score_point, point.weight, point.is_checked) == ("The last reply contains '42'.", 1.0, True)


def test_a_point_without_check_and_statement_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="score_point is missing"):
        load_case(written(tmp_path, "  - weight: 1\n"))


def test_a_group_has_no_check(tmp_path: Path) -> None:
    points = "  - score_point: All.\n    check: {contains: a}\n    points:\n      - It is so.\n"
    with pytest.raises(CaseError, match="check has no effect on a point with points of its own"):
        load_case(written(tmp_path, points))


def test_check_counts_as_code_for_shown(tmp_path: Path) -> None:
    (point,) = load_case(written(tmp_path, "  - check: {contains: a}\n    shown: code\n")).scoring_points
    assert point.shown == "code"


def test_checks_are_explained_and_the_same_words_are_not_said_twice(tmp_path: Path) -> None:
    points = "  - check: {contains: '42'}\n  - score_point: It adds.\n    check: {tool_called: add}\n    weight: 3\n"
    assert list(point_lines(load_case(written(tmp_path, points)))) == [
        "25.0% The last reply contains '42'.",
        "75.0% 'It adds.' (checked: the agent calls 'add' at least once)",
    ]


@pytest.mark.parametrize("form", [form for form, _ in WORDS])
def test_a_journal_holds_a_check_as_the_case_file_does(tmp_path: Path, form: dict[str, Any]) -> None:
    case = load_case(written(tmp_path, f"  - check: {json.dumps(form)}\n"))
    stored = decode(Case, loads(encode(case)))
    assert stored.scoring_points == case.scoring_points
    assert stored.scoring_points[0].check == form
    assert check_of(stored.scoring_points[0].check or {}) == read_check(form)


def test_a_date_in_a_check_is_text_as_in_json(tmp_path: Path) -> None:
    points = "  - check: {json: {path: day, equals: 2026-05-01}}\n"
    (point,) = load_case(written(tmp_path, points)).scoring_points
    assert point.check == {"json": {"path": "day", "equals": "2026-05-01"}}


def test_a_stored_check_of_a_kind_that_is_not_known_is_said(tmp_path: Path) -> None:
    case = load_case(written(tmp_path, "  - check: {contains: a}\n"))
    later = replace(case, scoring_points=(replace(case.scoring_points[0], check={"smells": "good"}),))
    assert "its check cannot be read: unknown key 'smells'" in next(point_lines(later))


def test_a_program_makes_a_case_with_a_check(tmp_path: Path) -> None:
    case = load_case(written(tmp_path, "  - check: {contains: a}\n"))
    made = replace(case, scoring_points=(replace(case.scoring_points[0], check={"contains": 3}),))
    with pytest.raises(CaseError, match="check: contains must be text, not 3"):
        with_own_hash(made)


@pytest.mark.parametrize("pattern", ["(?x) a b # a comment", "a|ab", "(?i)ab", "a$|b"])
def test_a_whole_match_is_one_of_the_whole_text(pattern: str) -> None:
    whole = compiled(pattern, whole=True)
    assert whole("ab") is (pattern != "a$|b")
    assert not whole("xab")
    assert not whole("abx")

"""Every kind of check, with what fulfils it and what does not; the opposite of each check decides the other way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.judge.checks.talks import call, check, does, talk, thought
from viva.records.transcript import Transcript
from viva.records.verdict import Label

PERSON = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "age": {"minimum": 0}}}
LONG = "The weather in Vienna is fine today, with some clouds in the evening."

Given = str | Transcript

TABLE: list[tuple[dict[str, Any], Given, Given]] = [
    # what the reply contains
    ({"contains": "320 euros"}, "It costs 320 euros.", "It costs 300 euros."),
    ({"contains": ["a", "b"]}, "b and a", "only a"),
    ({"contains": {"all": ["A", "b"], "ignore_case": True}}, "B, a", "B"),
    ({"contains": {"any": ["yes", "sure"]}}, "sure", "no"),
    ({"contains": {"any": ["STRASSE"], "ignore_case": True}}, "Hauptstraße 1", "Hauptweg 1"),
    ({"contains": "a\nb"}, "x a\nb", "a b"),
    ({"not_contains": "sorry"}, "Here you are.", "I am sorry."),
    ({"not_contains": ["x", "y"]}, "abc", "aby"),
    ({"not_contains": {"text": "Sorry", "ignore_case": True}}, "Fine.", "SORRY!"),
    # what the reply is
    ({"equals": "Paris"}, " Paris\n", "Paris."),
    ({"equals": ["yes", "no"]}, "no", "maybe"),
    ({"equals": {"text": "Paris", "ignore_case": True}}, "PARIS", "Lyon"),
    ({"equals": {"text": "Paris", "trim": False}}, "Paris", "Paris\n"),
    ({"starts_with": "Dear"}, "\nDear Sir", "Hello, Dear"),
    ({"starts_with": {"text": ["Hi", "hello"], "ignore_case": True}}, "HELLO you", "Good day"),
    ({"ends_with": "?"}, "Which one? ", "This one."),
    ({"ends_with": {"text": [".", "!"]}}, "Yes!", "Yes"),
    # patterns
    ({"regex": r"\d+ euros?"}, "1 euro", "one euro"),
    ({"regex": r"^\s*\{"}, ' {"a": 1}', 'x {"a": 1}'),
    ({"regex": {"pattern": "^total", "ignore_case": True}}, "Total: 3", "The total"),
    ({"regex": {"pattern": r"\d{4}-\d\d-\d\d", "whole": True}}, "2026-05-01\n", "on 2026-05-01"),
    ({"regex": {"pattern": "a|ab", "whole": True}}, "ab", "abc"),
    ({"regex": r"(?m)^- .+$"}, "List:\n- one", "List: - one"),
    # numbers
    ({"number": 320}, "It costs 320 euros.", "It costs 3200 euros."),
    ({"number": 1234.5}, "1,234.50 in all", "1,234.60 in all"),
    ({"number": 1234.5}, "1.234,50 Euro", "12.345,0 Euro"),
    ({"number": -5}, "It is -5 degrees.", "from 3-5 degrees"),
    ({"number": {"equals": 3.14159, "tolerance": 0.01}}, "about 3.14", "about 3.1"),
    ({"number": {"equals": 200, "percent": 10}}, "181 or so", "179 or so"),
    ({"number": {"min": 10, "max": 20}}, "5 or 15", "5 or 25"),
    ({"number": {"max": 3, "only": True}}, "1, then 2", "1, then 4"),
    ({"number": 0.3}, f"{0.1 + 0.2}", "0.31"),
    # JSON
    ({"json": True}, '{"a": [1, 2]}', "{'a': 1}"),
    ({"json": True}, '```json\n{"a": 1}\n```', '```json\n{"a": 1\n```'),
    ({"json": {"equals": {"b": [1, None], "a": 2}}}, '{"a": 2.0, "b": [1, null]}', '{"a": 2, "b": [1]}'),
    ({"json": {"path": "items[0].price", "equals": 3}}, '{"items": [{"price": 3}]}', '{"items": []}'),
    ({"json": {"path": "items[-1]", "equals": "z"}}, '{"items": ["a", "z"]}', '{"items": ["z", "a"]}'),
    ({"json": {"path": "ok", "equals": True}}, '{"ok": true}', '{"ok": 1}'),
    ({"json": {"inside": True}}, 'Here: [{"a": 1}] - fine', "Here: [a] {b}"),
    ({"json": {"inside": True, "path": "a", "equals": 2}}, '{"a": 1} or {"a": 2}', '{"a": 1} or {"a": 3}'),
    ({"json": {"schema": PERSON}}, '{"name": "Ann", "age": 3}', '{"name": "Ann", "age": -3}'),
    ({"json": {"path": "p", "schema": {"enum": ["a", "b"]}}}, '{"p": "b"}', '{"p": "c"}'),
    # words, and likeness
    ({"words": 3}, "one two  three", "one two"),
    ({"words": {"max": 2}}, "", "one two three"),
    ({"words": {"min": 2, "max": 4}}, "a b c", "a b c d e"),
    ({"similar": LONG}, LONG.replace("clouds", "cloud"), "Something else entirely, and about as long as it is."),
    ({"similar": {"to": "kitten", "distance_at_most": 3}}, "sitting", "sleeping"),
    ({"similar": {"to": "KITTEN", "at_least": 1, "ignore_case": True}}, " kitten ", "kitte"),
    # over rounds
    ({"contains": "a", "over": "any_round"}, talk("x", "a", "y"), talk("x", "y")),
    ({"contains": "a", "over": "all"}, talk("a", "ab"), talk("a", "b")),
    ({"contains": "a", "over": "last"}, talk("x", "a"), talk("a", "x")),
    ({"contains": "a", "over": {"round": 1}}, talk("a", "x"), talk("x", "a")),
    ({"contains": ["a", "b"], "over": "conversation"}, talk("a", "b"), talk("a", "c")),
    ({"words": {"max": 3}, "over": "conversation"}, talk("a b", "c"), talk("a b", "c d")),
    ({"all": [{"contains": "a"}, {"contains": "b"}], "over": "any_round"}, talk("x", "ab"), talk("a", "b")),
    # tools
    ({"tool_called": "book"}, talk(does(call("book")), "ok"), talk(does(call("find")))),
    ({"tool_called": "mcp__*__book"}, talk(does(call("mcp__desk__book"))), talk(does(call("book")))),
    (
        {"tool_called": {"name": "book", "arguments": {"seats": 2}}},
        talk(does(call("book", {"seats": 2.0, "day": "Friday"}))),
        talk(does(call("book", {"seats": 3}), call("find", {"seats": 2}))),
    ),
    (
        {"tool_called": {"name": "book", "arguments": {"seats": 2}, "exact": True}},
        talk(does(call("book", '{"seats": 2}'))),
        talk(does(call("book", {"seats": 2, "day": "Friday"}))),
    ),
    ({"tool_called": {"name": "book", "times": 1}}, talk(does(call("book"))), talk(does(call("book"), call("book")))),
    ({"tool_called": {"name": "book", "times": 0}}, talk(does(call("find"))), talk(does(call("book")))),
    (
        {"tool_called": {"name": "book", "times": {"max": 1}}},
        talk(does(call("find"))),
        talk(does(call("book")), does(call("book"))),
    ),
    (
        {"tool_called": {"name": "book", "recorded_by": "environment"}},
        talk(does(call("book", environment=True))),
        talk(does(call("book")), servers={"desk": ["book"]}),
    ),
    ({"tool_called": "book", "over": {"round": 2}}, talk("a", does(call("book"))), talk(does(call("book")), "a")),
    (
        {"tool_order": ["find", "book"]},
        talk(does(call("find"), call("x")), does(call("book"))),
        talk(does(call("book"), call("find"))),
    ),
    (
        {"tool_order": {"tools": ["find", "book"], "exact": True}},
        talk(does(call("find"), call("book"))),
        talk(does(call("find"), call("x"), call("book"))),
    ),
    (
        {"tool_f1": {"tools": ["a", "b"], "at_least": 0.8}},
        talk(does(call("a"), call("b"), call("c"))),
        talk(does(call("a"), call("c"))),
    ),
    ({"steps": {"max": 2}}, talk(does(call("a"), thought())), talk(does(call("a"), call("b"), thought()))),
    ({"steps": {"min": 1, "kind": "think"}}, talk(does(thought())), talk(does(call("a")))),
    # figures
    ({"rounds_at_most": 2}, talk("a", "b"), talk("a", "b", "c")),
    ({"seconds_at_most": 1}, talk("a", "b", seconds=0.5), talk("a", "b", seconds=0.6)),
    ({"seconds_at_most": 0.55, "over": "all"}, talk("a", "b", seconds=0.5), talk("a", "b", seconds=0.6)),
    ({"cost_at_most": 0.02}, talk("a", "b", cost=0.01), talk("a", "b", "c", cost=0.01)),
    # combined
    ({"all": [{"contains": "a"}, {"not": {"contains": "b"}}]}, "a", "ab"),
    ({"any": [{"equals": "a"}, {"regex": "^b"}]}, "bc", "c"),
    ({"not": {"all": [{"contains": "a"}, {"contains": "b"}]}}, "a", "ab"),
]


@pytest.mark.parametrize(("form", "fulfils", "fails"), TABLE, ids=[str(form)[:70] for form, _, _ in TABLE])
def test_a_check_and_its_opposite_decide(form: dict[str, Any], fulfils: Given, fails: Given) -> None:
    assert check(form, fulfils).label is Label.HIT
    assert check(form, fails).label is Label.MISS
    assert check({"not": form}, fulfils).label is Label.MISS
    assert check({"not": form}, fails).label is Label.HIT


def test_the_table_has_sixty_checks() -> None:
    assert len(TABLE) >= 60


FILES: list[tuple[dict[str, Any] | str, bool]] = [
    ("report.md", True),
    ("out/data.json", True),
    ("none.md", False),
    ("out", False),
    ("link.md", False),
    ("outside/secret.txt", False),
    ("pipe", False),
    ({"path": "none.md", "exists": False}, True),
    ({"path": "report.md", "exists": False}, False),
    ({"path": "report.md", "contains": "Total"}, True),
    ({"path": "report.md", "not_contains": "Total"}, False),
    ({"path": "report.md", "equals": "# Report\nTotal: 320 euros"}, True),
    ({"path": "report.md", "equals": "# Report"}, False),
    ({"path": "report.md", "regex": "(?m)^Total: \\d+ euros$", "words": 5}, True),
    ({"path": "report.md", "regex": "(?m)^Total: \\d+ euros$", "words": 6}, False),
    ({"path": "report.md", "number": 320}, True),
    ({"path": "out/data.json", "json": {"path": "a[1]", "equals": 2}}, True),
    ({"path": "out/data.json", "json": {"path": "a[2]", "equals": 2}}, False),
    ({"path": "bytes.bin", "contains": "a"}, True),
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "out").mkdir(parents=True)
    (folder / "report.md").write_text("# Report\nTotal: 320 euros\n")
    (folder / "out" / "data.json").write_text('{"a": [1, 2]}')
    (folder / "bytes.bin").write_bytes(b"a\xff\xfe\0b")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.txt").write_text("secret")
    (folder / "outside").symlink_to(tmp_path / "elsewhere")
    (folder / "link.md").symlink_to(folder / "report.md")
    os.mkfifo(folder / "pipe")
    return folder


@pytest.mark.parametrize(("form", "hit"), FILES, ids=str)
def test_a_check_of_a_file_decides(workspace: Path, form: Any, hit: bool) -> None:
    assert check({"file": form}, "Done.", workspace).label is (Label.HIT if hit else Label.MISS)
    assert check({"not": {"file": form}}, "Done.", workspace).label is (Label.MISS if hit else Label.HIT)


def test_long_times_are_told_in_full() -> None:
    assert check({"seconds_at_most": 1234.5}, talk("a", seconds=1234.56)).got == "1234.56 seconds"

"""Measures checks without code: each kind on a usual reply, and all of them on replies that are made to be slow."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.table import Figure
from viva.cases.checks.data import CheckNode
from viva.cases.checks.reader import read_check
from viva.judge.checks.conversation import CheckedConversation
from viva.judge.checks.evaluation import evaluate_check
from viva.records.transcript import LIVE, Reply, Round, Step, Transcript, Usage

MICROSECONDS, MILLISECONDS = 50.0, 5.0
REPEATS = 300
REPLY = (
    "I have booked a table for two on Friday at 19:30, for Ada. The menu costs 320.50 euros in all, and the"
    " confirmation is AB-12345. Please tell me if anybody is allergic to nuts, so that the kitchen knows. "
) * 3
JSON_REPLY = (
    '```json\n{"order": {"id": 7, "items": [{"name": "tea", "price": 3.5}, {"name": "cake", "price": 4}]}}\n```'
)
SCHEMA = {
    "type": "object",
    "required": ["order"],
    "properties": {"order": {"properties": {"items": {"items": {"required": ["name", "price"]}}}}},
}
USUAL: dict[str, dict[str, Any]] = {
    "contains": {"contains": ["Friday", "320.50 euros"]},
    "contains, case ignored": {"contains": {"all": ["FRIDAY"], "ignore_case": True}},
    "not_contains": {"not_contains": ["sorry", "cannot"]},
    "starts_with": {"starts_with": "I have"},
    "ends_with": {"ends_with": "knows."},
    "equals": {"equals": "yes"},
    "regex": {"regex": r"[A-Z]{2}-\d{5}"},
    "number": {"number": {"equals": 320.5, "tolerance": 0.01}},
    "json": {"json": {"path": "order.items[0].price", "equals": 3.5}},
    "json with a schema": {"json": {"schema": SCHEMA}},
    "words": {"words": {"max": 200}},
    "similar": {"similar": {"to": "I have booked a table for two.", "at_least": 0.1}},
    "file": {"file": {"path": "note.md", "contains": "Friday"}},
    "tool_called": {"tool_called": {"name": "book", "arguments": {"seats": 2}, "times": 1}},
    "tool_order": {"tool_order": ["search", "book"]},
    "tool_f1": {"tool_f1": ["search", "book"]},
    "steps": {"steps": {"max": 10}},
    "rounds_at_most": {"rounds_at_most": 5},
    "seconds_at_most": {"seconds_at_most": 60},
    "cost_at_most": {"cost_at_most": 1},
    "all, any and not": {"all": [{"any": [{"contains": "x"}, {"contains": "Ada"}]}, {"not": {"contains": "sorry"}}]},
}
HOSTILE: dict[str, dict[str, Any]] = {
    **USUAL,
    "regex (a+)+$": {"regex": "(a+)+$"},
    "regex with counts": {"regex": "(a{1,20}){1,20}b"},
    "number, only": {"number": {"min": 0, "only": True}},
    "json inside of words": {"json": {"inside": True, "path": "a.b[0]", "equals": 1}},
    "json without doubles": {"json": {"inside": True, "schema": {"uniqueItems": True}}},
    "similar to a long text": {"similar": {"to": "kitten " * 100, "at_least": 0.1}},
    "contains in every round": {"contains": "needle", "over": "all"},
    "a large file": {"file": {"path": "large.txt", "regex": "(x|y)+z"}},
    "a pattern of tools": {"tool_called": {"name": "*a*b*c*", "times": 2}},
}
SIZE = 50_000_000
PARTS = ("a", "[", '{"a":', "[1,", "1 ", "1,111", "9", "\ud800", "ﬁ", "\\u0000", '"', "x y ", "needl", "1e400 ")
"""What hostile replies repeat, up to 50 MB."""


def conversation(replies: tuple[str, ...], steps: tuple[Step, ...], workspace: Path) -> CheckedConversation:
    """Return a conversation with these replies."""
    answers = [Reply(text, steps) for text in replies]
    rounds = tuple(
        Round(number, "Go on.", reply.text, reply.steps, usage=Usage(10, 5, calls=1, cost=0.001), agent_seconds=1.0)
        for number, reply in enumerate(answers, 1)
    )
    return CheckedConversation(Transcript(rounds, LIVE), workspace)


def least_seconds(node: CheckNode, given: CheckedConversation, times: int) -> float:
    """Return the least CPU time of several evaluations: what other processes take does not count."""
    found = []
    for _ in range(times):
        began = time.thread_time()
        evaluate_check(node, given)
        found.append(time.thread_time() - began)
    return min(found)


def figures() -> list[Figure]:
    """Measure usual replies first, then hostile ones."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "note.md").write_text("A table on Friday.\n")
        with open(folder / "large.txt", "wb") as file:
            file.write(b"x" * 10_000_000)
            os.truncate(file.fileno(), 2**34)
        return [*_usual(folder), *_hostile(folder)]


def _usual(folder: Path) -> Iterator[Figure]:
    steps = (
        Step("1", tool="search", tool_input={"day": "Friday"}, result="3 tables"),
        Step("2", tool="book", tool_input={"seats": 2}, result="booked"),
    )
    for name, form in USUAL.items():
        reply = JSON_REPLY if "json" in name else REPLY
        given, node = conversation((reply, reply), steps, folder), read_check(form)
        yield Figure(name, least_seconds(node, given, REPEATS) * 1e6, "us", MICROSECONDS)


def _hostile(folder: Path) -> Iterator[Figure]:
    slowest: dict[str, tuple[float, str]] = {}
    steps = tuple(Step(str(each), tool="abc" * 300, tool_input={"a": "x" * 5_000}) for each in range(300))
    for part in PARTS:
        reply = part * (SIZE // len(part))
        given = conversation((reply[:2_000],) * 300 + (reply,), steps, folder)
        for name, form in HOSTILE.items():
            taken = least_seconds(read_check(form), given, 3) * 1e3
            slowest[name] = max(slowest.get(name, (0.0, "")), (taken, part))
    name, (taken, part) = max(slowest.items(), key=lambda item: item[1])
    note = f"{name}, on {part!r} to {SIZE // 10**6} MB"
    yield Figure("the slowest check on a hostile conversation of 301 rounds", taken, "ms", MILLISECONDS, note=note)

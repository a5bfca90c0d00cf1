"""Whatever an agent writes, no check raises, and none takes longer than a few milliseconds."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.judge.checks.talks import call, check, does, talk
from viva.cases.checks.reader import read_check
from viva.judge.checks.conversation import CheckedConversation
from viva.judge.checks.evaluation import CUT, evaluate_check
from viva.judge.checks.looked_at import MOST_CHARACTERS
from viva.records.transcript import Reply, Round, Step, Transcript
from viva.records.verdict import Label

FORMS: list[dict[str, Any]] = [
    {"contains": "needle"},
    {"contains": {"all": ["ß", "needle"], "ignore_case": True}},
    {"not_contains": ["needle"] * 20},
    {"equals": {"text": "ΣΑΣ", "ignore_case": True}},
    {"starts_with": {"text": "İ", "ignore_case": True}},
    {"ends_with": "z"},
    {"regex": "(a+)+$"},
    {"regex": r"^(([a-z])+.)+[A-Z]([a-z])+$"},
    {"regex": {"pattern": "(?:x+x+)+y", "ignore_case": True, "whole": True}},
    {"regex": r"\w+@\w+\.com"},
    {"number": 3.5},
    {"number": {"min": 0, "only": True}},
    {"json": True},
    {"json": {"inside": True, "path": "a.b[0]", "equals": {"c": [1, None]}}},
    {"json": {"inside": True, "schema": {"uniqueItems": True, "items": {"enum": [1, "a"]}}}},
    {"json": {"schema": {"$ref": "#/$defs/n", "$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}}}},
    {"similar": {"to": "kitten " * 100, "at_least": 0.1, "ignore_case": True}},
    {"similar": {"to": "kitten", "distance_at_most": 3}},
    {"words": {"min": 3, "max": 10}},
    {"tool_called": {"name": "*a*b*", "arguments": {"a": {"b": [1]}}, "times": 2}},
    {"tool_order": {"tools": ["a*", "*b", "c"]}},
    {"tool_f1": ["a", "*"]},
    {"steps": {"max": 3, "kind": "tool"}},
    {"rounds_at_most": 3},
    {"seconds_at_most": 1},
    {"cost_at_most": 1},
    {"contains": "needle", "over": "all"},
    {"not": {"all": [{"number": 1}, {"any": [{"words": 3}, {"not": {"json": True}}]}]}, "over": "any_round"},
]
CHECKS = [read_check(form) for form in FORMS]
PARTS = [
    "a", "ab ", "A", "x", "needle", "[", "{", '{"a":', "[1,", '"', "\\", "\\u0000", "1", "9" * 30, "1,111", "1.", "-",
    "e9", "NaN", "Infinity", "1e999", "\ud800", "\0", "\n", " ", "ß", "İ", "ﬁ", "\U0001f600", "\u202e", "\u0345",
    "```json\n", "@", "true,", "]", "}", ":", "'",
]  # fmt: skip
TEXTS = st.lists(st.tuples(st.sampled_from(PARTS) | st.text(max_size=5), st.integers(1, 200_000)), max_size=4).map(
    lambda parts: "".join((part * times)[:200_000] for part, times in parts)
)
ARGUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=5,
)
STEPS = st.builds(
    lambda tool, given, result: Step("s", tool=tool, tool_input=given, result=result),
    st.sampled_from(["a", "ab", "cab", "\ud800", "", None]),
    ARGUMENTS | TEXTS,
    st.none() | st.just("done"),
)
ROUNDS = st.builds(
    lambda said, steps, seconds, error: Round(1, "Hi.", said, tuple(steps), error=error, agent_seconds=seconds),
    st.none() | TEXTS,
    st.lists(STEPS, max_size=4),
    st.floats(),
    st.none() | st.just("it failed"),
)
MILLISECONDS = 5.0


def least_time(form: int, transcript: Transcript, workspace: Path | None = None) -> float:
    """Return the least time of three that a check takes, in milliseconds, so that other processes do not count."""
    times = []
    for _ in range(3):
        conversation = CheckedConversation(transcript, workspace)
        began = time.thread_time()
        found = evaluate_check(CHECKS[form], conversation)
        times.append((time.thread_time() - began) * 1e3)
        assert found.label in (Label.HIT, Label.MISS, Label.UNSURE)
        assert len(found.got) < 2_000, "what is shown is short, whatever there is"
        if times[-1] < MILLISECONDS:
            break
    return min(times)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ROUNDS, max_size=3), st.sampled_from(range(len(CHECKS))))
@example([Round(1, "Hi.", "[" * 200_000)], 12)
@example([Round(1, "Hi.", "1 " * 100_000)], 10)
@example([Round(1, "Hi.", '{"' * 100_000)], 13)
def test_no_conversation_makes_a_check_raise_or_take_long(rounds: list[Round], form: int) -> None:
    assert least_time(form, Transcript(tuple(rounds))) < MILLISECONDS, FORMS[form]


@pytest.mark.parametrize("part", PARTS, ids=ascii)
def test_a_reply_that_repeats_a_part_without_end_takes_no_check_long(part: str) -> None:
    reply = talk((part * 200_000)[:200_000], does(call("a" * 1000, {"a": part * 1000})))
    slow = {str(FORMS[form]): taken for form in range(len(CHECKS)) if (taken := least_time(form, reply)) > MILLISECONDS}
    assert slow == {}


def test_many_rounds_and_steps_take_no_check_long() -> None:
    steps = tuple(call(f"tool{number % 7}", {"a": number}) for number in range(20))
    crowded = talk(*[Reply("word " * 400, steps)] * 300)
    slow = {
        str(FORMS[form]): taken for form in range(len(CHECKS)) if (taken := least_time(form, crowded)) > MILLISECONDS
    }
    assert slow == {}


LONG = "x " * MOST_CHARACTERS
BOUNDS: list[tuple[dict[str, Any], str, Label]] = [
    ({"contains": "needle"}, "needle " + LONG * 9, Label.HIT),
    ({"contains": "needle"}, LONG * 9 + "needle", Label.UNSURE),
    ({"not_contains": "needle"}, LONG * 9, Label.UNSURE),
    ({"not_contains": "needle"}, "needle " + LONG * 9, Label.MISS),
    ({"equals": "x"}, LONG, Label.MISS),
    ({"starts_with": "x x"}, LONG, Label.HIT),
    ({"ends_with": "x"}, LONG, Label.UNSURE),
    ({"regex": "x x"}, LONG, Label.HIT),
    ({"regex": "x$"}, LONG, Label.UNSURE),
    ({"regex": "needle"}, LONG, Label.UNSURE),
    ({"number": 7}, "7 " + LONG, Label.HIT),
    ({"number": 7}, "1 " * 300 + "7", Label.UNSURE),
    ({"number": {"max": 7, "only": True}}, "8 " + LONG, Label.MISS),
    ({"json": True}, "[" * 1_000 + "]" * 1_000, Label.UNSURE),
    ({"json": True}, "9" * 5_000, Label.UNSURE),
    ({"json": {"schema": {"items": {"type": "number"}}}}, f"[{'1,' * 9_000}1]", Label.UNSURE),
    ({"json": {"inside": True}}, "[1" * 200, Label.UNSURE),
    ({"words": {"max": 10}}, LONG, Label.MISS),
    ({"words": {"min": 10}}, LONG, Label.HIT),
    ({"words": {"max": 10**6}}, LONG, Label.UNSURE),
    ({"similar": "kitten"}, LONG, Label.MISS),
    ({"similar": {"to": "kitten", "at_least": 0}}, LONG, Label.UNSURE),
]


@pytest.mark.parametrize(("form", "reply", "label"), BOUNDS, ids=[f"{form} {label}" for form, _, label in BOUNDS])
def test_what_is_not_looked_at_makes_a_check_unsure_only_where_it_could_matter(
    form: dict[str, Any], reply: str, label: Label
) -> None:
    found = check(form, reply)
    assert found.label is label
    opposite = {Label.HIT: Label.MISS, Label.MISS: Label.HIT}.get(label, label)
    assert check({"not": form}, reply).label is opposite


def test_a_verdict_says_that_only_a_part_was_looked_at() -> None:
    assert CUT in check({"contains": "needle"}, "x" * MOST_CHARACTERS * 9).got


def test_a_file_of_ten_megabytes_takes_no_check_long(tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_text("x" * 10_000_000)
    (tmp_path / "sparse.bin").touch()
    os.truncate(tmp_path / "sparse.bin", 2**40)
    conversation = CheckedConversation(talk("Done."), tmp_path)
    for form in ({"contains": "needle"}, {"equals": "x"}, {"json": True}, {"similar": "x"}, {"regex": "(a|x)+y"}):
        for name in ("large.txt", "sparse.bin"):
            node = read_check({"file": {"path": name, **form}})
            times = []
            for _ in range(3):
                began = time.thread_time()
                found = evaluate_check(node, conversation)
                times.append((time.thread_time() - began) * 1e3)
            assert min(times) < MILLISECONDS
            assert found.label is not Label.HIT


@pytest.mark.parametrize("name", ["a" * 300, "\ud800", "a/b/c", "link/a.txt", "loop"])
def test_a_file_that_cannot_be_there_is_missing(tmp_path: Path, name: str) -> None:
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "loop").symlink_to("loop")
    assert check({"file": name}, talk("Done."), tmp_path).label is Label.MISS

"""Whatever an agent writes, no check raises, and none does more than a few milliseconds allow.

Tests count calls and memory; `python -m bench checks` measures the time.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.judge.checks.effort import MOST_BYTES, MOST_CALLS, bytes_of, calls_of
from tests.judge.checks.talks import call, check, does, talk
from viva.cases.checks.reader import CheckMistake, read_check
from viva.judge.checks.conversation import CheckedConversation
from viva.judge.checks.evaluation import CUT, evaluate_check
from viva.judge.checks.found import CheckFound
from viva.judge.checks.looked_at import MOST_CHARACTERS
from viva.records.codec import encode
from viva.records.transcript import LIVE, Reply, Round, Step, Transcript
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


def evaluated(form: int, transcript: Transcript, workspace: Path | None = None) -> int:
    """Evaluate a check, and return how many functions that calls."""
    conversation = CheckedConversation(transcript, workspace)
    found: list[CheckFound] = []
    calls = calls_of(lambda: found.append(evaluate_check(CHECKS[form], conversation)))
    assert found[0].label in (Label.HIT, Label.MISS, Label.UNSURE)
    assert len(found[0].got) < 2_000, "what is shown is short, whatever there is"
    return calls


def laborious(transcript: Transcript) -> dict[str, int]:
    """Return the checks that call too many functions."""
    found = {str(FORMS[form]): evaluated(form, transcript) for form in range(len(CHECKS))}
    return {form: calls for form, calls in found.items() if calls > MOST_CALLS}


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ROUNDS, max_size=3), st.sampled_from(range(len(CHECKS))))
@example([Round(1, "Hi.", "[" * 200_000)], 12)
@example([Round(1, "Hi.", "\U00010027" * 199)], 10)
@example([Round(1, "Hi.", "1 " * 100_000)], 10)
@example([Round(1, "Hi.", '{"' * 100_000)], 13)
def test_no_conversation_makes_a_check_raise_or_do_much(rounds: list[Round], form: int) -> None:
    assert evaluated(form, Transcript(tuple(rounds))) <= MOST_CALLS, FORMS[form]


@pytest.mark.parametrize("part", PARTS, ids=ascii)
def test_no_check_does_much_with_a_reply_that_repeats_a_part_without_end(part: str) -> None:
    reply = talk((part * 200_000)[:200_000], does(call("a" * 1000, {"a": part * 1000})))
    assert laborious(reply) == {}


def test_no_check_does_much_with_many_rounds_and_steps() -> None:
    steps = tuple(call(f"tool{number % 7}", {"a": number}) for number in range(20))
    crowded = talk(*[Reply("word " * 400, steps)] * 300)
    assert laborious(crowded) == {}


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


def test_no_check_copies_a_long_reply_or_a_long_file(tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_text("x" * 20_000_000)
    (tmp_path / "sparse.bin").touch()
    os.truncate(tmp_path / "sparse.bin", 2**40)
    of_files = [
        {"file": {"path": name, **form}}
        for name in ("large.txt", "sparse.bin")
        for form in ({"contains": "needle"}, {"equals": "x"}, {"json": True}, {"similar": "x"}, {"regex": "(a|x)+y"})
    ]
    over_all = [{"contains": "needle", "over": "conversation"}, {"words": {"max": 3}, "over": "conversation"}]
    for part in ("x", "\ud800 "):
        given = talk("short", part * (50_000_000 // len(part)))
        for form in (*FORMS, *of_files, *over_all):
            conversation = CheckedConversation(given, tmp_path)
            assert bytes_of(partial(evaluate_check, read_check(form), conversation)) < MOST_BYTES, form


@pytest.mark.parametrize("name", ["a" * 300, "\ud800", "a/b/c", "link/a.txt", "loop"])
def test_a_file_that_cannot_be_there_is_missing(tmp_path: Path, name: str) -> None:
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "loop").symlink_to("loop")
    assert check({"file": name}, talk("Done."), tmp_path).label is Label.MISS


BY_HAND: list[tuple[dict[str, Any], str, Label]] = [
    # patterns that take other engines exponential time
    ({"regex": "^(a+)+$"}, "a" * 5_000 + "!", Label.MISS),
    ({"regex": "(.*a){20}$"}, "a" * 3_000, Label.HIT),
    ({"regex": r"^(\w+\s?)*$"}, "word " * 800 + "!", Label.MISS),
    # numbers
    ({"number": {"min": 0}}, "1e400", Label.MISS),
    ({"number": {"min": 0}}, "NaN, Infinity and -inf", Label.MISS),
    ({"number": 12}, "\uff11\uff12 euros", Label.HIT),
    ({"number": 12}, "\u0661\u0662", Label.HIT),
    ({"number": 1234567.5}, "1,234,567.5", Label.HIT),
    ({"number": 1234567}, "1\u00a0234\u00a0567", Label.HIT),
    ({"number": 1234567}, "1'234'567", Label.HIT),
    ({"number": 2}, "x\u00b2", Label.MISS),
    ({"number": {"min": 0}}, "9" * 10_000, Label.MISS),
    ({"number": 1e15}, "1000000000000000", Label.HIT),
    # JSON
    ({"json": True}, "[" * 100_000, Label.UNSURE),
    ({"json": True}, "[" * 100_000 + "]" * 100_000, Label.UNSURE),
    ({"json": {"inside": True}}, '{"a":' * 100_000, Label.UNSURE),
    ({"json": True}, "NaN", Label.MISS),
    ({"json": True}, "[Infinity]", Label.MISS),
    ({"json": {"schema": {"type": "number", "multipleOf": 3}}}, "1e400", Label.UNSURE),
    ({"json": {"schema": {"multipleOf": 0.1}}}, "1e308", Label.HIT),
    ({"json": {"schema": {"type": "integer"}}}, "-1E+0400", Label.UNSURE),
    ({"json": {"inside": True, "path": "a", "equals": 1}}, 'See {"a": 1e999}.', Label.UNSURE),
    ({"json": {"path": "a", "equals": 2}}, '{"a": 1, "a": 2}', Label.HIT),
    ({"json": {"path": "a", "equals": 1}}, '{"a": 1, "a": 2}', Label.MISS),
    ({"json": {"path": "a", "equals": "\ufffd"}}, '{"a": "\\ud800"}', Label.MISS),
    # half characters
    ({"contains": "?"}, "\ud800", Label.HIT),
    ({"equals": "a"}, "a\udfff", Label.MISS),
    ({"regex": "^.$"}, "\ud800", Label.HIT),
    ({"words": 1}, "\ud800", Label.HIT),
    ({"similar": {"to": "a", "distance_at_most": 1}}, "\ud800", Label.HIT),
]


@pytest.mark.parametrize(("form", "reply", "label"), BY_HAND, ids=[ascii(each)[:60] for each in BY_HAND])
def test_what_is_made_to_break_a_check_decides_it_like_anything_else(
    form: dict[str, Any], reply: str, label: Label
) -> None:
    found: list[CheckFound] = []
    assert calls_of(lambda: found.append(check(form, reply))) <= MOST_CALLS
    assert found[0].label is label, found[0].got
    encode(found[0])


def test_a_schema_that_multiplies_itself_is_given_up_and_never_fetches_anything() -> None:
    doubled = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**doubled, "d40": {"type": "string"}}}
    form = {"json": {"schema": schema}}
    assert calls_of(lambda: read_check(form)) <= 20 * MOST_CALLS
    node, conversation = read_check(form), CheckedConversation(talk('"x"'))
    assert calls_of(lambda: evaluate_check(node, conversation)) <= 2 * MOST_CALLS
    assert evaluate_check(node, conversation).label is Label.UNSURE


@pytest.mark.parametrize("place", ["http://127.0.0.1:9/a.json", "file:///etc/passwd", "other.json", "urn:x:y", "//h/a"])
def test_a_schema_elsewhere_is_a_mistake(place: str) -> None:
    for schema in ({"$ref": place}, {"items": {"$dynamicRef": place}}, {"$id": place, "$ref": place}):
        with pytest.raises(CheckMistake):
            read_check({"json": {"schema": schema}})


def test_conversations_of_very_many_rounds_end_where_nothing_more_is_inspected() -> None:
    many = Transcript(tuple(Round(number, "Hi.", "word") for number in range(1, 50_001)), LIVE)
    conversation = CheckedConversation(many)
    assert conversation.place_of(50_000) == 49_999  # prepared once for all checks of a case
    for form in ({"contains": "x", "over": "any_round"}, {"contains": "word", "over": {"round": 50_000}}):
        node = read_check(form)
        assert calls_of(partial(evaluate_check, node, conversation)) <= MOST_CALLS

"""Matching with a reference: symmetric where it should be, and independent of order where it says so."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judge.trajectory.paths import call, transcript
from viva.errors import SetupError
from viva.judge.registry import EVALUATORS, find_evaluators
from viva.judge.trajectory import MATCHES
from viva.judge.trajectory.matching import MOST_PAIRED, TooManyCalls, compare, is_in_order, is_strict
from viva.judge.trajectory.reference import (
    Likeness,
    NoReference,
    TrajectoryCall,
    by_function,
    exact,
    ignored,
    partial,
    read_reference,
)
from viva.records.evaluator import Context
from viva.records.verdict import Insight

values = st.sampled_from([0, 1, 1.0, "1", True, None, [1, 2], [2, 1], {"x": 1}])
arguments = st.dictionaries(st.sampled_from("abc"), values, max_size=3)
calls = st.lists(st.builds(TrajectoryCall, st.sampled_from(["read", "write"]), arguments), max_size=5)
LIKE = st.sampled_from([exact, partial, ignored])
SYMMETRIC = st.sampled_from([exact, ignored])


def modes(reference: Sequence[TrajectoryCall], made: Sequence[TrajectoryCall], like: Likeness) -> dict[str, bool]:
    found = compare(reference, made, like)
    return {
        "match_strict": is_strict(reference, made, like),
        "match_in_order": is_in_order(reference, made, like),
        "match_any_order": not found.missing and not found.unexpected,
        "match_subset": not found.unexpected,
        "match_superset": not found.missing,
    }


@given(calls, LIKE)
def test_every_trajectory_matches_itself_in_every_mode(path: list[TrajectoryCall], like: Likeness) -> None:
    assert all(modes(path, path, like).values())
    found = compare(path, path, like)
    assert (found.precision, found.recall) == ((1.0, 1.0) if path else (None, None))


@given(calls, calls, SYMMETRIC)
def test_strict_and_any_order_are_symmetric_and_subset_is_superset_turned_round(
    one: list[TrajectoryCall], other: list[TrajectoryCall], like: Likeness
) -> None:
    there, back = modes(one, other, like), modes(other, one, like)
    assert there["match_strict"] == back["match_strict"]
    assert there["match_any_order"] == back["match_any_order"]
    assert there["match_subset"] == back["match_superset"]
    assert compare(one, other, like).likeness == compare(other, one, like).likeness


@given(calls, calls, LIKE, st.randoms())
def test_the_order_of_listing_changes_nothing_where_order_does_not_matter(
    reference: list[TrajectoryCall], made: list[TrajectoryCall], like: Likeness, random: Any
) -> None:
    before = compare(reference, made, like)
    mixed, also_mixed = reference[:], made[:]
    random.shuffle(mixed)
    random.shuffle(also_mixed)
    assert compare(mixed, also_mixed, like) == before


@given(calls, calls, LIKE)
def test_the_stricter_mode_implies_the_laxer_one(
    reference: list[TrajectoryCall], made: list[TrajectoryCall], like: Likeness
) -> None:
    found = modes(reference, made, like)
    assert not found["match_strict"] or (found["match_in_order"] and found["match_any_order"])
    assert not found["match_in_order"] or found["match_superset"]
    assert found["match_any_order"] == (found["match_subset"] and found["match_superset"])


@given(calls.filter(lambda path: len(path) < 5), calls.filter(lambda path: len(path) < 5), LIKE)
def test_no_other_pairing_leaves_fewer_calls_without_a_partner(
    reference: list[TrajectoryCall], made: list[TrajectoryCall], like: Likeness
) -> None:
    """Against all pairings there are, one after the other."""
    best = 0
    for some in itertools.permutations(made, min(len(reference), len(made))):
        for chosen in itertools.combinations(reference, len(some)):
            pairs = zip(chosen, some, strict=True)
            best = max(best, sum(one.tool == other.tool and like(one, other) == 1 for one, other in pairs))
    found = compare(reference, made, like)
    assert len(reference) - len(found.missing) == len(made) - len(found.unexpected) == best


def test_partial_pairs_each_call_with_the_one_that_leaves_the_others_a_partner() -> None:
    reference = [TrajectoryCall("read", {"x": 1}), TrajectoryCall("read", {"x": 1, "y": 2})]
    made = [TrajectoryCall("read", {"x": 1, "y": 2}), TrajectoryCall("read", {"x": 1})]
    assert not compare(reference, made, partial).missing
    assert compare(reference, made[:1], partial).recall == 0.5


def test_numbers_are_compared_by_value_and_nothing_else_is() -> None:
    assert exact(TrajectoryCall("t", {"a": 1, "b": 2}), TrajectoryCall("t", {"b": 2.0, "a": 1})) == 1
    for other in ("1", True, [1], None, 2):
        assert exact(TrajectoryCall("t", {"a": 1}), TrajectoryCall("t", {"a": other})) == 0


def test_arguments_as_text_are_read_as_json_where_they_are() -> None:
    [one] = read_reference([{"name": "t", "arguments": '{"a": 1}'}])
    assert one.arguments == {"a": 1}
    [one] = read_reference([{"name": "t", "arguments": "{broken"}])
    assert one.arguments == "{broken"


@pytest.mark.parametrize(
    "given_",
    [
        [{"tool": "t", "arguments": {"a": 1}}],
        [{"name": "t", "kwargs": {"a": 1}}],
        [{"tool_name": "t", "args": {"a": 1}}],
        [{"action": "t", "action_input": '{"a": 1}'}],
        [{"type": "function", "function": {"name": "t", "arguments": '{"a": 1}'}}],
        {"actions": [{"name": "t", "kwargs": {"a": 1}}]},
    ],
)
def test_a_reference_may_be_written_in_the_shapes_of_the_field(given_: Any) -> None:
    assert read_reference(given_) == (TrajectoryCall("t", {"a": 1}),)


@pytest.mark.parametrize("given_", [None, "t", 5, {}, [{}], [{"arguments": {}}], [5], {"calls": 5}])
def test_what_is_no_reference_is_refused(given_: Any) -> None:
    with pytest.raises(NoReference):
        read_reference(given_)


def test_more_calls_than_can_be_paired_are_refused_and_not_waited_for() -> None:
    many = [TrajectoryCall("t", {"n": number}) for number in range(MOST_PAIRED + 1)]
    with pytest.raises(TooManyCalls):
        compare(many, many, partial)
    assert not compare(many, many, exact).missing


# The evaluators

PATH = transcript(call(1, "look", {"id": 1}), call(2, "book", {"id": 1, "seat": "4A"}), call(3, "look", {"id": 1}))
LOOK, BOOK = {"tool": "look", "arguments": {"id": 1}}, {"tool": "book", "arguments": {"id": 1, "seat": "4A"}}


async def insight_of(name: str, reference: Any, **offered: Any) -> Insight:
    [named] = find_evaluators([name])
    found = await named.make(offered).evaluate(PATH, Context("run", reference=reference))
    assert isinstance(found, Insight)
    return found


@pytest.mark.parametrize(
    ("reference", "matching"),
    [
        ([LOOK, BOOK, LOOK], set(MATCHES)),
        ([LOOK, LOOK, BOOK], {"match_any_order", "match_subset", "match_superset"}),
        ([LOOK, BOOK], {"match_in_order", "match_superset"}),
        ([BOOK, LOOK, LOOK, LOOK], {"match_subset"}),
        ([], {"match_in_order", "match_superset"}),
        ([{"tool": "cancel"}], set()),
    ],
)
async def test_each_mode_has_its_verdict(reference: list[Any], matching: set[str]) -> None:
    for name in MATCHES:
        insight = await insight_of(name, reference)
        expected = ("match", 1.0) if name in matching else ("mismatch", 0.0)
        assert [(each.subject, each.label, each.score) for each in insight.verdicts] == [("run", *expected)], name


async def test_precision_and_recall_are_named_where_they_are_defined() -> None:
    insight = await insight_of("match_strict", [LOOK, {"tool": "cancel"}])
    assert insight.scores == {"precision": pytest.approx(1 / 3), "recall": 0.5}
    assert "1 not made: cancel {}" in insight.verdicts[0].reason
    assert "2 not in the reference: book" in insight.verdicts[0].reason
    assert (await insight_of("match_strict", [])).scores == {"precision": 0.0}


@pytest.mark.parametrize("reference", [None, "nonsense", [{}]])
async def test_without_a_usable_reference_there_is_an_error_and_no_score(reference: Any) -> None:
    insight = await insight_of("match_strict", reference)
    assert [(each.label, each.score, each.fault) for each in insight.verdicts] == [("error", None, "judge")]


async def test_arguments_can_be_compared_partly_or_not_at_all_or_by_a_function(tmp_path: Path) -> None:
    reference = [LOOK, {"tool": "book", "arguments": {"id": 1}}, LOOK]
    assert (await insight_of("match_strict", reference)).label == "mismatch"
    assert (await insight_of("match_strict", reference, match_arguments="partial")).label == "match"
    assert (await insight_of("match_strict", ["look", "book", "look"], match_arguments="ignored")).label == "match"
    file = tmp_path / "same.py"
    file.write_text(
        "def seat(wanted, given):\n    return wanted.get('seat', '4a').lower() == given.get('seat', '4A').lower()\n"
        "BY_TOOL = {'book': seat, '*': 'exact'}\n"
        "def broken(wanted, given):\n    return 7\n"
    )
    lower = [LOOK, {"tool": "book", "arguments": {"seat": "4a"}}, LOOK]
    for name in ("seat", "BY_TOOL"):
        assert (await insight_of("match_strict", lower, match_arguments=f"{file}:{name}")).label == "match"
    insight = await insight_of("match_strict", lower, match_arguments=f"{file}:broken")
    assert insight.label == "error"
    assert "it returned 7" in insight.verdicts[0].reason


def test_an_unknown_comparison_is_the_users_mistake() -> None:
    [named] = find_evaluators(["match_strict"])
    with pytest.raises(SetupError, match="--match-arguments takes exact, partial, ignored"):
        named.make({"match_arguments": "fuzzy"})


def test_a_function_for_each_tool_may_name_the_built_in_ones() -> None:
    like = by_function({"look": "ignored"})
    assert like(TrajectoryCall("look", {"a": 1}), TrajectoryCall("look", {})) == 1
    assert like(TrajectoryCall("book", {"a": 1}), TrajectoryCall("book", {})) == 0


def test_all_modes_are_registered() -> None:
    assert set(MATCHES) <= set(EVALUATORS.builtin)

"""Tool calls judged without a model: repeated, failed, looping, unknown, and against their schema."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judge.trajectory.paths import ISSUES, LIST, call, transcript
from viva.judge.registry import find_evaluators
from viva.judge.trajectory.calls import LOOP_TIMES, find_loop
from viva.judge.trajectory.tools import tool_definitions
from viva.records.evaluator import Context
from viva.records.transcript import ENVIRONMENT, Step, StepKind, Transcript
from viva.records.verdict import Insight


async def insight_of(name: str, talk: Transcript) -> Insight:
    [named] = find_evaluators([name])
    found = await named.make({}).evaluate(talk, Context("run"))
    assert isinstance(found, Insight)
    return found


async def labels_of(name: str, *steps: Step, **more: Any) -> list[str]:
    return [each.label for each in (await insight_of(name, transcript(*steps, **more))).verdicts]


async def test_a_call_is_repeated_only_where_tool_arguments_and_result_are_the_same() -> None:
    steps = (
        call(1, "look", {"a": 1, "b": 2}, "x"),
        call(2, "look", {"b": 2.0, "a": 1}, "x"),
        call(3, "look", {"a": 1, "b": 3}, "x"),
        call(4, "read", {"a": 1, "b": 2}, "x"),
        call(5, "look", {"a": 1, "b": 2}, "y"),
        call(6, "look", '{"a": 1, "b": 2}', "y"),
    )
    assert await labels_of("repeated_calls", *steps) == ["first", "repeated", "first", "first", "changed", "repeated"]
    insight = await insight_of("repeated_calls", transcript(*steps))
    assert insight.score == pytest.approx(4 / 6)
    assert insight.verdicts[1].evidence[0].where == "s1"


async def test_a_failed_call_is_known_by_its_error_or_by_how_its_result_begins() -> None:
    steps = (
        call(1, "t", {}, "fine"),
        call(2, "t", {}, None, error="no such file"),
        call(3, "t", {}, "Error: not enough seats"),
        call(4, "t", {}, '{"error": "not found"}'),
        call(5, "t", {}, "No errors were found."),
        call(6, "t", {}, None),
        call(7, "t", {}, ""),
    )
    insight = await insight_of("tool_success", transcript(*steps))
    found = [(each.label, each.flags) for each in insight.verdicts]
    assert found == [
        ("succeeded", ()),
        ("failed", ()),
        ("failed", ("error-in-result",)),
        ("failed", ("error-in-result",)),
        ("succeeded", ()),
        ("unsure", ()),
        ("succeeded", ()),
    ]
    assert (insight.score, insight.low, insight.high) == (0.5, pytest.approx(3 / 7), pytest.approx(4 / 7))


async def test_further_output_of_a_command_is_a_part_of_its_result() -> None:
    def ran(number: int, *results: str) -> list[Step]:
        first = call(number, "sh", {"command": "make"}, results[0], recorded_by=ENVIRONMENT)
        rest = enumerate(results[1:], number + 1)
        return [first, *(call(n, None, result=words, parent_id=first.id, recorded_by=ENVIRONMENT) for n, words in rest)]

    steps = [*ran(1, "", "Traceback (most recent call last)"), *ran(3, "", "built"), *ran(5, "", "built")]
    assert await labels_of("tool_success", *steps) == ["failed", "succeeded", "succeeded"]
    assert await labels_of("repeated_calls", *steps) == ["first", "changed", "repeated"]
    *begun, last = ran(1, "Compiling", "Error: handlers registered")
    assert await labels_of("tool_success", *begun, last) == ["failed"]
    assert await labels_of("tool_success", *begun, replace(last, attributes={"exitCode": 0})) == ["succeeded"]


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ("", None),
        ("aabb", None),
        ("xaaay", (1, 1, 3)),
        ("abababx", (0, 2, 3)),
        ("xabcabcabc", (1, 3, 3)),
        ("aaaabababab", (3, 2, 4)),
        ("abcdabcd", None),
    ],
)
def test_a_loop_is_a_block_of_calls_three_times_in_a_row(keys: str, found: tuple[int, int, int] | None) -> None:
    assert find_loop(keys) == found


@given(st.text("ab", max_size=4), st.text("abc", min_size=1, max_size=4), st.integers(3, 5), st.text("cd", max_size=4))
def test_a_block_that_repeats_is_found_wherever_it_stands(before: str, block: str, times: int, after: str) -> None:
    keys = before + block * times + after
    found = find_loop(keys)
    assert found is not None
    start, period, repeats = found
    assert repeats >= LOOP_TIMES
    assert keys[start : start + period] * repeats == keys[start : start + period * repeats]
    assert period * repeats >= len(block) * times - len(block)


async def test_a_loop_is_told_with_its_calls() -> None:
    steps = [call(number, "look" if number % 2 else "read", {}) for number in range(1, 8)]
    insight = await insight_of("loops", transcript(*steps))
    [verdict] = insight.verdicts
    assert (verdict.subject, verdict.label, verdict.score) == ("run", "loop", 0.0)
    assert verdict.reason == "from step 1 on, these calls were made 3 times in a row: look, read"
    assert await labels_of("loops", *steps[:3]) == ["no-loop"]
    assert await labels_of("loops") == ["no-loop"]


async def test_an_unknown_tool_is_found_and_without_definitions_nothing_is_known() -> None:
    steps = (call(1, "list_my_repos", {}), call(2, "delete_all", {}))
    assert await labels_of("known_tools", *steps) == ["known", "unknown"]
    insight = await insight_of("known_tools", transcript(*steps, tools=()))
    assert [(each.subject, each.label, each.score) for each in insight.verdicts] == [("run", "error", None)]
    assert "--tools" in insight.verdicts[0].reason


@pytest.mark.parametrize(
    ("tool", "given_", "label", "words"),
    [
        ("list_issues", {"repo": "a", "limit": 3}, "valid", ""),
        ("list_issues", '{"repo": "a"}', "valid", ""),
        ("list_issues", {}, "invalid", "'repo' is a required property"),
        ("list_issues", {"repo": 5}, "invalid", "repo: 5 is not of type 'string'"),
        ("list_issues", {"repo": "a", "limit": 0}, "invalid", "limit: 0 is less than the minimum of 1"),
        ("list_issues", {"repo": "a", "x": 1}, "invalid", "'x' was unexpected"),
        ("list_issues", "{broken", "invalid", "the arguments are not an object"),
        ("list_my_repos", None, "valid", ""),
        ("elsewhere", {}, "unsure", "no tool of this name"),
    ],
)
async def test_arguments_are_checked_against_the_schema(tool: str, given_: Any, label: str, words: str) -> None:
    insight = await insight_of("argument_schema", transcript(call(1, tool, given_)))
    [verdict] = insight.verdicts
    assert (verdict.label, verdict.statement) == (label, tool)
    assert words in verdict.reason


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "nonsense"}, "is not valid under any of the given schemas"),
        ({"$ref": "http://127.0.0.1:1/schema.json"}, "127.0.0.1"),
        ({"$ref": "file:///etc/passwd"}, "etc/passwd"),
        ({"$ref": "#"}, "Recursion"),
        ({"patternProperties": {"(a+)+$": {}}}, "patternProperties is not supported"),
        (
            {
                "$defs": {
                    f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]}
                    for n in range(40)
                }
                | {"d40": {}},
                "$ref": "#/$defs/d0",
            },
            "too many references",
        ),
        ({"properties": {"repo": {"pattern": "^(a|a)*$"}}}, "timed out"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_a_schema_of_a_stranger_neither_hangs_nor_reaches_out(schema: dict[str, Any], words: str) -> None:
    tools = ({"name": "t", "parameters": schema},)
    insight = await insight_of("argument_schema", transcript(call(1, "t", {"repo": "a" * 60 + "!"}), tools=tools))
    [verdict] = insight.verdicts
    assert (verdict.label, verdict.score, verdict.fault) == ("error", None, "judge")
    assert words in verdict.reason


def test_definitions_are_read_in_the_shapes_in_which_sources_give_them() -> None:
    found = tool_definitions((LIST, ISSUES, {"name": "bare"}, {"description": "nameless"}, {"function": 5}))
    assert list(found) == ["list_my_repos", "list_issues", "bare"]
    assert found["list_issues"].parameters == ISSUES["input_schema"]
    assert found["bare"].parameters is None


async def test_words_of_others_and_results_without_a_call_are_no_steps_of_the_agent() -> None:
    steps = (
        call(1, "look", {}),
        Step("s2", StepKind.AGENT, agent="system", result="Be quick."),
        replace(call(3, "look", {}), attributes={"without_call": True}),
        Step("s4", StepKind.MODEL, result="words"),
    )
    insight = await insight_of("tool_success", transcript(*steps))
    assert [each.subject for each in insight.verdicts] == ["s1"]


async def test_where_a_reader_marked_steps_only_those_count() -> None:
    marked = replace(call(2, "look", {}), attributes={"trajectory": {}})
    insight = await insight_of("tool_success", transcript(call(1, "span", {}), marked, call(3, "span", {})))
    assert [each.subject for each in insight.verdicts] == ["s2"]

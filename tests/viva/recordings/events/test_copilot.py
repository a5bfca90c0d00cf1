"""Copilot's events: the same figures from the SDK's objects, from dicts and from a file; what is odd is counted."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import package
from tests.copilot_sessions import event, long_session, recorded_events
from tests.examples import examples
from viva.recordings.events.collector import EvalCollector
from viva.recordings.events.copilot_vocabulary import FIELDS, TYPES, VALUES
from viva.records.codec import decode, encode
from viva.records.transcript import Metrics, StepKind, StopReason, SubAgentShare, Transcript, Usage


def sdk() -> Any:
    """The SDK, which takes a second to load: so not each process that collects tests does."""
    return package("copilot.session_events")


def collected(events: list[Any], *, capture_content: bool = False) -> EvalCollector:
    collector = EvalCollector(capture_content=capture_content)
    for each in events:
        collector.take(each)
    return collector


def as_dicts(events: list[Any]) -> list[dict[str, Any]]:
    return [each if isinstance(each, dict) else each.to_dict() for each in events]


def as_objects(events: list[Any]) -> list[Any]:
    return [sdk().session_event_from_dict(each) if isinstance(each, dict) else each for each in events]


@pytest.mark.parametrize("form", [as_dicts, as_objects])
def test_the_recorded_session_gives_the_expected_snapshot_field_by_field(form: Any) -> None:
    assert collected(form(recorded_events())).snapshot() == Metrics(
        usage_by_model={
            "gpt-5": Usage(1200, 80, 1000, 32, 1, 0, None, cache_write_tokens=0, reported=True),
        },
        tool_calls={"bash": 1},
        tool_failures={"bash": 1},
        never_completed=0,
        never_started=0,
        aborts={"user_initiated": 1},
        model_failures={"http 429": 1},
        billing_units={"copilot.cost": 1.0, "copilot.nano_aiu": 5e6},
        billing_by_model={"gpt-5": {"copilot.cost": 1.0, "copilot.nano_aiu": 5e6}},
        subagents={},
        unknown={"event future.event_type": 1},
    )


@pytest.mark.parametrize("form", [as_dicts, as_objects])
def test_a_longer_session_gives_the_expected_snapshot_field_by_field(form: Any) -> None:
    snapshot = collected(form(long_session())).snapshot()
    assert snapshot == Metrics(
        usage_by_model={
            "gpt-5": Usage(2500, 120, 1800, 20, 2, 0, None, cache_write_tokens=100),
            "gpt-5-mini": Usage(400, 30, 0, 0, 1, 0, None),
        },
        # t0 completed without a start, so nobody knows its tool; t4 never completed.
        tool_calls={"bash": 2, "task": 1, "grep": 1, "unknown": 1},
        tool_failures={"bash": 1},
        never_completed=1,
        never_started=1,
        aborts={"user_initiated": 1},
        model_failures={"transport": 1, "http 429": 1},
        billing_units={"copilot.cost": 2.25, "copilot.cost.user_initiated": 1.0, "copilot.nano_aiu": 7.5e6},
        billing_by_model={
            "gpt-5": {"copilot.cost": 2.0, "copilot.cost.user_initiated": 1.0, "copilot.nano_aiu": 7e6},
            "gpt-5-mini": {"copilot.cost": 0.25, "copilot.nano_aiu": 5e5},
        },
        subagents={
            "explore": SubAgentShare(started=1, usage=Usage(400, 30, calls=1), tool_calls=1),
        },
        unknown={},
    )
    assert snapshot.dominant_model == "gpt-5"
    assert snapshot.usage == Usage(2900, 150, 1800, 20, 3, 0, None, cache_write_tokens=100)
    assert snapshot.tool_success_rate == pytest.approx(3 / 5)


@pytest.mark.parametrize("form", [as_dicts, as_objects])
def test_a_captured_session_has_its_words_tools_and_times(form: Any) -> None:
    transcript = collected(form(long_session()), capture_content=True).transcript()
    assert (transcript.source, transcript.system, transcript.success) == ("copilot", "be careful", True)
    assert (transcript.stop, transcript.stop_detail) == (StopReason.CANCELLED, "user_initiated")
    assert transcript.attributes == {"session_id": "session-7"}
    first, second = transcript.rounds
    assert (first.examiner, first.agent, second.examiner) == ("make the tests pass", "fixed", "and the docs")
    tools = [step for step in first.steps if step.kind is StepKind.TOOL]
    assert [(step.tool, step.agent, step.error, step.result) for step in tools] == [
        ("bash", None, "2 failed", None),
        ("task", None, None, None),
        ("grep", "explore", None, "src/a.py"),
    ]
    assert (tools[0].thought, tools[0].tool_input, tools[0].seconds) == ("let me see", {"command": "pytest"}, 1.0)
    assert tools[2].parent_id == tools[1].id
    model = next(step for step in first.steps if step.kind is StepKind.MODEL)
    assert (model.model, model.seconds, model.usage.input_tokens) == ("gpt-5", 0.5, 1000)


@pytest.mark.parametrize("form", [as_dicts, as_objects])
def test_nothing_that_was_said_is_kept_unless_it_is_asked_for(form: Any) -> None:
    quiet = collected(form([*recorded_events(), *long_session()])).transcript()
    text = repr(quiet)
    for word in ("fix the bug", "pytest", "be careful", "make the tests", "let me see", "2 failed", "src/a.py", "docs"):
        assert word not in text
    assert [step.tool for round_ in quiet.rounds for step in round_.steps if step.tool][:1] == ["bash"]


def test_every_type_field_and_value_of_the_installed_sdk_is_known() -> None:
    missing = {kind.value for kind in sdk().SessionEventType} - TYPES - {"unknown"}
    assert not missing
    assert set(FIELDS) <= TYPES
    known = {
        ("abort", "reason"): sdk().AbortReason,
        ("model.call_failure", "failureKind"): sdk().ModelCallFailureKind,
        ("model.call_failure", "source"): sdk().ModelCallFailureSource,
        ("session.task_complete", "outcome"): sdk().TaskCompletionOutcome,
    }
    assert {place: {value.value for value in enum} for place, enum in known.items()} == VALUES


def test_where_the_sdks_parser_raises_the_event_is_read_without_it() -> None:
    newer = [
        event("abort", 1, reason="cosmic_ray"),
        event("model.call_failure", 2, source="moon", failureKind="tide"),
        event("tool.execution_start", 3, toolCallId="t", toolName="bash", colour="green"),
        event("tool.execution_complete", 4, toolCallId="t", success="yes"),
    ]
    with pytest.raises(ValueError, match="cosmic_ray"):
        sdk().session_event_from_dict(newer[0])
    snapshot = collected([*newer, {**event("session.idle", 5), "sender": "me"}]).snapshot()
    assert snapshot.aborts == {"cosmic_ray": 1}
    assert snapshot.model_failures == {"tide": 1}
    # Anything but a clear success is a failure.
    assert snapshot.tool_failures == {"bash": 1}
    assert snapshot.unknown == {
        "value abort.reason": 1,
        "value model.call_failure.source": 1,
        "value model.call_failure.failureKind": 1,
        "field tool.execution_start.colour": 1,
        "field event.sender": 1,
    }


@pytest.mark.parametrize(
    "odd",
    [
        None,
        7,
        "text",
        {},
        {"type": 3},
        {"type": "abort"},
        {"type": "assistant.usage", "data": []},
        {"type": "assistant.usage", "data": {"model": {}, "inputTokens": "many", "outputTokens": -5, "cost": "free"}},
        {"type": "assistant.usage", "data": {"model": "m", "inputTokens": 1e300, "outputTokens": float("nan")}},
        {"type": "tool.execution_start", "data": {"toolName": ["a"]}, "timestamp": "never"},
        {"type": "tool.execution_complete", "data": None},
        {"type": "user.message", "data": {"content": 5}},
        {"type": "session.shutdown", "data": {"modelMetrics": {"m": None}}},
        {"type": "session.shutdown", "data": {"modelMetrics": {"m": {"usage": 3}}}},
        {"type": "\ud800", "data": {}},
    ],
)
def test_an_event_that_cannot_be_read_is_counted_and_stops_nothing(odd: Any) -> None:
    collector = EvalCollector(capture_content=True)
    collector.take(odd)
    collector.take(event("abort", 1, reason="user_initiated"))
    snapshot = collector.snapshot()
    assert snapshot.aborts.get("user_initiated") == 1
    assert snapshot.usage.input_tokens == snapshot.usage.output_tokens == 0
    collector.transcript()


def test_missing_numbers_are_no_tokens_and_an_unknown_cost() -> None:
    snapshot = collected([event("assistant.usage", 1, model="m")]).snapshot()
    assert snapshot.usage == Usage(calls=1, cost=None, reported=False)
    assert snapshot.billing_units == {}


def test_the_multiplier_is_no_money_and_the_users_own_part_is_told_apart() -> None:
    used = {"model": "m", "inputTokens": 1, "outputTokens": 1, "cost": 3.0}
    snapshot = collected(
        [
            event("assistant.usage", 1, **used),
            event("assistant.usage", 2, initiator="user", **used),
            event("assistant.usage", 3, initiator="sub-agent", **used),
        ]
    ).snapshot()
    assert snapshot.usage.cost is None
    assert snapshot.billing_units == {"copilot.cost": 9.0, "copilot.cost.user_initiated": 6.0}


def shutdown(second: float, **models: tuple[int, int]) -> dict[str, Any]:
    metrics = {
        name: {
            "requests": {"count": 1, "cost": 1.0},
            "usage": {"inputTokens": given, "outputTokens": said, "cacheReadTokens": 0, "cacheWriteTokens": 0},
        }
        for name, (given, said) in models.items()
    }
    return event("session.shutdown", second, modelMetrics=metrics)


def test_sums_that_closing_events_repeat_count_once() -> None:
    one = event("assistant.usage", 1, model="m", inputTokens=10, outputTokens=2, cost=1.0)
    snapshot = collected([one, shutdown(2, m=(10, 2))]).snapshot()
    assert snapshot.usage == Usage(10, 2, calls=1, cost=None)
    assert snapshot.billing_units["copilot.cost"] == 1.0


def test_a_stored_session_has_only_the_closing_sums_and_they_count() -> None:
    # `assistant.usage` is ephemeral: Copilot does not store it.
    first = collected([shutdown(2, m=(10, 2))])
    assert first.snapshot().usage == Usage(10, 2, calls=1, cost=None)
    # A resumed session closes again with sums over the whole of it.
    first.take(shutdown(9, m=(15, 3), n=(1, 1)))
    assert first.snapshot().usage_by_model == {"m": Usage(15, 3, calls=1, cost=None), "n": Usage(1, 1, calls=1)}


def test_the_call_that_compacts_a_conversation_counts_once() -> None:
    used = {"inputTokens": 7, "outputTokens": 1, "model": "m"}
    compacted = event("session.compaction_complete", 1, success=True, compactionTokensUsed=used)
    one = event("assistant.usage", 2, model="m", inputTokens=10, outputTokens=2)
    assert collected([compacted, one]).snapshot().usage == Usage(17, 3, calls=2, cost=None)
    # A stored session's closing sums include it.
    assert collected([compacted, shutdown(3, m=(17, 3))]).snapshot().usage.input_tokens == 17


def test_sub_agents_are_found_by_instance_and_by_the_call_that_started_them() -> None:
    events = [
        event("tool.execution_start", 1, toolCallId="call", toolName="task"),
        event("subagent.started", 2, agentName="explore", toolCallId="call"),
        event("tool.execution_start", 3, toolCallId="x", toolName="grep", parentToolCallId="call"),
        event("tool.execution_complete", 4, toolCallId="x", success=False),
        event("subagent.failed", 5, agentName="explore", toolCallId="call", error="lost"),
        event("assistant.usage", 6, "nobody-introduced", model="m", inputTokens=3, outputTokens=1),
    ]
    found = collected(events).snapshot().subagents
    assert found["explore"] == SubAgentShare(
        started=1, failed=1, usage=found["explore"].usage, tool_calls=1, tool_failures=1
    )
    assert found["nobody-introduced"].usage.input_tokens == 3


def test_an_instance_is_the_sub_agent_that_its_call_started() -> None:
    events = [
        event("tool.execution_start", 1, toolCallId="call", toolName="task"),
        event("subagent.started", 2, agentName="explore", toolCallId="call"),
        event("assistant.usage", 3, "agent-7", model="m", inputTokens=7000, outputTokens=400, parentToolCallId="call"),
        event("assistant.usage", 4, "agent-7", model="m", inputTokens=40, outputTokens=10),
    ]
    found = collected(events).snapshot().subagents
    assert list(found) == ["explore"]
    assert (found["explore"].started, found["explore"].usage.tokens) == (1, 7450)


def test_a_sub_agent_that_starts_another_keeps_its_own_name() -> None:
    events = [
        event("subagent.started", 1, "outer-1", agentName="outer", toolCallId="a"),
        event("subagent.started", 2, "outer-1", agentName="inner", toolCallId="b"),
        event("assistant.usage", 3, "outer-1", model="m", inputTokens=3, outputTokens=1),
        event("assistant.usage", 4, "inner-1", model="m", inputTokens=5, outputTokens=1, parentToolCallId="b"),
    ]
    found = collected(events).snapshot().subagents
    assert {name: share.usage.input_tokens for name, share in found.items()} == {"outer": 3, "inner": 5}


def test_a_message_in_parts_is_one_text_and_two_messages_are_two() -> None:
    events = [
        event("user.message", 1, content="q"),
        event("assistant.message", 2, content="one ", messageId="a", chunkIndex=0, chunkCount=2),
        event("assistant.message", 3, content="two", messageId="a", chunkIndex=1, chunkCount=2),
        event("assistant.message", 4, content="three", messageId="b"),
    ]
    assert collected(events, capture_content=True).transcript().rounds[0].agent == "one two\n\nthree"


def test_durations_are_milliseconds_in_dicts_and_time_spans_in_objects() -> None:
    data = sdk().AssistantUsageData("m", input_tokens=1, output_tokens=1, duration=timedelta(seconds=2))
    sent = event("assistant.usage", 10, model="m", inputTokens=1, outputTokens=1, duration=2000)
    made = sdk().session_event_from_dict(sent)
    made.data = data
    steps = [collected([each]).transcript().rounds[0].steps[0] for each in (sent, made)]
    assert [step.seconds for step in steps] == [2.0, 2.0]


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


@settings(max_examples=examples(60), deadline=None)
@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10))
def test_no_json_at_all_raises_or_makes_figures_that_cannot_be_written(anything: Any) -> None:
    collector = EvalCollector(capture_content=True)
    for kind in FIELDS:
        collector.take({"type": kind, "data": anything, "agentId": anything, "timestamp": anything})
        fields = dict.fromkeys(FIELDS[kind], anything)
        collector.take({"type": kind, "data": fields})
    snapshot, transcript = collector.snapshot(), collector.transcript()
    assert decode(Metrics, json.loads(encode(snapshot))) == snapshot
    assert decode(Transcript, json.loads(encode(transcript))).metrics == snapshot

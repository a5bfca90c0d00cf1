"""The collector: tasks, subscriptions, threads, snapshots that never change, and streams that never end."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.copilot_sessions import event, long_session
from viva.recordings.events.collector import EvalCollector, EvalMetricsSnapshot
from viva.recordings.events.rounds import MOST_STEPS
from viva.recordings.events.tally import MOST_NAMES, OTHERS
from viva.records.codec import decode, encode
from viva.records.transcript import Metrics


class Session:
    session_id = "s-1"

    def __init__(self) -> None:
        self.handlers: list[Callable[[Any], None]] = []

    def on(self, handler: Callable[[Any], None]) -> Callable[[], None]:
        self.handlers.append(handler)
        return lambda: self.handlers.remove(handler)

    def send(self, *events: Any) -> None:
        for each in events:
            for handler in list(self.handlers):
                handler(each)


def start(call: str, second: float = 0, tool: str = "bash") -> dict[str, Any]:
    return event("tool.execution_start", second, toolCallId=call, toolName=tool)


def complete(call: str, second: float = 1, *, success: bool = True) -> dict[str, Any]:
    return event("tool.execution_complete", second, toolCallId=call, success=success)


def test_a_collector_works_alone_on_a_session_and_lets_it_go() -> None:
    session, collector = Session(), EvalCollector()
    assert collector.attach(session) is collector
    session.send(start("a"), complete("a"))
    collector.detach()
    collector.detach()
    session.send(start("b"))
    assert not session.handlers
    assert collector.snapshot().tool_calls == {"bash": 1}
    assert collector.session_id == "s-1"


def test_a_second_session_is_refused_while_one_is_observed() -> None:
    collector = EvalCollector().attach(Session())
    with pytest.raises(RuntimeError, match="detach"):
        collector.attach(Session())


def test_each_task_has_figures_of_its_own() -> None:
    collector = EvalCollector()
    collector.begin_task("first")
    collector.take(start("a"))
    first = collector.snapshot()
    collector.begin_task("second")
    assert (collector.task, collector.snapshot()) == ("second", Metrics())
    collector.take(event("abort", 2, reason="user_initiated"))
    assert first.tool_calls == {"bash": 1}
    assert not first.aborts


def test_a_completion_belongs_to_the_task_in_which_its_call_started() -> None:
    collector = EvalCollector()
    collector.begin_task("first")
    collector.take(start("a"))
    collector.begin_task("second")
    collector.take(complete("a", success=False))
    assert collector.snapshot() == Metrics()


def test_the_figures_of_all_tasks_can_be_read_and_a_late_completion_counts_where_its_call_began() -> None:
    collector = EvalCollector()
    for task, call in (("first", "a"), ("second", "b"), ("first", "c")):
        collector.begin_task(task)
        collector.take(start(call))
    assert [each.metrics.never_completed for each in collector.snapshots()] == [1, 1, 1]
    collector.take(complete("a", success=False))
    collector.take(complete("b"))
    found = collector.snapshots()
    assert [each.task for each in found] == ["first", "second", "first"]
    assert [each.metrics.never_completed for each in found] == [0, 0, 1]
    assert [each.metrics.tool_failures for each in found] == [{"bash": 1}, {}, {}]
    assert found[-1].metrics == collector.snapshot()


def test_what_precedes_the_first_task_is_a_bucket_only_if_something_was_counted() -> None:
    collector = EvalCollector()
    collector.begin_task("first")
    assert [each.task for each in collector.snapshots()] == ["first"]
    early = EvalCollector()
    early.take(start("a"))
    early.begin_task("first")
    assert [(each.task, each.metrics.tool_calls) for each in early.snapshots()] == [("", {"bash": 1}), ("first", {})]


def test_a_call_counts_once_however_often_its_start_is_reported() -> None:
    collector = EvalCollector()
    for sent in (start("a"), start("a"), complete("a")):
        collector.take(sent)
    assert collector.snapshot().tool_calls == {"bash": 1}
    assert collector.snapshot().never_completed == 0


def test_a_snapshot_cannot_be_changed_and_never_changes() -> None:
    collector = EvalCollector()
    collector.take(start("a"))
    snapshot = collector.snapshot()
    collector.take(start("b"))
    assert snapshot.tool_calls == {"bash": 1}
    for change in (
        lambda: snapshot.tool_calls.__setitem__("x", 1),
        lambda: snapshot.tool_calls.update(x=1),
        snapshot.tool_calls.clear,
        lambda: snapshot.tool_calls.__ior__({"x": 1}),
    ):
        with pytest.raises(TypeError):
            change()
    with pytest.raises(AttributeError):
        snapshot.never_completed = 3  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot


def test_a_snapshot_is_written_and_read_as_what_it_is() -> None:
    collector = EvalCollector()
    for each in long_session():
        collector.take(each)
    import json

    snapshot = collector.snapshot()
    assert decode(EvalMetricsSnapshot, json.loads(encode(snapshot))) == snapshot


def test_threads_may_share_a_collector_and_lose_nothing() -> None:
    collector, seen = EvalCollector(), []
    threads, each = 8, 500

    def feed(name: int) -> None:
        for number in range(each):
            collector.take(start(f"{name}-{number}", tool=f"tool-{name}"))
            collector.take(complete(f"{name}-{number}", success=number % 2 == 0))
            if number % 50 == 0:
                seen.append(collector.snapshot())

    workers = [threading.Thread(target=feed, args=(name,)) for name in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    snapshot = collector.snapshot()
    assert snapshot.tool_calls == {f"tool-{name}": each for name in range(threads)}
    assert snapshot.tool_failures == {f"tool-{name}": each // 2 for name in range(threads)}
    assert (snapshot.never_completed, snapshot.never_started) == (0, 0)
    assert all(sum(one.tool_failures.values()) <= sum(one.tool_calls.values()) for one in seen)


def test_a_stream_without_end_or_with_endless_names_stays_small() -> None:
    collector = EvalCollector()
    for number in range(MOST_STEPS + 100):
        collector.take(start(str(number), tool=f"tool-{number}"))
        collector.take(complete(str(number)))
    snapshot, transcript = collector.snapshot(), collector.transcript()
    assert sum(snapshot.tool_calls.values()) == MOST_STEPS + 100
    assert len(snapshot.tool_calls) == MOST_NAMES + 1
    assert snapshot.tool_calls[OTHERS] == MOST_STEPS + 100 - MOST_NAMES
    assert len(transcript.rounds[0].steps) == MOST_STEPS
    assert transcript.notes == ("100 further steps counted, but not kept",)


def test_a_new_stream_is_a_function_from_event_to_calls() -> None:
    def take(collector: EvalCollector, event: Any) -> None:
        verb, *rest = event.split()
        if verb == "call":
            collector.tool_started(rest[0], rest[1])
        elif verb == "done":
            collector.tool_completed(rest[0])
        elif verb == "model":
            collector.model_called(rest[0], input_tokens=int(rest[1]), output_tokens=0, cost=0.5)
        else:
            collector.not_known(f"event {verb}")

    collector = EvalCollector(source="mine", take=take)
    for line in ("call 1 search", "done 1", "model big 12", "dance"):
        collector.take(line)
    snapshot = collector.snapshot()
    assert (snapshot.tool_calls, snapshot.usage.input_tokens, snapshot.usage.cost) == ({"search": 1}, 12, 0.5)
    assert snapshot.unknown == {"event dance": 1}
    assert collector.transcript().source == "mine"


def test_the_dominant_model_has_the_most_tokens_then_the_most_calls_then_the_first_name() -> None:
    collector = EvalCollector()
    for model, tokens in (("b", 5), ("a", 5), ("c", 4)):
        collector.model_called(model, input_tokens=tokens, output_tokens=0)
    assert collector.snapshot().dominant_model == "a"
    collector.model_called("b", input_tokens=0, output_tokens=0)
    assert collector.snapshot().dominant_model == "b"
    collector.model_called("c", input_tokens=0, output_tokens=9)
    assert collector.snapshot().dominant_model == "c"


@pytest.mark.parametrize("given", [{"outputTokens": 7}, {"inputTokens": "12", "outputTokens": 7}, {"inputTokens": -1}])
def test_tokens_that_are_missing_in_part_or_cannot_be_read_are_not_taken_for_all(given: dict[str, Any]) -> None:
    collector = EvalCollector()
    collector.take(event("assistant.usage", 1, model="m", **given))
    snapshot = collector.snapshot()
    assert not snapshot.usage.reported
    assert snapshot.usage.input_tokens == 0
    wrong = {"value assistant.usage.inputTokens": 1} if "inputTokens" in given else {}
    assert snapshot.unknown == wrong

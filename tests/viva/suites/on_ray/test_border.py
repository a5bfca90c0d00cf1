"""Only plain data crosses the border between driver and nodes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from viva.adapters.trace_context import current_trace_id, join_trace
from viva.cases import Case, ScoringPoint
from viva.exam.options import Options
from viva.exam.subscribers import RunHeader
from viva.records.run_record import Outcome
from viva.suites.job import Action, Job, WorkOrder
from viva.suites.on_ray.border import NotPlain, pack, require_plain, unpack
from viva.suites.on_ray.channel import EventChannel
from viva.suites.on_ray.cluster import RayLink, RayNodeWorker

PLAIN = [None, True, 1, 1.5, "text", b"bytes", ["list", {"of": [b"it"]}]]


class Text(str):
    """Text of a class of its own, whose methods would travel with it."""


@pytest.mark.parametrize(
    "value",
    [
        object(), print, Path("file"), Text("t"), Outcome.SCORED, {1, 2}, ("a",), {1: "a"}, {"a": [object()]},
        RunHeader(id="r", subject="s", agent="a"), ValueError("v"), bytearray(b"b"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
async def test_anything_but_plain_data_is_refused_on_every_way(value: object) -> None:
    with pytest.raises(NotPlain, match=r"plain data|may be a key"):
        require_plain(value)
    with pytest.raises(NotPlain):
        EventChannel().put(1, "event", value)
    with pytest.raises(NotPlain):
        await RayLink(None).call("start", value)
    worker = RayNodeWorker()
    worker._worker = Returning(value)  # type: ignore[assignment]
    with pytest.raises(NotPlain):
        await worker.call("give", [])


class Returning:
    def __init__(self, value: object) -> None:
        self.value = value

    async def give(self) -> object:
        return self.value


def test_plain_data_is_not() -> None:
    require_plain(PLAIN)


@pytest.mark.parametrize("smuggled", [object(), print, asyncio.sleep, {1, 2}])
def test_a_record_with_an_object_in_it_is_not_sent(smuggled: Any) -> None:
    header = RunHeader(id="r", subject="s", agent="a", tags=("t", smuggled))
    with pytest.raises(NotPlain, match=r"Job\.header\.tags\[1\] is "):
        pack(Job(action=Action.EXAMINE, header=header))


def test_jobs_and_orders_come_back_equal() -> None:
    case = Case("exam", Path("exam/case.yaml"), "0" * 64, "task", (ScoringPoint("p", "good", 1.0),))
    order = WorkOrder(options=Options(evaluators=("a", "b.py:C")), cases=(case,), agents=("a",))
    assert unpack(WorkOrder, pack(order)) == order
    job = Job(action=Action.JUDGE, header=RunHeader(id="r", subject="ü", agent="a", node="n"), case_hash="1")
    assert unpack(Job, pack(job)) == job


async def test_an_event_waits_until_the_driver_has_dealt_with_it() -> None:
    channel = EventChannel()
    channel.put(1, "append", b"1", urgent=False)
    asked = asyncio.create_task(channel.ask(1, "round"))
    events = await channel.take([])
    assert [event[2] for event in events] == ["append", "round"]
    await asyncio.sleep(0)
    assert not asked.done(), "it was told as dealt with when it was only sent"
    later = asyncio.create_task(channel.take([[events[0][0], None], [events[1][0], "answer"]]))
    assert await asked == "answer"
    channel.put(1, "end")
    assert [event[2] for event in await later] == ["end"]


async def test_events_of_a_thread_are_sent_too() -> None:
    channel = EventChannel()
    waiting = asyncio.create_task(channel.take([]))
    await asyncio.sleep(0)
    await asyncio.to_thread(channel.put, 1, "append")
    assert [event[2] for event in await asyncio.wait_for(waiting, 10)] == ["append"]


async def test_a_batch_ends_where_it_is_large_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viva.suites.on_ray.channel.BATCH_BYTES", 1000)
    channel = EventChannel()
    for number in range(4):
        channel.put(1, "file", str(number), b"x" * 600)
    assert [len(await channel.take([])) for _ in range(2)] == [2, 2]


async def test_the_trace_of_the_driver_is_the_current_one_in_the_task_of_the_run_alone() -> None:
    async def run(traceparent: str) -> str | None:
        join_trace(traceparent)
        return current_trace_id()

    trace = "0af7651916cd43dd8448eb211c80319c"
    assert await asyncio.create_task(run(f"00-{trace}-b7ad6b7169203331-01")) == trace
    for wrong in ("", "nonsense", "00-zz-zz-zz", f"00-{'0' * 32}-{'0' * 16}-01"):
        assert await asyncio.create_task(run(wrong)) is None
    assert current_trace_id() is None

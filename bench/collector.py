"""Measures what observing a session costs for each event: a stream of Copilot's events, enabled and disabled."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from bench.table import Figure
from viva.observe.eval_harness import EvalHarness
from viva.observe.options import EvalOptions
from viva.recordings.events.collector import EvalCollector

EVENTS = int(os.environ.get("VIVA_BENCH_EVENTS", "1000000"))
REPEATS = 5
STAMP = "2026-11-20T10:00:01+00:00"


class StubSession:
    """Calls its handlers with each event, as the SDK's session does."""

    def __init__(self) -> None:
        self.handlers: set[Callable[[Any], None]] = set()

    def on(self, handler: Callable[[Any], None]) -> Callable[[], None]:
        """Subscribe."""
        self.handlers.add(handler)
        return lambda: self.handlers.discard(handler)

    def send(self, events: list[Any], rounds: int) -> float:
        """Send the events again and again; returns the seconds that took."""
        handlers = self.handlers
        began = time.perf_counter()
        for _ in range(rounds):
            for event in events:
                for handler in handlers:
                    handler(event)
        return time.perf_counter() - began


def turn() -> list[dict[str, Any]]:
    """One turn of an agent, in the proportions of a real session: a few events that count, and many that do not."""
    ignored = [_event("assistant.message_delta", messageId="m", deltaContent="word ") for _ in range(4)]
    usage = {"inputTokens": 1200, "outputTokens": 80, "cacheReadTokens": 1000, "cost": 1.0, "initiator": "agent"}
    return [
        _event("user.message", content="fix the bug"),
        *ignored,
        _event("assistant.message", content="I will run the tests", messageId="m", toolRequests=[{"name": "bash"}]),
        _event("tool.execution_start", toolCallId="t1", toolName="bash", arguments={"command": "pytest"}),
        _event("tool.execution_complete", toolCallId="t1", success=True, result={"content": "4 passed"}),
        _event("assistant.usage", model="gpt-5", copilotUsage={"totalNanoAiu": 5e6}, duration=1500, **usage),
        _event("assistant.turn_end", turnId="1"),
    ]


def _event(kind: str, **data: Any) -> dict[str, Any]:
    return {"id": "i", "timestamp": STAMP, "parentId": None, "type": kind, "data": data}


def _objects(events: list[dict[str, Any]]) -> list[Any] | None:
    try:
        from copilot.session_events import session_event_from_dict
    except ImportError:
        return None
    zero = "00000000-0000-0000-0000-000000000000"
    return [session_event_from_dict({**event, "id": zero}) for event in events if event["type"] != "assistant.message"]


def _per_event(events: list[Any], *, capture_content: bool) -> float:
    """Return the microseconds per event, as the median of several passes."""
    passes = []
    for _ in range(REPEATS):
        session = StubSession()
        EvalCollector(capture_content=capture_content).attach(session)
        rounds = max(1, EVENTS // len(events) // REPEATS)
        passes.append(session.send(events, rounds) / rounds / len(events) * 1e6)
    return statistics.median(passes)


def _disabled(events: list[Any]) -> tuple[float, float]:
    """Return the seconds for all events, without a harness and with one that is off; the best of several passes."""
    with tempfile.TemporaryDirectory() as folder:
        off, plain = StubSession(), StubSession()
        EvalHarness.attach(off, EvalOptions(enabled=False, working_directory=folder))
        rounds = max(1, EVENTS // len(events))
        # In turn, so that both meet the same machine.
        pairs = [(plain.send(events, rounds), off.send(events, rounds)) for _ in range(REPEATS)]
        assert not os.listdir(folder)
    return min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)


def figures() -> list[Figure]:
    """Measure the time per event in both forms, with and without captured content, and while observing is off."""
    events = turn()
    found = [
        Figure("an event as a dict", _per_event(events, capture_content=False), "us", 5),
        Figure("  with content captured", _per_event(events, capture_content=True), "us", 5),
    ]
    if (objects := _objects(events)) is not None:
        found.append(Figure("an event as an object of the SDK's", _per_event(objects, capture_content=False), "us", 5))
    without, off = _disabled(events)
    note = f"{EVENTS:,} events take {without * 1e3:.1f} ms without it"
    found.append(Figure(f"attached but off, over {EVENTS:,} events", (off - without) * 1e3, "ms", 10, note=note))
    return found

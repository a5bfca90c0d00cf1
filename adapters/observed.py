"""Makes a reply of the events that a session reported, with the collector that also reads recordings of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viva.adapters.inside.observed import ObservedReply
from viva.errors import AgentError
from viva.records.transcript import Reply, Step

STREAMS = ("copilot",)
"""The kinds of events that the collector reads."""


def completed(reply: ObservedReply) -> Reply:
    """Return the reply with the steps and the usage from its events.

    Raises:
        AgentError: they are of an unknown kind.
    """
    if reply.stream not in STREAMS:
        raise AgentError(f"get_reply_from_agent returned events of an unknown kind, {reply.stream!r:.40}")
    from viva.recordings.events.collector import EvalCollector

    collector = EvalCollector(capture_content=True, source=reply.stream)
    for event in reply.events:
        collector.take(event)
    seen = collector.transcript()
    steps = tuple(_numbered(step, reply.number) for round_ in seen.rounds for step in round_.steps)
    said = reply.text or next((round_.agent for round_ in reversed(seen.rounds) if round_.agent), "")
    return Reply(said, steps, collector.snapshot().usage)


def read_observed(given: object) -> Reply:
    """Return the reply for an `ObservedReply` that the agent's process sent.

    Raises:
        AgentError: it is not one.
    """
    if isinstance(given, Mapping):
        parts: tuple[Any, ...] = tuple(given.get(name) for name in ("text", "stream", "events", "number"))
        text, stream, events, number = parts
        if isinstance(text, str) and isinstance(stream, str) and isinstance(events, list) and isinstance(number, int):
            return completed(ObservedReply(text, stream, tuple(events), number))
    raise AgentError("get_reply_from_agent returned events that cannot be read")


def _numbered(step: Step, number: int) -> Step:
    """Return a step with an id that no other step of the run has."""
    above = None if step.parent_id is None else f"{number}.{step.parent_id}"
    return replace(step, id=f"{number}.{step.id}", parent_id=above)

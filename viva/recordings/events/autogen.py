"""Reads the events that AutoGen logs, for a collector: model calls and tool calls.

AutoGen logs them as objects with `kwargs` (`autogen_core.logging`) to the logger `autogen_core.events` at the level
INFO. Viva silences that logger for its own model calls, so observing it sets its level.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from viva.recordings.events.collector import EvalCollector

LOGGER = "autogen_core.events"
SOURCE = "autogen"
_MODEL_CALLS = ("LLMCall", "LLMStreamEnd")
_FAULTS = ("MessageHandlerException", "AgentConstructionException")


class _Handler(logging.Handler):
    def __init__(self, collector: EvalCollector) -> None:
        super().__init__(logging.INFO)
        self._collector = collector

    def emit(self, record: logging.LogRecord) -> None:
        self._collector.take(record)


def autogen_collector(*, capture_content: bool = False) -> EvalCollector:
    """Make a collector that reads log records of AutoGen's."""
    return EvalCollector(capture_content=capture_content, source=SOURCE, take=take_autogen_record)


@contextmanager
def observing_autogen(collector: EvalCollector) -> Iterator[EvalCollector]:
    """Send what AutoGen logs in this process to a collector of `autogen_collector`, until the context ends.

    The logger's level is INFO meanwhile, and what it was before afterwards. All AutoGen agents of the process log
    there: run one task at a time.
    """
    logger = logging.getLogger(LOGGER)
    handler, level, propagated = _Handler(collector), logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    if not logging.getLogger(LOGGER.partition(".")[0]).isEnabledFor(logging.INFO):
        # Handlers of parent loggers did not receive these events before, and nobody asked for them.
        logger.propagate = False
    try:
        yield collector
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagated


def take_autogen_record(collector: EvalCollector, record: logging.LogRecord) -> None:
    """Process one record of AutoGen's event logger."""
    event = getattr(record.msg, "kwargs", None)
    if not isinstance(event, dict):
        return
    kind, at = event.get("type"), record.created
    agent = _agent(collector, event.get("agent_id"))
    if kind in _MODEL_CALLS:
        given = event.get("response")
        response: dict[str, Any] = given if isinstance(given, dict) else {}
        usage = response.get("usage")
        told: dict[str, Any] = usage if isinstance(usage, dict) else {}
        collector.model_called(
            response.get("model"),
            input_tokens=event.get("prompt_tokens"),
            output_tokens=event.get("completion_tokens"),
            cached_tokens=_detail(told, "prompt_tokens_details", "cached_tokens"),
            reasoning_tokens=_detail(told, "completion_tokens_details", "reasoning_tokens"),
            agent=agent,
            at=at,
        )
    elif kind == "ToolCall":
        # Logged once it has run: AutoGen logs no start, no id and no failure.
        call = f"{at}-{id(record)}"
        collector.tool_started(call, event.get("tool_name"), arguments=event.get("arguments"), agent=agent, at=at)
        collector.tool_completed(call, result=event.get("result"), agent=agent, at=at)
    elif kind in _FAULTS:
        collector.failed_with(kind, event.get("exception"))
        collector.aborted(kind)
    elif kind not in ("LLMStreamStart", "Message", "MessageDropped"):
        collector.not_known(f"event {kind}")


def _agent(collector: EvalCollector, told: object) -> str | None:
    """Return the sub-agent of an event; None for the main agent, and where AutoGen does not say who it was.

    The id is `TYPE/KEY`; in a team, the type is the agent's name with the team's key at its end.
    """
    if not isinstance(told, str) or not told:
        return None
    kind, _, key = told.partition("/")
    return collector.speaker(kind.removesuffix(f"_{key}") if key else kind)


def _detail(usage: dict[str, Any], part: str, name: str) -> Any:
    details = usage.get(part)
    return details.get(name) if isinstance(details, dict) else None

"""Reads the session events of GitHub Copilot's SDK, as its own objects or as the dicts that it sends, for a collector.

The SDK's parser is never used, because it raises an exception for values of newer versions. See `github-copilot-sdk`,
`copilot.session_events`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any

from viva.recordings.events.copilot_vocabulary import ENVELOPE, FIELDS, TYPES, VALUES
from viva.recordings.events.tally import count_of, is_count
from viva.recordings.numbers import amount

if TYPE_CHECKING:
    from viva.recordings.events.collector import EvalCollector

COST = "copilot.cost"
"""Billing multiplier, summed over all model calls. Not dollars."""
COST_OF_USER = "copilot.cost.user_initiated"
"""The part of it for calls that the user's own message caused: those without an `initiator`, or with `user`."""
NANO_AIU = "copilot.nano_aiu"
"""Billionths of Copilot's AI units."""


_PLAIN = frozenset((type(None), str, int, float, bool))


def _is_mapping(value: Any) -> bool:
    """Return whether a value is a mapping; asking an abstract class takes four times as long as asking for a dict."""
    return type(value) is dict or isinstance(value, Mapping)


class EventFields:
    """The data of one event. A dict has the names of the JSON, an object of the SDK the same names in snake case."""

    __slots__ = ("_data", "_dict")

    def __init__(self, data: Any) -> None:
        self._data, self._dict = data, _is_mapping(data)

    def __call__(self, name: str) -> Any:
        """Return a plain value: an enumeration's value, seconds and times unchanged; None if it is missing."""
        if self._dict:
            return self._data.get(name)
        value = getattr(self._data, _SNAKE[name], None)
        # Most values are plain, and there are many.
        return value.value if type(value) not in _PLAIN and isinstance(value, Enum) else value


class _Snake(dict[str, str]):
    def __missing__(self, name: str) -> str:
        made = self[name] = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
        return made


_SNAKE = _Snake()


def take_copilot_event(collector: EvalCollector, event: Any) -> None:
    """Process one event: a `SessionEvent`, the dict that it is made from, or that dict in a `session.event` message."""
    if _is_mapping(event):
        if "type" not in event and _is_mapping(event.get("event")):
            event = event["event"]
        kind, data, agent, at = event.get("type"), event.get("data"), event.get("agentId"), event.get("timestamp")
        kind = kind if isinstance(kind, str) else "?"
        _note_fields(collector, kind, event, data)
    else:
        kind, data, agent, at = event.type.value, event.data, event.agent_id, event.timestamp
        if event.raw_type is not None:
            kind = event.raw_type
    read = _READERS.get(kind)
    if read is not None:
        read(collector, EventFields(data), agent, at)
    elif kind not in TYPES:
        collector.not_known(f"event {kind}")


def seconds_of(moment: Any) -> float | None:
    """Return a moment (ISO 8601 text or a datetime) in seconds since the epoch; None for anything else."""
    try:
        return (datetime.fromisoformat(moment) if isinstance(moment, str) else moment).timestamp()
    except (ValueError, AttributeError, OverflowError, OSError):
        return None


def _note_fields(collector: EvalCollector, kind: str, event: Mapping[str, Any], data: Any) -> None:
    """Count the unknown fields of an event of a known type."""
    if not event.keys() <= ENVELOPE:
        for name in event.keys() - ENVELOPE:
            collector.not_known(f"field event.{name}")
    known = FIELDS.get(kind)
    if known is not None and _is_mapping(data) and not data.keys() <= known:
        for name in data.keys() - known:
            collector.not_known(f"field {kind}.{name}")


def _value(collector: EvalCollector, kind: str, name: str, data: EventFields) -> Any:
    """Return a value of an enumeration, and count it if it is unknown."""
    value = data(name)
    if value is not None and (not isinstance(value, str) or value not in VALUES[kind, name]):
        collector.not_known(f"value {kind}.{name}")
    return value


def _start(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    name = data("sessionId")
    if isinstance(name, str) and name:
        collector.session_id = name


def _user(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    if not agent:
        collector.user_said(data("content"), seconds_of(at))


def _message(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    parts = data("chunkCount")
    collector.agent_said(
        data("content"),
        beside_calls=bool(data("toolRequests")),
        agent=collector.subagent_of(agent, data("parentToolCallId")),
        part_of=data("messageId") if isinstance(parts, int) and parts > 1 else None,
        at=seconds_of(at),
    )


def _system(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    if not agent:
        collector.system_said(data("content"))


_TOKENS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")


def _usage(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    billing = {}
    for name in _TOKENS:
        value = data(name)
        if value is not None and not is_count(value):
            collector.not_known(f"value assistant.usage.{name}")
    cost, units = amount(data("cost")), data("copilotUsage")
    if cost is not None:
        billing[COST] = cost
        if data("initiator") in (None, "user"):
            billing[COST_OF_USER] = cost
    if units is not None:
        number = amount(EventFields(units)("totalNanoAiu"))
        if number is not None:
            billing[NANO_AIU] = number
    collector.model_called(
        data("model"),
        input_tokens=data("inputTokens"),
        output_tokens=data("outputTokens"),
        cached_tokens=data("cacheReadTokens"),
        cache_write_tokens=data("cacheWriteTokens"),
        reasoning_tokens=data("reasoningTokens"),
        billing=billing,
        agent=collector.subagent_of(agent, data("parentToolCallId")),
        at=seconds_of(at),
        seconds=_duration(data("duration")),
    )


def _duration(value: Any) -> float | None:
    """Return seconds; numbers are in milliseconds."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    number = amount(value)
    return None if number is None else number / 1000


def _tool_start(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    collector.tool_started(
        data("toolCallId"),
        data("toolName"),
        arguments=data("arguments") if collector.capture_content else None,
        agent=collector.subagent_of(agent, data("parentToolCallId")),
        at=seconds_of(at),
    )


def _tool_complete(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    # Anything but a clear success is none: a value that is missing or strange must not make a failure pass.
    success, error, described = data("success") is True, data("error"), data("toolDescription")
    result = None
    if collector.capture_content and (given := data("result")) is not None:
        result = EventFields(given)("content")
    told = None if error is None else EventFields(error)
    collector.tool_completed(
        data("toolCallId"),
        success=success,
        tool=None if described is None else EventFields(described)("name"),
        result=result,
        error=None if told is None else told("message"),
        code=None if told is None else told("code"),
        agent=collector.subagent_of(agent, data("parentToolCallId")),
        at=seconds_of(at),
    )


def _abort(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    collector.aborted(_value(collector, "abort", "reason", data))


def _failure(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    source = _value(collector, "model.call_failure", "source", data)
    kind = _value(collector, "model.call_failure", "failureKind", data)
    status = count_of(data("statusCode"))
    who = collector.subagent_of(agent, data("parentToolCallId")) or ("subagent" if source == "subagent" else None)
    words = f"http {status}" if status else data("errorType") or data("errorCode") or kind
    collector.model_failed(words, agent=who)


def _subagent_start(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    collector.subagent_started(data("agentName"), data("toolCallId"), agent)


def _subagent_failed(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    collector.subagent_failed(data("agentName"))


def _known(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    """Count nothing: the event sums up what was counted one by one."""


def _task_complete(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    success, outcome = data("success"), _value(collector, "session.task_complete", "outcome", data)
    if isinstance(success, bool):
        collector.succeeded(success)
    elif outcome in ("completed", "blocked"):
        collector.succeeded(outcome == "completed")


def _compaction(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    """Count the model call that summed the conversation up; no `assistant.usage` reports it."""
    if (given := data("compactionTokensUsed")) is None:
        return
    used = EventFields(given)
    collector.model_called(
        used("model") or data("model"),
        input_tokens=used("inputTokens"),
        output_tokens=used("outputTokens"),
        cached_tokens=used("cacheReadTokens"),
        cache_write_tokens=used("cacheWriteTokens"),
        calls=count_of(used("requestCount")) or 1,
        at=seconds_of(at),
        in_sums=True,
    )


def _shutdown(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    """Record the sums of a whole session. A stored session has no other figures, because `assistant.usage` is not
    stored."""
    models = data("modelMetrics")
    for name, given in list(models.items())[:1000] if isinstance(models, Mapping) else ():
        metric = EventFields(given)
        usage, requests = EventFields(metric("usage")), EventFields(metric("requests"))
        billing = {COST: amount(requests("cost")), NANO_AIU: amount(metric("totalNanoAiu"))}
        collector.model_summed(
            name,
            (
                usage("inputTokens"),
                usage("outputTokens"),
                usage("cacheReadTokens"),
                usage("cacheWriteTokens"),
                usage("reasoningTokens"),
            ),
            calls=requests("count"),
            billing={key: amount for key, amount in billing.items() if amount is not None},
        )


def _error(collector: EvalCollector, data: EventFields, agent: Any, at: Any) -> None:
    collector.failed_with(data("errorType"), data("message"))


_READERS: dict[str, Callable[[EvalCollector, EventFields, Any, Any], None]] = {
    "abort": _abort,
    "assistant.message": _message,
    "assistant.usage": _usage,
    "model.call_failure": _failure,
    "session.compaction_complete": _compaction,
    "session.error": _error,
    "session.shutdown": _shutdown,
    "session.start": _start,
    "session.task_complete": _task_complete,
    "subagent.completed": _known,
    "subagent.failed": _subagent_failed,
    "subagent.started": _subagent_start,
    "system.message": _system,
    "tool.execution_complete": _tool_complete,
    "tool.execution_start": _tool_start,
    "user.message": _user,
}

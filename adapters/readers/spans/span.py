"""`Span`: one span of a trace, whatever wrote it, with the raw span beside it."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

_HEX = re.compile(r"[0-9a-fA-F]+")
_FRACTION = re.compile(r"\.(\d+)")
_PLAIN_TIME = re.compile(r"-?\d+")
LAST_SECOND = 253_402_300_799
"""The end of the year 9999. A time beyond it is no time."""


class SpanKind(StrEnum):
    """What a span is of, as far as reading a trajectory is concerned."""

    LLM = "llm"
    TOOL = "tool"
    AGENT = "agent"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Span:
    """One span."""

    id: str
    trace_id: str
    parent_id: str | None
    name: str
    kind: SpanKind
    attributes: Mapping[str, Any]
    """Flat: dotted keys as OpenInference writes them; values are scalars, lists, or JSON text."""
    start_ns: int | None = None
    """Nanoseconds since the epoch; None where the source has none that can be read."""
    end_ns: int | None = None
    failed: bool = False
    message: str = ""
    """Of the status, or of the first exception event."""
    events: tuple[Mapping[str, Any], ...] = ()
    """Each with `name` and flat `attributes`."""
    raw: Mapping[str, Any] = field(default_factory=dict)
    """The span as its source holds it."""
    scope: str = ""
    """Name of the instrumentation, where the source tells."""
    resource: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seconds(self) -> float | None:
        """How long it took, where both ends are known."""
        if self.start_ns is None or self.end_ns is None or self.end_ns < self.start_ns:
            return None
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def order(self) -> tuple[bool, int, str]:
        """Sorts by start time; spans without one come last."""
        return (self.start_ns is None, self.start_ns or 0, self.id)


def read_time(value: Any) -> int | None:
    """Return nanoseconds since the epoch.

    Args:
        value: Nanoseconds as an integer or as text (OTLP), an ISO 8601 text (Phoenix), seconds as a float, or anything.

    Returns:
        None for what is no time: NaN, a negative number, 0 (OTLP's unset), a year beyond 9999.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, float):
        return int(value * 1e9) if math.isfinite(value) and 0 < value <= LAST_SECOND else None
    if isinstance(value, str):
        text = value.strip()
        if _PLAIN_TIME.fullmatch(text) and len(text) < 30:
            return _sound(int(text))
        return _read_iso(text)
    return _sound(value) if isinstance(value, int) else None


def _sound(nanoseconds: int) -> int | None:
    return nanoseconds if 0 < nanoseconds <= LAST_SECOND * 10**9 else None


def _read_iso(text: str) -> int | None:
    fraction = _FRACTION.search(text)
    plain = _FRACTION.sub("", text, count=1)
    try:
        moment = datetime.fromisoformat(plain.replace("Z", "+00:00"))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        digits = (fraction[1] if fraction else "")[:9].ljust(9, "0")
        return _sound(int(moment.timestamp()) * 10**9 + int(digits))
    except (ValueError, OverflowError, OSError):
        return None


def read_id(value: Any, length: int) -> str | None:
    """Return the id of a trace (32 hexadecimal digits) or span (16): as it is, or from the base64 of protobuf's JSON.

    Returns:
        None for an id that is missing, empty, or all zero, which OpenTelemetry calls invalid.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip("0 "):
        return None
    text = value.strip()
    if len(text) == (length * 4 // 6 + 3) // 4 * 4 and not _HEX.fullmatch(text):
        try:
            decoded = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return text
        return decoded.hex() if len(decoded) * 2 == length else text
    return text.lower() if _HEX.fullmatch(text) and len(text) == length else text


def flatten(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with dotted keys: objects within them, and lists that hold objects, are taken apart."""
    if not any(_holds_more(value) for value in attributes.values()):
        return dict(attributes)
    flat: dict[str, Any] = {}
    waiting: list[tuple[str, Any]] = [(str(key), value) for key, value in reversed(attributes.items())]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, Mapping) and value:
            waiting += [(f"{key}.{inner}", each) for inner, each in reversed(value.items())]
        elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
            waiting += [(f"{key}.{place}", each) for place, each in reversed(list(enumerate(value)))]
        else:
            flat[key] = value
    return flat


def _holds_more(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(isinstance(each, Mapping) for each in value))


def kind_of(name: str, said: Any, attributes: Mapping[str, Any]) -> SpanKind:
    """Return what a span is of.

    Args:
        name: The span's.
        said: What the source's own field says (Phoenix: `span_kind`).
        attributes: Flat.
    """
    operation = attributes.get("gen_ai.operation.name")
    for value in (_OPERATIONS.get(str(operation)), *(_KINDS.get(str(kind).lower()) for kind in _said(said, attributes))):
        if value is not None:
            return value
    return SpanKind.AGENT if _AGENT_RUN.search(name) else SpanKind.OTHER


_OPERATIONS = {
    "chat": SpanKind.LLM,
    "text_completion": SpanKind.LLM,
    "generate_content": SpanKind.LLM,
    "execute_tool": SpanKind.TOOL,
    "invoke_agent": SpanKind.AGENT,
}
_KINDS = {"llm": SpanKind.LLM, "tool": SpanKind.TOOL, "agent": SpanKind.AGENT, "chat": SpanKind.LLM}
# What LlamaIndex and LangGraph call the span of a whole run; they give it no kind of its own.
_AGENT_RUN = re.compile(r"^(?:\w*(?:Agent|AgentWorkflow|AgentRunner|AgentWorker)\.(?:run|arun|chat|achat|stream_chat|astream_chat|query|aquery)|LangGraph)$")


def _said(said: Any, attributes: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        attributes.get("openinference.span.kind"),
        said,
        attributes.get("traceloop.span.kind"),
        attributes.get("llm.request.type"),
    )


def read_span(raw: Any) -> Span | None:
    """Read one span of a JSON dump: as Phoenix's client, OpenTelemetry's `span.to_json()` or OTLP write it.

    Returns:
        None where it has no id of a trace or of its own: it belongs nowhere.
    """
    if not isinstance(raw, Mapping):
        return None
    context = raw.get("context")
    inner = context if isinstance(context, Mapping) else {}
    trace_id = read_id(_first(inner, raw, "trace_id", "traceId"), 32)
    span_id = read_id(_first(inner, raw, "span_id", "spanId"), 16)
    if trace_id is None or span_id is None:
        return None
    given = raw.get("attributes")
    attributes = flatten(given) if isinstance(given, Mapping) else _from_pairs(given)
    name = str(raw.get("name") or "")
    events = tuple(_event(event) for event in _list(raw.get("events")) if isinstance(event, Mapping))
    failed, message = _status(raw, events)
    resource = raw.get("resource")
    resource = resource.get("attributes", resource) if isinstance(resource, Mapping) else {}
    scope = raw.get("scope") or raw.get("instrumentation_scope")
    return Span(
        id=span_id,
        trace_id=trace_id,
        parent_id=read_id(_first(raw, inner, "parent_id", "parentSpanId", "parent_span_id"), 16),
        name=name,
        kind=kind_of(name, raw.get("span_kind"), attributes),
        attributes=attributes,
        start_ns=read_time(_first(raw, raw, "start_time", "startTimeUnixNano", "start_time_unix_nano")),
        end_ns=read_time(_first(raw, raw, "end_time", "endTimeUnixNano", "end_time_unix_nano")),
        failed=failed,
        message=message,
        events=events,
        raw=raw,
        scope=str(scope.get("name") or "") if isinstance(scope, Mapping) else str(scope or ""),
        resource=flatten(resource) if isinstance(resource, Mapping) else _from_pairs(resource),
    )


def _first(one: Mapping[str, Any], other: Mapping[str, Any], *keys: str) -> Any:
    return next((part[key] for part in (one, other) for key in keys if part.get(key) is not None), None)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _event(event: Mapping[str, Any]) -> dict[str, Any]:
    given = event.get("attributes")
    return {"name": str(event.get("name") or ""), "attributes": flatten(given) if isinstance(given, Mapping) else _from_pairs(given)}


def _status(raw: Mapping[str, Any], events: tuple[Mapping[str, Any], ...]) -> tuple[bool, str]:
    status = raw.get("status")
    inner = status if isinstance(status, Mapping) else {}
    code = _first(raw, inner, "status_code", "code")
    failed = str(code).upper().removeprefix("STATUS_CODE_").removeprefix("STATUSCODE.") in ("ERROR", "2")
    message = _first(raw, inner, "status_message", "message", "description")
    if failed and not message:
        errors = (event["attributes"].get("exception.message") for event in events if event["name"] == "exception")
        message = next((error for error in errors if error), "failed")
    return failed, str(message or "")


def _from_pairs(given: Any) -> dict[str, Any]:
    """Read OTLP's list of keys and typed values."""
    pairs = [pair for pair in _list(given) if isinstance(pair, Mapping) and "key" in pair]
    return flatten({str(pair["key"]): otlp_value(pair.get("value")) for pair in pairs})


def otlp_value(value: Any) -> Any:
    """Read one typed value of OTLP's JSON; integers come as text (int64 in protobuf's JSON)."""
    if not isinstance(value, Mapping):
        return value
    for key, inner in value.items():
        if key in ("intValue", "int_value"):
            return int(inner) if isinstance(inner, str) and _PLAIN_TIME.fullmatch(inner) and len(inner) < 30 else inner
        if key in ("arrayValue", "array_value"):
            return [otlp_value(each) for each in _list(inner.get("values") if isinstance(inner, Mapping) else None)]
        if key in ("kvlistValue", "kvlist_value"):
            pairs = _list(inner.get("values") if isinstance(inner, Mapping) else None)
            return {str(pair.get("key")): otlp_value(pair.get("value")) for pair in pairs if isinstance(pair, Mapping)}
        if key in ("doubleValue", "double_value") and isinstance(inner, str):
            return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(inner, inner)
        return inner
    return None



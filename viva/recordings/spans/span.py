"""`Span`: one span of a trace in any of the known forms, with the raw span beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from viva.recordings.spans.conventions.convention import SpanContent
from viva.recordings.spans.conventions.known import translated
from viva.recordings.spans.values import flatten, from_pairs, listed, read_id, read_time


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
    """Nanoseconds since the epoch; None if the source has none that can be read."""
    end_ns: int | None = None
    failed: bool = False
    message: str = ""
    """The message of the status, or of the first exception event."""
    events: tuple[Mapping[str, Any], ...] = ()
    """Each with `name` and flat `attributes`."""
    raw: Mapping[str, Any] = field(default_factory=dict)
    """The span as its source holds it."""
    scope: str = ""
    """Name of the instrumentation, if the source names it."""
    resource: Mapping[str, Any] = field(default_factory=dict)

    def says_all_of(self, other: Span) -> bool:
        """Return whether this span says all that another one with its id says.

        Their times do not matter: exporters write these with more or fewer digits.
        """
        return (
            (self.parent_id, self.name) == (other.parent_id, other.name)
            and other.kind in (self.kind, SpanKind.OTHER)
            and (self.failed or not other.failed)
            and other.message in ("", self.message)
            and _texts(other.attributes.items()) <= _texts(self.attributes.items())
            and _texts(other.events) <= _texts(self.events)
        )

    @property
    def seconds(self) -> float | None:
        """How long it took, where both ends are known."""
        if self.start_ns is None or self.end_ns is None or self.end_ns < self.start_ns:
            return None
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def order(self) -> tuple[bool, int, bool, int, str]:
        """Sorts by start time; spans without one come last, in the order of their file.

        Of spans that start at the same time, the one that ended first comes first: JavaScript's starts are whole
        milliseconds, and a tool that took less started before the model call that follows it.
        """
        if self.start_ns is None:
            return (True, 0, True, 0, "")
        return (False, self.start_ns, self.end_ns is None, self.end_ns or 0, self.id)


def _texts(values: Iterable[Any]) -> set[str]:
    """Return values as texts: NaN does not equal itself."""
    return {json.dumps(value, sort_keys=True, default=repr) for value in values}


def kind_of(name: str, said: Any, attributes: Mapping[str, Any]) -> SpanKind:
    """Return what a span is of.

    Args:
        name: The span's.
        said: What the source's own field says (Phoenix: `span_kind`).
        attributes: Flat.
    """
    operation = attributes.get("gen_ai.operation.name")
    if operation is not None and (known := _OPERATIONS.get(str(operation))) is not None:
        return known
    for kind in _said(said, attributes):
        if kind is not None and (known := _KINDS.get(str(kind).lower())) is not None:
            return known
    return SpanKind.AGENT if is_agent_run(name) else SpanKind.OTHER


def is_agent_run(name: str) -> bool:
    """Return whether a span has a name that frameworks give to the run of an agent."""
    return _AGENT_RUN.search(name) is not None


_OPERATIONS = {
    "chat": SpanKind.LLM,
    "text_completion": SpanKind.LLM,
    "generate_content": SpanKind.LLM,
    "execute_tool": SpanKind.TOOL,
    "invoke_agent": SpanKind.AGENT,
}
_KINDS = {"llm": SpanKind.LLM, "tool": SpanKind.TOOL, "agent": SpanKind.AGENT, "chat": SpanKind.LLM}
# What LlamaIndex and LangGraph call the span of a whole run; they give it no kind of its own.
_AGENT_RUN = re.compile(
    r"^(?:\w*(?:Agent|AgentWorkflow|AgentRunner|AgentWorker)\.(?:run|arun|chat|achat|stream_chat|astream_chat|query|aquery)|LangGraph)$"
)


def _said(said: Any, attributes: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        attributes.get("openinference.span.kind"),
        said,
        attributes.get("traceloop.span.kind"),
        attributes.get("llm.request.type"),
    )


def read_span(raw: Any) -> Span | None:
    """Read one span of a JSON dump: as Phoenix's client, OpenTelemetry's `span.to_json()` or OTLP write it.

    Its attributes are translated by the convention that it follows; `raw` holds them as they were written.

    Returns:
        None if it has no id of a trace or of its own: it belongs nowhere.
    """
    ids = ids_of(raw)
    return None if ids is None else read_known(raw, *ids, start_of(raw))


def read_known(raw: Mapping[str, Any], trace_id: str, span_id: str, start_ns: int | None) -> Span:
    """Read one span of which ids and start are known; see `read_span`."""
    context = raw.get("context")
    inner = context if isinstance(context, dict) else {}
    given = raw.get("attributes")
    attributes = flatten(given) if isinstance(given, dict) else from_pairs(given)
    events = tuple(_event(event) for event in listed(raw.get("events")) if isinstance(event, dict))
    scope = raw.get("scope") or raw.get("instrumentation_scope")
    said = translated(
        SpanContent(
            str(raw.get("name") or ""),
            str(scope.get("name") or "") if isinstance(scope, dict) else str(scope or ""),
            attributes,
            events,
            *_status(raw, events),
        )
    )
    resource = raw.get("resource")
    resource = resource.get("attributes", resource) if isinstance(resource, dict) else {}
    return Span(
        id=span_id,
        trace_id=trace_id,
        parent_id=read_id(_first(raw, inner, "parent_id", "parentSpanId", "parent_span_id"), 16),
        name=said.name,
        kind=kind_of(said.name, raw.get("span_kind"), said.attributes),
        attributes=said.attributes,
        start_ns=start_ns,
        end_ns=read_time(_first(raw, raw, "end_time", "endTimeUnixNano", "end_time_unix_nano")),
        failed=said.failed,
        message=said.message,
        events=said.events,
        raw=raw,
        scope=said.scope,
        resource=flatten(resource) if isinstance(resource, dict) else from_pairs(resource),
    )


def ids_of(raw: Any) -> tuple[str, str] | None:
    """Return the ids of a raw span's trace and its own; None if one of them is missing."""
    if not isinstance(raw, dict):
        return None
    context = raw.get("context")
    inner = context if isinstance(context, dict) else {}
    trace_id = read_id(_first(inner, raw, "trace_id", "traceId"), 32)
    span_id = read_id(_first(inner, raw, "span_id", "spanId"), 16)
    return None if trace_id is None or span_id is None else (trace_id, span_id)


_TIMES = tuple(
    f"{end}{form}" for end in ("start", "end") for form in ("_time", "TimeUnixNano", "_time_unix_nano", "Time")
)
_ABOUT = ("name", "span_kind", "kind", "status", "status_code", "parent_id", "parentSpanId", "parent_span_id")
_OF_LOGS = ("body", "severity_number", "severityNumber")
_OF_POINTS = ("value", "asInt", "as_int", "asDouble", "as_double", "bucketCounts", "bucket_counts")
_IDS = ("trace_id", "traceId", "span_id", "spanId", "parent_id", "parentSpanId", "parent_span_id", "kind", "span_kind")
_HOLD_SPANS = ("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "instrumentationLibrarySpans")


def looks_like_span(raw: Any) -> bool:
    """Return whether an element that cannot be read as a span is one, as far as its keys tell: with it, a run is lost.

    Who writes the spans must not be able to take a run out of the figures by leaving out an id. Metrics, logs and other
    documents that lie beside spans have other keys.
    """
    if not isinstance(raw, Mapping) or any(key in raw for key in _OF_LOGS):
        return False
    if ids_of(raw) is not None or {"resource", "scope"} <= raw.keys():  # the latter stood among the spans of OTLP
        return True
    if any(raw.get(key) is not None for key in _HOLD_SPANS):  # and not as a list, or its spans would have been read
        return True
    if any(key in raw for key in _OF_POINTS) and not any(key in raw for key in _ABOUT) and not has_span_fields(raw):
        return False
    times, attributes = sum(key in raw for key in _TIMES), "attributes" in raw
    return bool(times or attributes) and times + attributes + any(key in raw for key in _ABOUT) > 1


def has_span_fields(raw: Any) -> bool:
    """Return whether a raw element has what only spans have: an id of a span, a kind, or a place in a trace."""
    if not isinstance(raw, Mapping) or any(raw.get(key) is not None for key in _HOLD_SPANS):
        return isinstance(raw, Mapping)
    context, given = raw.get("context"), raw.get("attributes")
    inner = context if isinstance(context, Mapping) else {}
    if {"resource", "scope"} <= raw.keys() or any(key in part for part in (raw, inner) for key in _IDS):
        return True
    attributes = flatten(given) if isinstance(given, dict) else from_pairs(given)
    return kind_of(str(raw.get("name") or ""), None, attributes) is not SpanKind.OTHER


def start_of(raw: Mapping[str, Any]) -> int | None:
    """Return when a raw span began, in nanoseconds since the epoch."""
    return read_time(_first(raw, raw, "start_time", "startTimeUnixNano", "start_time_unix_nano"))


def _first(one: Mapping[str, Any], other: Mapping[str, Any], *keys: str) -> Any:
    for part in (one, other):
        for key in keys:
            if (value := part.get(key)) is not None:
                return value
    return None


def _event(event: Mapping[str, Any]) -> dict[str, Any]:
    given = event.get("attributes")
    return {
        "name": str(event.get("name") or ""),
        "attributes": flatten(given) if isinstance(given, dict) else from_pairs(given),
    }


def _status(raw: Mapping[str, Any], events: tuple[Mapping[str, Any], ...]) -> tuple[bool, str]:
    status = raw.get("status")
    inner = status if isinstance(status, dict) else {}
    code = _first(raw, inner, "status_code", "code")
    failed = str(code).upper().removeprefix("STATUS_CODE_").removeprefix("STATUSCODE.") in ("ERROR", "2")
    message = _first(raw, inner, "status_message", "message", "description")
    if failed and not message:
        errors = (event["attributes"].get("exception.message") for event in events if event["name"] == "exception")
        message = next((error for error in errors if error), "failed")
    return failed, str(message or "")

"""Reads `mlflow:FILE`: traces of MLflow, as `Trace.to_json()` writes them (`info` and `data.spans`), schemas 2 and 3.

The values of a span's attributes are JSON texts: `mlflow.spanType`, `mlflow.spanInputs`, `mlflow.spanOutputs`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from viva.recordings.platforms.reader import PlatformReader
from viva.recordings.platforms.spans import AGENT, MODEL, OTHER, TOOL, count_of, make_span, unreadable
from viva.recordings.spans.values import listed, loaded

_KINDS = {"LLM": MODEL, "CHAT_MODEL": MODEL, "TOOL": TOOL, "AGENT": AGENT}


class MlflowReader(PlatformReader):
    """Reads `mlflow:FILE`."""

    name = "mlflow"
    joins = "mlflow"
    lists = ("traces",)

    def translate(self, record: Mapping[str, Any]) -> Iterator[Any]:
        """Yield the spans of a trace; in a data frame of `mlflow.search_traces` they are a column."""
        trace = loaded(record.get("trace"))
        trace = trace if isinstance(trace, Mapping) else record
        data, info = trace.get("data"), trace.get("info")
        spans = loaded(data.get("spans") if isinstance(data, Mapping) else trace.get("spans"))
        if not isinstance(spans, list) or not spans:
            is_trace = isinstance(info, Mapping) and bool({"trace_id", "request_id"} & info.keys())
            yield unreadable(record) if is_trace else None
            return
        info = info if isinstance(info, Mapping) else {}
        about = info.get("trace_metadata", info.get("request_metadata"))
        session = about.get("mlflow.trace.session") if isinstance(about, Mapping) else None
        for span in listed(spans):
            yield _span(span, session)


def _span(span: Any, session: Any) -> Any:
    if not isinstance(span, Mapping):
        return unreadable(span)
    context = span.get("context")
    context = context if isinstance(context, Mapping) else span
    given = span.get("attributes")
    attributes = {key: _value(value) for key, value in given.items()} if isinstance(given, Mapping) else {}
    status = span.get("status")
    status = status if isinstance(status, Mapping) else {"code": span.get("status_code"), **_message(span)}
    failed = str(status.get("code")).endswith("ERROR")
    usage = attributes.get("mlflow.chat.tokenUsage")
    made = make_span(
        trace=context.get("trace_id"),
        identity=context.get("span_id"),
        parent=span.get("parent_span_id") or span.get("parent_id"),
        name=span.get("name"),
        kind=_KINDS.get(str(attributes.get("mlflow.spanType")).upper(), OTHER),
        given=attributes.get("mlflow.spanInputs"),
        returned=attributes.get("mlflow.spanOutputs"),
        began=span.get("start_time_unix_nano") or span.get("start_time"),
        ended=span.get("end_time_unix_nano") or span.get("end_time"),
        error=(status.get("message") or "failed") if failed else None,
        model=attributes.get("mlflow.llm.model"),
        tokens={
            "prompt": count_of(usage, "input_tokens"),
            "completion": count_of(usage, "output_tokens"),
            "cached": count_of(usage, "cache_read_input_tokens"),
        },
        session=session,
        raw=span,
    )
    return {**made, "events": listed(span.get("events"))}


def _message(span: Mapping[str, Any]) -> dict[str, Any]:
    return {"message": span.get("status_message")}


def _value(value: Any) -> Any:
    """Return the value of an attribute, which is JSON; text that is not is taken as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value

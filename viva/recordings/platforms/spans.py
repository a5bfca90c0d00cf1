"""Makes a span of a platform's record: what it is of, its messages, and its tokens, in OpenInference's attributes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from viva.recordings.platforms.messages import answers_in, message_attributes, messages_in
from viva.recordings.spans.values import listed, loaded

MODEL, TOOL, AGENT, OTHER = "LLM", "TOOL", "AGENT", "CHAIN"


def make_span(
    *,
    trace: Any,
    identity: Any,
    parent: Any,
    name: Any,
    kind: str,
    given: Any,
    returned: Any,
    began: Any,
    ended: Any,
    error: Any = None,
    model: Any = None,
    tokens: Mapping[str, Any] | None = None,
    session: Any = None,
    tools: Any = None,
    call: Any = None,
    raw: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a span as a dump of spans holds it, without ids if the record lacks that of its trace or its own.

    Args:
        trace: Id of the trace.
        identity: Its own id.
        parent: Id of the record above it, if there is one.
        name: Its name.
        kind: One of `MODEL`, `TOOL`, `AGENT`, `OTHER`.
        given: Its input, as JSON or text.
        returned: Its output.
        began: Its start, in a form that `read_time` reads.
        ended: Its end.
        error: What went wrong; None or empty if nothing did.
        model: The model's name.
        tokens: `prompt`, `completion` and `cached`, as far as known.
        session: The id of the session.
        tools: Definitions of the tools that a model was given, where they are not in its input.
        call: The id of the call that a tool ran for.
        raw: The whole record, so that nothing is lost.
    """
    given, returned = loaded(given), loaded(returned)
    attributes: dict[str, Any] = {"openinference.span.kind": kind}
    if kind == MODEL:
        attributes |= _model_attributes(given, returned, tools)
    if kind == TOOL:
        attributes |= {"tool.name": str(name), "tool_call.id": call if isinstance(call, str) else None}
    attributes |= {"input.value": _value(given), "output.value": _value(returned)}
    attributes |= {"llm.model_name": model if isinstance(model, str) else None, "session.id": session}
    for key, count in (tokens or {}).items():
        attributes["llm.token_count.prompt_details.cache_read" if key == "cached" else f"llm.token_count.{key}"] = count
    return {
        "name": str(name or ""),
        "context": {"trace_id": str(trace), "span_id": str(identity)} if _is_id(trace) and _is_id(identity) else {},
        "parent_id": str(parent) if _is_id(parent) else None,
        "start_time": began,
        "end_time": ended,
        "status_code": "ERROR" if error else "OK",
        "status_message": _value(error) if error else "",
        "attributes": {key: value for key, value in attributes.items() if value is not None},
        "record": raw,
    }


def unreadable(raw: Any) -> dict[str, Any]:
    """Return what stands for a part of a record that cannot be read: a span without ids, which is counted as lost."""
    return {"name": "", "context": {}, "attributes": {}, "record": raw}


def _model_attributes(given: Any, returned: Any, tools: Any) -> dict[str, Any]:
    attributes = message_attributes("llm.input_messages", messages_in(given))
    attributes |= message_attributes("llm.output_messages", answers_in(returned))
    tools = tools or (given.get("tools") if isinstance(given, Mapping) else None)
    for number, tool in enumerate(listed(tools)):
        attributes[f"llm.tools.{number}.tool.json_schema"] = json.dumps(tool, ensure_ascii=False)
    return attributes


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and bool(str(value).strip())


def _value(value: Any) -> Any:
    """Return a value as text, or None for an empty one."""
    if value is None or value in ("", {}, []):
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def count_of(counts: Any, *names: str) -> Any:
    """Return the first whole number under some names, also as text or as a float without a fraction."""
    for name in names:
        value = counts.get(name) if isinstance(counts, Mapping) else None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None

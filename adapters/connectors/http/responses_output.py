"""Reads answers of OpenAI's Responses API, whole or streamed: texts, steps, refusals, usage.

Wire format: https://platform.openai.com/docs/api-reference/responses/object.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from viva.adapters.connectors.http.endpoint import beginning_of
from viva.adapters.connectors.http.event_streams import DONE, error_in, is_stream, read_events
from viva.errors import ModelAnswerError, ProtocolError
from viva.records.bounded_json import DoubledKey, UnfitJson, read
from viva.records.redact import redacted_line
from viva.records.text import storable
from viva.records.transcript import MOST_TOKENS, Step, StepKind, Usage

LAST_EVENTS = ("response.completed", "response.incomplete", "response.failed")
"""The events that hold the whole response."""
RESULTS = {"function_call_output": "call_id", "custom_tool_call_output": "call_id", "local_shell_call_output": "id"}
"""The items that hold what a tool returned, and the name of the call's id in them."""
_NOT_INPUT = frozenset({"id", "call_id", "type", "status", "name", "output", "outputs", "results", "result", "error"})


@dataclass(slots=True)
class ResponseRead:
    """What a response says."""

    id: str | None
    stored: bool
    """Whether the server keeps it, so that the next request can refer to it."""
    status: str
    reason: str
    """Why the response failed or is incomplete, in the server's words."""
    text: str = ""
    refusal: str = ""
    steps: list[Step] = field(default_factory=list)
    waiting: bool = False
    """Whether a call of a function has no result, for which the next request would have to bring one."""
    usage: Usage = field(default_factory=Usage)


def read_response_body(body: bytes, content_type: str, model: str, round_: int) -> ResponseRead:
    """Read the body of a response.

    Args:
        body: The body.
        content_type: What the server says that it is.
        model: The model, for the steps.
        round_: The number of the message, for the ids of steps.

    Raises:
        ProtocolError: it does not follow the protocol, or is a stream that ended before the response did.
        ModelAnswerError: its JSON has a duplicate key, or its stream too many events.
    """
    whole = _last_of(body) if is_stream(content_type, body) else _json(body)
    if not isinstance(whole, Mapping) or not isinstance(whole.get("output"), list):
        error = error_in(whole)
        words = f", but the error {error}" if error else f": {beginning_of(body)!r}"
        raise ProtocolError(f"it has no output{words}")
    details = whole.get("incomplete_details")
    reason = error_in(whole) or (str(details.get("reason") or "") if isinstance(details, Mapping) else "")
    found = ResponseRead(
        id=whole["id"] if isinstance(whole.get("id"), str) and whole["id"] else None,
        stored=whole.get("store") is not False,
        status=str(whole.get("status") or "completed"),
        reason=redacted_line(reason, 300),
        usage=_usage(whole.get("usage")),
    )
    _read_items([item for item in whole["output"] if isinstance(item, Mapping)], found, model, round_)
    return found


def _json(body: bytes) -> Any:
    try:
        return read(body)
    except DoubledKey as error:
        raise ModelAnswerError(f"the response's JSON cannot be trusted: {error}") from error
    except UnfitJson as error:
        raise ProtocolError(f"{error}: {redacted_line(body, 80)!r}") from error


def _last_of(body: bytes) -> Any:
    """Return the whole response that ends a stream."""
    items: list[Any] = []
    count = 0
    for event in read_events(body):
        if event.data.strip() == DONE:
            break
        data, count = event.json(), count + 1
        kind = data.get("type") if isinstance(data, Mapping) else None
        if kind == "error":
            raise ProtocolError(
                f"it is a stream with the error {error_in(data) or redacted_line(str(data.get('message')), 200)}"
            )
        if kind == "response.output_item.done":
            items.append(data.get("item"))
        if kind in LAST_EVENTS and isinstance(whole := data.get("response"), Mapping):
            return {**whole, "output": whole.get("output") or items}
    raise ProtocolError(f"the stream ended before the response did, after {count:,} events")


def _read_items(items: list[Mapping[str, Any]], found: ResponseRead, model: str, round_: int) -> None:
    results = {
        str(item.get(RESULTS[item["type"]])): _text(item.get("output"))
        for item in items
        if isinstance(item.get("type"), str) and item["type"] in RESULTS
    }
    texts: list[str] = []
    for index, item in enumerate(items, 1):
        kind = item.get("type")
        identity = str(item.get("call_id") or item.get("id") or f"m{round_}.{index}")
        if kind == "message":
            for part in _parts(item.get("content")):
                texts += [_text(part.get("text"))] if part.get("type") in ("output_text", "text") else []
                found.refusal += _text(part.get("refusal")) if part.get("type") == "refusal" else ""
        elif kind == "reasoning":
            thoughts = [*_parts(item.get("summary")), *_parts(item.get("content"))]
            if thought := "\n".join(filter(None, (_text(each.get("text")) for each in thoughts))):
                found.steps.append(Step(identity, StepKind.THINK, thought=thought, model=model))
        elif isinstance(kind, str) and (kind.endswith("_call") or kind == "mcp_approval_request"):
            step = _call(identity, kind, item, results.get(str(item.get("call_id") or item.get("id"))), model)
            found.steps.append(step)
            found.waiting |= kind in ("function_call", "custom_tool_call") and step.result is None
    found.text = "\n".join(texts)


def _call(identity: str, kind: str, item: Mapping[str, Any], result: str | None, model: str) -> Step:
    """Return the step for a call of any tool: of the user's functions, of an MCP server, or of the provider."""
    error = item.get("error")
    arguments = item.get("arguments", item.get("input"))
    if isinstance(arguments, str):
        with contextlib.suppress(ValueError, RecursionError):
            arguments = json.loads(arguments)
    if arguments is None:
        arguments = item.get("action") or item.get("code") or item.get("queries")
    if arguments is None:
        arguments = {name: value for name, value in item.items() if name not in _NOT_INPUT and value is not None}
    name = item.get("name")
    if result is None:
        result = next((_text(item[key]) for key in ("output", "outputs", "results") if item.get(key)), None)
    failed = item.get("status") == "failed"
    return Step(
        identity,
        StepKind.TOOL,
        tool=name if isinstance(name, str) else kind.removesuffix("_call"),
        tool_input=arguments,
        result=result,
        error=_text(error) if error else ("failed" if failed else None),
        model=model,
        attributes={"type": kind, **({"server": item["server_label"]} if item.get("server_label") else {})},
    )


def _parts(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, str):
        yield {"type": "output_text", "text": value}
    for part in value if isinstance(value, list) else ():
        if isinstance(part, Mapping):
            yield part


def _text(value: object) -> str:
    """Return text as it is, the logs and texts of a list of parts joined, and other JSON as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        known = [part.get("logs") or part.get("text") for part in value if isinstance(part, Mapping)]
        if known and len(known) == len(value) and all(isinstance(each, str) for each in known):
            return storable("\n".join(map(str, known)))
    if isinstance(value, Mapping) and isinstance(value.get("message"), str):
        return storable(value["message"])
    return storable(json.dumps(value, ensure_ascii=False))


def _usage(reported: object) -> Usage:
    given, made = _count(reported, "input_tokens"), _count(reported, "output_tokens")
    inside = reported if isinstance(reported, Mapping) else {}
    cached = _count(inside.get("input_tokens_details"), "cached_tokens") or 0
    written = _count(inside.get("input_tokens_details"), "cache_write_tokens") or 0
    hidden = _count(inside.get("output_tokens_details"), "reasoning_tokens") or 0
    return Usage.answered(
        given,
        made,
        min(cached, given or 0),
        min(hidden, made or 0),
        cache_write_tokens=min(written, given or 0),
    )


def _count(holder: object, name: str) -> int | None:
    value = holder.get(name) if isinstance(holder, Mapping) else None
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None

"""Reads answers of JSON APIs by the paths of an agent file: text, steps, usage, the session's id, errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from viva.adapters.connectors.http.event_streams import MOST_EVENTS, ServerEvent, is_stream, lines_of, read_events
from viva.adapters.connectors.http.json_keys import EventKeys, ReplyKeys, StepKeys, UsageKeys
from viva.adapters.connectors.http.paths import JsonPath, NotThere, shape
from viva.errors import AgentError, ModelAnswerError, ProtocolError
from viva.records.bounded_json import UnfitJson, read
from viva.records.redact import redacted_line
from viva.records.text import storable
from viva.records.transcript import MOST_TOKENS, NO_USAGE, Step, StepKind, Usage

LINES = ("application/x-ndjson", "application/jsonl", "application/json-seq", "application/x-jsonlines")
"""Content types with a JSON document in each line, which are read like the events of a stream."""
MOST_STEPS = 2_000
"""Maximum number of steps in one answer."""
_LINE_END = re.compile("[\n\x1e]")
"""What ends a JSON document, or begins one (RFC 7464). Texts in one may have other ends of lines, such as U+2028."""


@dataclass(slots=True)
class ReadAnswer:
    """What an answer says."""

    text: str = ""
    steps: list[Step] = field(default_factory=list)
    usage: Usage = NO_USAGE
    session_id: str | None = None


def read_answer(body: bytes, content_type: str, keys: ReplyKeys, events: EventKeys | None, round_: int) -> ReadAnswer:
    """Read an answer.

    Args:
        body: The answer.
        content_type: What the server says that it is.
        keys: The paths to what an answer holds.
        events: Which events make up the text, if the answer is a stream.
        round_: The number of the message, for the ids of steps.

    Raises:
        AgentError: the answer is not as the agent file says, or reports an error. The message shows its structure.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind in LINES or is_stream(content_type, body):
        return _read_stream(body, kind, keys, events, round_)
    text = body.decode("utf-8", "replace")
    try:
        whole = read(body, strict=False)
    except UnfitJson as error:
        if keys.text is None and kind != "text/html":
            return ReadAnswer(storable(text))
        what = "a web page" if kind == "text/html" else str(error).removeprefix("it is ")
        raise AgentError(f"the agent's answer is {what}: {redacted_line(body, 80)!r}") from error
    answer = ReadAnswer()
    _read_parts(whole, None, keys, answer, round_)
    if keys.text is None:
        raise AgentError(f"the agent file does not say where the reply is (reply.text); the answer is {shape(whole)}")
    try:
        answer.text = _as_text(JsonPath.parse(keys.text).find(whole))
    except NotThere as error:
        raise AgentError(f"reply.text ({keys.text}) matches nothing: {error}") from error
    return answer


def has_ended(body: bytearray, new: int, end: str) -> bool:
    """Return whether the last bytes of a stream are the event that ends an answer, by its name or its data."""
    tail = bytes(body[-(new + len(end) + 16) :]).decode("utf-8", "replace").replace("\r\n", "\n")
    lines = [line.partition(":") for line in tail.split("\n\n")[-2].split("\n")] if "\n\n" in tail else []
    return any(name in ("event", "data") and value.strip() == end for name, _, value in lines)


def _read_stream(body: bytes, kind: str, keys: ReplyKeys, events: EventKeys | None, round_: int) -> ReadAnswer:
    answer, pieces, ended = ReadAnswer(), list[str](), False
    first: Any = None
    try:
        for event in _lines(body) if kind in LINES else read_events(body):
            if events is not None and events.end is not None and events.end in (event.name, event.data.strip()):
                ended = True
                if event.data.strip() == events.end:
                    break
            data = event.json()
            first = data if first is None else first
            _read_parts(data, event.name, keys, answer, round_)
            if events is not None and (piece := _piece(event.name, data, events)) is not None:
                if events.whole:
                    pieces.clear()
                pieces.append(piece)
            if ended:
                break
    except (ProtocolError, ModelAnswerError) as error:
        raise AgentError(f"the agent's answer is broken: {error}") from error
    if events is None:
        raise AgentError(
            "the agent's answer is a stream of events, and the agent file does not say which are the reply (events); "
            f"the first is {shape(first)}"
        )
    if events.end is not None and not ended:
        raise AgentError(f"the agent's answer was cut: the event {events.end!r} that ends it did not come")
    if not pieces and not answer.steps:
        raise AgentError(f"events.text ({events.text}) matches nothing in any event; the first is {shape(first)}")
    answer.text = "".join(pieces)
    return answer


def _lines(body: bytes) -> Iterator[ServerEvent]:
    documents = [data for line in lines_of(body, _LINE_END) if (data := line.strip(" \t\r"))]
    if len(documents) > MOST_EVENTS:
        raise ModelAnswerError(f"the stream has more than {MOST_EVENTS:,} documents")
    return (ServerEvent("message", data) for data in documents)


def _piece(name: str, data: Any, events: EventKeys) -> str | None:
    names = [events.event] if isinstance(events.event, str) else events.event
    if names is not None and name not in names:
        return None
    found = JsonPath.parse(events.text).find_or_none(data)
    return None if found is None else _as_text(found)


def _read_parts(data: Any, name: str | None, keys: ReplyKeys, answer: ReadAnswer, round_: int) -> None:
    """Read everything but the text from an answer, or from one event (`name`) of a stream."""
    if keys.error is not None and (wrong := JsonPath.parse(keys.error).find_or_none(data)):
        raise AgentError(f"the agent failed: {redacted_line(_as_text(wrong), 1000)}")
    if keys.session_id is not None and answer.session_id is None:
        found = JsonPath.parse(keys.session_id).find_or_none(data)
        answer.session_id = str(found) if isinstance(found, str | int) and found != "" else None
    if keys.usage is not None and (used := _usage(data, keys.usage)) is not None:
        answer.usage = used  # of a stream, the last: those before are sums up to them
    if keys.steps is not None and keys.steps.event in (None, name):
        answer.steps += _steps(data, keys.steps, f"m{round_}.{len(answer.steps)}")
        if len(answer.steps) > MOST_STEPS:
            raise AgentError(f"the agent's answer has more than {MOST_STEPS:,} steps")


def _steps(data: Any, keys: StepKeys, prefix: str) -> list[Step]:
    found = JsonPath.parse(keys.each).find_or_none(data)
    listed: Sequence[Any] = found if isinstance(found, list) else [] if found is None else [found]
    steps = []
    for index, each in enumerate(listed[: MOST_STEPS + 1], 1):
        parts = {
            name: _part(each, getattr(keys, name)) for name in ("tool", "input", "result", "error", "thought", "id")
        }
        if all(parts[name] is None for name in ("tool", "input", "result", "error", "thought")):
            continue
        steps.append(
            Step(
                str(parts["id"] or f"{prefix}.{index}"),
                StepKind.THINK if parts["tool"] is None and parts["thought"] is not None else StepKind.TOOL,
                tool=None if parts["tool"] is None else _as_text(parts["tool"]),
                tool_input=parts["input"],
                result=None if parts["result"] is None else _as_text(parts["result"]),
                error=None if parts["error"] in (None, False, "") else _as_text(parts["error"]),
                thought=None if parts["thought"] is None else _as_text(parts["thought"]),
            )
        )
    return steps


def _part(value: Any, path: str | None) -> Any:
    return None if path is None else JsonPath.parse(path).find_or_none(value)


def _usage(data: Any, keys: UsageKeys) -> Usage | None:
    counts = {name: _part(data, getattr(keys, name)) for name in UsageKeys.model_fields}
    if all(count is None for count in counts.values()):
        return None
    cost = counts.pop("cost")
    known = {name: count for name, count in counts.items() if type(count) is int and 0 <= count <= MOST_TOKENS}
    return Usage(
        **known,
        calls=1,
        cost=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0 else None,
        reported={"input_tokens", "output_tokens"} <= known.keys(),
    )


def _as_text(value: Any) -> str:
    """Return text as it is, the texts of a list joined, and other JSON as JSON."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return storable("".join(value))
    if value is None:
        return ""
    return storable(json.dumps(value, ensure_ascii=False))


def fits(answer: Any, path: str, what: str) -> Any:
    """Return what a path leads to in an answer.

    Raises:
        AgentError: it matches nothing.
    """
    try:
        return JsonPath.parse(path).find(answer)
    except NotThere as error:
        raise AgentError(f"{what} ({path}) matches nothing: {error}") from error

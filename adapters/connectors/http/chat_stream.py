"""Puts the chunks of a streamed chat completion together to the completion that would have come in one piece.

Wire format: https://platform.openai.com/docs/api-reference/chat-streaming.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from viva.adapters.connectors.http.event_streams import DONE, error_in, read_events
from viva.errors import ProtocolError

TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
"""The parts of a message that chunks continue."""


@dataclass(slots=True)
class _Message:
    texts: dict[str, list[str]] = field(default_factory=dict)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    function: dict[str, str] | None = None

    def add(self, delta: Mapping[str, Any]) -> None:
        for name in TEXTS:
            if isinstance(piece := delta.get(name), str):
                self.texts.setdefault(name, []).append(piece)
        calls = delta.get("tool_calls")
        for position, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, Mapping):
                index = call.get("index")
                self._add_call(index if isinstance(index, int) else position, call)
        if isinstance(legacy := delta.get("function_call"), Mapping):
            self.function = self.function or {"name": "", "arguments": ""}
            _add_function(self.function, legacy)

    def _add_call(self, index: int, call: Mapping[str, Any]) -> None:
        made = self.calls.setdefault(index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        if isinstance(call.get("id"), str):
            made["id"] = made["id"] or call["id"]
        if isinstance(function := call.get("function"), Mapping):
            _add_function(made["function"], function)

    def whole(self) -> dict[str, Any]:
        message: dict[str, Any] = {name: "".join(pieces) for name, pieces in self.texts.items()}
        if self.calls:
            message["tool_calls"] = [call for _, call in sorted(self.calls.items())]
        if self.function is not None:
            message["function_call"] = self.function
        return {"role": "assistant", "content": None, **message}


def _add_function(made: dict[str, str], piece: Mapping[str, Any]) -> None:
    if isinstance(piece.get("name"), str) and made["name"] != piece["name"]:
        made["name"] += piece["name"]
    if isinstance(piece.get("arguments"), str):
        made["arguments"] += piece["arguments"]


def merged(body: bytes) -> bytes:
    """Return the completion that a stream of chunks makes, as JSON.

    Raises:
        ProtocolError: an event is not JSON or reports an error, or the stream ended before the answer did.
        ModelAnswerError: there are too many events.
    """
    message, finished, chunks, usage = _Message(), False, 0, None
    for event in read_events(body):
        if event.data.strip() == DONE:
            finished = True
            break
        chunk = event.json()
        if error := error_in(chunk):
            raise ProtocolError(f"it is a stream with the error {error}")
        if not isinstance(chunk, Mapping):
            continue
        chunks += 1
        usage = chunk.get("usage") or usage
        choices = chunk.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(first, Mapping) or first.get("index", 0) != 0:
            continue
        delta = first.get("delta") or first.get("message")
        if isinstance(delta, Mapping):
            message.add(delta)
        finished = finished or first.get("finish_reason") is not None
    if not finished:
        raise ProtocolError(f"the stream ended before the answer did, after {chunks:,} chunks")
    whole = {"choices": [{"index": 0, "message": message.whole(), "finish_reason": "stop"}], "usage": usage}
    return json.dumps(whole).encode()

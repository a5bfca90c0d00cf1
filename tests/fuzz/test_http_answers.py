"""Whatever a server answers, it is read or refused in words: no other exception, for JSON, streams and Responses."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.adapters.connectors.http.chat_stream import merged
from viva.adapters.connectors.http.json_answers import read_answer
from viva.adapters.connectors.http.json_keys import EventKeys, ReplyKeys, StepKeys, UsageKeys
from viva.adapters.connectors.http.responses_output import read_response_body
from viva.errors import AgentError, ModelAnswerError, ProtocolError

NAMES = st.sampled_from(
    ["text", "steps", "usage", "id", "type", "output", "content", "call_id", "arguments", "error", "choices", "delta",
     "tool_calls", "index", "function", "summary", "action", "status", "message", "response", "name", "item"]
)  # fmt: skip
WORDS = st.sampled_from(["message", "reasoning", "function_call", "mcp_call", "output_text", "refusal", "failed"])
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | WORDS
JSON = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5), max_leaves=20
)
STREAMS = st.lists(
    st.builds(lambda name, data: f"event: {name}\ndata: {json.dumps(data)}\n\n", WORDS, JSON) | st.text(max_size=20),
    max_size=6,
).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass"))
BODIES = JSON.map(lambda data: json.dumps(data).encode()) | STREAMS | st.binary(max_size=60)
TYPES = st.sampled_from(
    ["application/json", "text/event-stream", "text/plain", "text/html", "application/x-ndjson", ""]
)
KEYS = ReplyKeys(
    text="output[*].content[0].text",
    steps=StepKeys(each="steps[*]", tool="name", input="arguments", result="output", error="error", thought="text"),
    usage=UsageKeys(input_tokens="usage.id", output_tokens="usage.text", cost="usage.status"),
    session_id="id",
    error="error",
)


@settings(max_examples=examples(100), deadline=None)
@given(BODIES, TYPES, st.booleans())
def test_any_answer_of_a_json_api_is_read_or_refused(body: bytes, kind: str, streams: bool) -> None:
    events = EventKeys(text="delta", event=["message", "reasoning"], end="failed") if streams else None
    try:
        found = read_answer(body, kind, KEYS, events, 1)
    except AgentError:
        return
    assert isinstance(found.text, str)
    assert found.usage.input_tokens >= 0


@settings(max_examples=examples(100), deadline=None)
@given(BODIES | st.lists(JSON, max_size=4).map(lambda items: json.dumps({"output": items}).encode()), TYPES)
def test_any_answer_of_the_responses_api_is_read_or_refused(body: bytes, kind: str) -> None:
    try:
        found = read_response_body(body, kind, "m", 1)
    except (ProtocolError, ModelAnswerError):
        return
    assert isinstance(found.text, str)


@settings(max_examples=examples(100), deadline=None)
@given(BODIES)
def test_any_chat_stream_is_merged_or_refused(body: bytes) -> None:
    try:
        whole: Any = json.loads(merged(body))
    except (ProtocolError, ModelAnswerError):
        return
    assert whole["choices"][0]["message"]["role"] == "assistant"

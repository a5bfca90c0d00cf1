"""What an agent's endpoint may send instead of the protocol: each ends in words that name it, or in a reply."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest

from adapters.connectors import http as chat
from adapters.connectors.python import load_agent
from adapters.errors import AgentError
from adapters.session import AgentArguments, AgentSession, open_session
from records.transcript import Reply
from tests.model_server import Garbage, ModelServer


def completion(**message: Any) -> str:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return json.dumps({"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]})


def called(arguments: Any) -> str:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    return completion(content=None, tool_calls=[call])


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_MODEL_WAIT", "0.001")
    monkeypatch.setenv("VIVA_MODEL_ATTEMPTS", "2")
    monkeypatch.setenv("VIVA_AGENT_API_KEY", "test-key-123456")


async def session_at(url: str) -> AgentSession:
    return await open_session(load_agent(f"{url}#m").factory, AgentArguments("Ask."), 30)


async def replies(body: str, content_type: str = "application/json", times: int = 1) -> list[Reply]:
    with ModelServer({"m": Garbage(text=body, content_type=content_type)}) as server:
        session = await session_at(server.url)
        try:
            return [await session.reply("Hello.", 30) for _ in range(times)]
        finally:
            await session.close()


STREAM = 'data: {"choices": [{"delta": {"content": "hi"}}]}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize(
    ("body", "content_type", "words"),
    [
        (STREAM, "text/event-stream", "an event stream, which was not asked for"),
        (STREAM, "application/json", "not the protocol's"),
        ("<html><body>Sign in</body></html>", "text/html", "a web page: '<html>"),
        ("<html><body>Sign in</body></html>", "application/json", "most addresses end in /v1"),
        ("hello", "text/plain", "no JSON: 'hello'"),
        ("", "application/json", "not the protocol's"),
        ("[1, 2]", "application/json", "holds no message"),
        ("7", "application/json", "holds no message"),
        ("{}", "application/json", "holds no message"),
        ('{"choices": []}', "application/json", "holds no message"),
        ('{"choices": [{"message": null}]}', "application/json", "holds no message"),
        ('{"error": {"message": "overloaded"}}', "application/json", "but the error .*overloaded"),
        ('{"a":' * 100_000, "application/json", "not the protocol's .*RecursionError"),
        (completion(content=7), "application/json", "answered with int instead of text"),
        (completion(content=[]), "application/json", "answered with nothing"),
        (completion(content=None, refusal="I will not."), "application/json", "answered with nothing .I will not"),
    ],
)
async def test_a_body_that_is_no_answer_is_the_agents_fault_and_said_in_words(
    body: str, content_type: str, words: str
) -> None:
    with pytest.raises(AgentError, match=words) as caught:
        await replies(body, content_type)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ("{no json", "{no json"),
        ('{"a": NaN}', '{"a": NaN}'),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
        ("[" * 100_000, "[" * 100_000),
        ({"a": 1}, {"a": 1}),
        (None, None),
        ('{"a": 1}', {"a": 1}),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_arguments_of_a_tool_call_are_kept_as_they_came_where_they_are_no_plain_json(
    arguments: Any, shown: Any
) -> None:
    (reply,) = await replies(called(arguments))
    (step,) = reply.steps
    assert (step.id, step.tool, step.tool_input) == ("c1", "f", shown)


async def test_a_call_in_the_older_form_and_fields_of_its_own_are_kept() -> None:
    call = {"id": 7, "type": "custom", "function": {"name": "f", "arguments": "{}", "strict": True}}
    body = completion(content="ok", tool_calls=[call, "odd"], function_call={"name": "g", "arguments": "{}"})
    (reply,) = await replies(body)
    assert [(step.id, step.tool, step.tool_input) for step in reply.steps] == [
        ("7", "f", {}),
        ("m1.2", None, "odd"),
        ("m1.3", "g", {}),
    ]
    assert reply.steps[0].attributes == {"call": {"type": "custom", "function": {"strict": True}}}


async def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "It is"}, {"type": "text", "text": "sunny."}]
    (reply,) = await replies(completion(content=parts))
    assert reply.text == "It is\nsunny."


async def test_half_a_character_does_not_end_the_conversation() -> None:
    first, second = await replies(completion(content="a\ud800b"), times=2)
    assert first.text == second.text == "a\\ud800b"


async def test_numbers_of_tokens_that_are_none_take_nothing_off_a_budget() -> None:
    body = completion(content="hi")[:-1] + ', "usage": {"prompt_tokens": "x", "completion_tokens": -5}}'
    (reply,) = await replies(body)
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.calls) == (0, 0, 1)


class Door(BaseHTTPRequestHandler):
    """Redirects, and floods until nobody listens."""

    protocol_version = "HTTP/1.1"
    sent: ClassVar[int] = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/flood"):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                while True:
                    Door.sent += self.wfile.write(b" " * 65_536)
            except OSError:
                self.close_connection = True
            return
        self.send_response(int(self.path.split("/")[1]))
        self.send_header("Location", self.path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def door() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


async def test_a_response_without_end_is_cut_off_and_not_asked_for_again(
    door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat, "LONGEST_RESPONSE", 1_000_000)
    session = await session_at(f"{door}/flood/v1")
    with pytest.raises(AgentError, match="longer than 1,000,000 bytes"):
        await session.reply("Hello.", 60)
    await session.close()
    assert Door.sent < 50_000_000


async def test_a_redirect_that_leads_nowhere_is_the_agents_fault(door: str) -> None:
    session = await session_at(f"{door}/307/v1")
    with pytest.raises(AgentError, match="redirects"):
        await session.reply("Hello.", 60)
    await session.close()

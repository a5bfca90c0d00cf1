"""Chat answers that come as event streams, asked for or not, and what goes wrong in them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import QUICK
from tests.model_server import Answer, CutConnection, Garbage, ModelServer, ToolCall, sequence
from viva.adapters import Reply
from viva.adapters.connectors.http import event_streams, json_answers
from viva.adapters.connectors.http.event_streams import has_ended, read_events
from viva.adapters.connectors.http.json_keys import EventKeys, ReplyKeys
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, open_session
from viva.errors import AgentError
from viva.records.transcript import StepKind


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_MODEL_ATTEMPTS", str(QUICK.attempts))
    monkeypatch.setenv("VIVA_MODEL_WAIT", "0.01")


async def reply_of(spec: str, seconds: float = 20) -> Reply:
    session = await open_session(load_agent(spec).factory, AgentArguments("task"), 10)
    try:
        return await session.reply("Hello.", seconds)
    finally:
        assert await session.close() is None


def streaming(folder: Path, url: str) -> str:
    (folder / "agent.yaml").write_text(f"connector: http\nurl: {url}\nmodel: m\nstream: true\n")
    return str(folder / "agent.yaml")


def chunk(delta: object, finish: str | None = None) -> str:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta, 'finish_reason': finish}]})}\n\n"


async def test_a_streamed_answer_has_text_reasoning_calls_and_usage(tmp_path: Path) -> None:
    answer = Answer(
        "The sum of all of these numbers is 5,050.",
        reasoning_content="I add them up, from 1 to 100.",
        tool_calls=(ToolCall("add", '{"numbers": [1, 2, 3, 4, 5, 6]}', "c1"), ToolCall("stop", "{}", "c2")),
        usage=(120, 34),
    )
    with ModelServer({"m": lambda request: answer}) as server:
        reply = await reply_of(streaming(tmp_path, server.url))
        sent = server.requests[-1].body
    assert (sent["stream"], sent["stream_options"]) == (True, {"include_usage": True})
    assert reply.text == answer.content
    thought, add, stop = reply.steps
    assert (thought.kind, thought.thought) == (StepKind.THINK, answer.reasoning_content)
    assert (add.id, add.tool, add.tool_input) == ("c1", "add", {"numbers": [1, 2, 3, 4, 5, 6]})
    assert (stop.id, stop.tool) == ("c2", "stop")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.reported) == (120, 34, True)


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/json", "text/plain"])
async def test_a_stream_that_was_not_asked_for_is_read(content_type: str) -> None:
    text = ": keep-alive\n\n" + chunk({"content": "Hel"}) + ": ping\r\n\r\n" + chunk({"content": "lo."}, "stop")
    with ModelServer({"m": Garbage(text=text + "data: [DONE]\n\n", content_type=content_type)}) as server:
        assert (await reply_of(f"{server.url}#m")).text == "Hello."


@pytest.mark.parametrize(
    "text",
    [
        chunk({"content": "Hello."}, "stop"),
        chunk({"content": "Hello."}) + "data: [DONE]",
        "garbage\nmore: garbage\n" + chunk({"content": "Hello."}, "stop") + "data: [DONE]\n\nnonsense after the end",
        chunk({"role": "assistant"}) + chunk({"content": "Hello."}) + 'data: {"choices": []}\n\n' + chunk({}, "stop"),
        chunk({"content": "Hello."}, "stop").replace("\n", "\r"),
    ],
    ids=["no-done", "no-finish", "garbage-lines", "empty-choices", "carriage-returns"],
)
async def test_streams_that_differ_from_the_protocol_but_are_whole_are_read(text: str) -> None:
    with ModelServer({"m": Garbage(text=text, content_type="text/event-stream")}) as server:
        assert (await reply_of(f"{server.url}#m")).text == "Hello."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (chunk({"content": "Hel"}), "the stream ended before the answer did, after 1 chunks"),
        (": ping\n\n", "the stream ended before the answer did"),
        (chunk({"content": "Hel"}) + 'data: {"error": {"message": "overloaded"}}\n\n', "with the error overloaded"),
        (chunk({"content": "Hel"}) + "data: <html>\n\n", "an event of the stream is not JSON: '<html>'"),
        (chunk({"content": "Hel"}) + 'data: {"choices": [{"de', "an event of the stream is not JSON"),
        ("data: {}\n\n" * 200_001, "more than 200,000 events"),
    ],
    ids=["cut", "only-keep-alives", "error-inside", "garbage", "cut-event", "flood"],
)
async def test_a_stream_that_is_broken_is_an_error_with_the_servers_words(text: str, told: str) -> None:
    with (
        ModelServer({"m": Garbage(text=text, content_type="text/event-stream")}) as server,
        pytest.raises(AgentError, match=told),
    ):
        await reply_of(f"{server.url}#m")


async def test_a_stream_that_is_cut_once_is_asked_for_again(tmp_path: Path) -> None:
    with ModelServer({"m": sequence(CutConnection(), then=Answer("Hello."))}) as server:
        reply = await reply_of(streaming(tmp_path, server.url))
    assert (reply.text, reply.usage.retries) == ("Hello.", 1)


@pytest.fixture
def left_open() -> Iterator[str]:
    """A server that ends its answer, and leaves the connection open."""
    listener = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n")
            for piece in (chunk({"content": "Hello."}, "stop"), "data: [DO", "NE]\n", "\n"):
                connection.sendall(piece.encode())
            done.wait(60)

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    done.set()
    thread.join()
    listener.close()


async def test_an_answer_ends_with_its_last_event_even_if_the_connection_stays_open(left_open: str) -> None:
    assert (await reply_of(f"{left_open}#m")).text == "Hello."


async def test_a_conversation_can_be_continued_from_its_state() -> None:
    with ModelServer({"m": lambda request: f"{len(request['messages'])} messages"}) as server:
        loaded = load_agent(f"{server.url}#m")
        first = loaded.factory("task")
        await first.get_reply_from_agent("one")
        second = loaded.factory("task")
        second.load_state(json.loads(json.dumps(first.save_state())))
        assert (await second.get_reply_from_agent("two")).text == "3 messages"
        await first.close()
        await second.close()


def test_events_are_read_as_the_standard_says() -> None:
    body = b"\xef\xbb\xbfevent: one\ndata: a\ndata:  b\nid: 7\n\n:comment\ndata\n\nevent: empty\n\ndata:{}\r\n\r\n"
    assert [(event.name, event.data) for event in read_events(body)] == [
        ("one", "a\n b"),
        ("message", ""),
        ("message", "{}"),
    ]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("text/event-stream", ":\n" * 40),
        ("text/event-stream", 'data: {"t": "a"}\n\n' * 11),
        ("application/jsonl", "\n" * 40),
        ("application/jsonl", '{"t": "a"}\n' * 11),
    ],
    ids=["lines", "events", "empty-lines", "documents"],
)
def test_a_stream_of_too_many_lines_or_events_is_refused(kind: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "MOST_LINES", 30)
    for module in (event_streams, json_answers):
        monkeypatch.setattr(module, "MOST_EVENTS", 10)
    with pytest.raises(AgentError, match=r"the stream has more than [13]0"):
        json_answers.read_answer(text.encode(), kind, ReplyKeys(), EventKeys.model_validate({"text": "t"}), 1)


def test_the_end_of_a_stream_is_not_found_in_what_it_says() -> None:
    assert not has_ended(bytearray(chunk({"content": "data: [DONE]"}).encode()), 9)
    assert has_ended(bytearray(b'event: response.completed\ndata: {"type": "response.completed"}\n\n'), 3)
    assert not has_ended(bytearray(b'event: response.completed\ndata: {"type": "resp'), 3)

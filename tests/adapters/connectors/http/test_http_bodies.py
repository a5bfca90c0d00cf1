"""What an agent's endpoint may send instead of the protocol: each ends in words that name it, or in a reply."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from tests.adapters.connectors.http.plays import Play, playing
from tests.model_server import COMPLETIONS, Flood, Garbage, ModelServer, Redirect, sequence
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, AgentSession, open_session
from viva.errors import AgentError
from viva.models import bounded_answers
from viva.records.transcript import Reply


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


@pytest.mark.parametrize(
    ("body", "content_type", "words"),
    [
        ("<html><body>Sign in</body></html>", "text/html", "a web page: '<html>"),
        ("<html><body>Sign in</body></html>", "application/json", "most addresses end in /v1"),
        ("hello", "text/plain", "not JSON: 'hello'"),
        ("", "application/json", "does not follow the protocol"),
        ('{"detail": "the kettle is empty"}', "application/json", "has no message: .*the kettle is empty"),
        ("[1, 2]", "application/json", "has no message"),
        ("7", "application/json", "has no message"),
        ("{}", "application/json", "has no message"),
        ('{"choices": []}', "application/json", "has no message"),
        ('{"choices": [{"message": null}]}', "application/json", "has no message"),
        ('{"error": {"message": "overloaded"}}', "application/json", "but the error .*overloaded"),
        ('{"a":' * 100_000, "application/json", "does not follow the protocol: it is nested more than 100 levels"),
        (completion(content=7), "application/json", "content is int instead of text"),
        (completion(content=[]), "application/json", "endpoint is empty"),
        (completion(content=None, refusal="I will not."), "application/json", "model refused: I will not"),
        (completion(content="Well, sure.", refusal="I will not."), "application/json", "model refused: I will not"),
        (completion(content="a")[:-1] + ', "choices": []}', "application/json", "has a duplicate key"),
        ('{"choices": [{"message": {"content": "no", "content": "yes"}}]}', "application/json", "duplicate key"),
        ('{"choices": [{"index": NaN, "message": {"content": "a"}}]}', "application/json", "NaN is not JSON"),
        ('{"choices": [' + "{}," * 200_000 + "{}]}", "application/json", "more than 100,000 values"),
        ('{"choices": [], "x": [' + "[]," * 1_000_000 + "1]}", "application/json", "more than 100,000 values"),
    ],
)
async def test_a_body_that_is_no_answer_is_the_agents_fault_and_said_in_words(
    body: str, content_type: str, words: str
) -> None:
    with pytest.raises(AgentError, match=words) as caught:
        await replies(body, content_type)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("play", "words"),
    [
        (Play({"detail": "the kettle is empty"}, status=400), "400 - .*the kettle is empty"),
        (Play("the kettle is empty, " * 100_000, status=500), "500 - the kettle is empty"),
        (Play({"message": "the kettle is empty"}, status=500), "500 - the kettle is empty"),
        (Play("the käse", status=400, content_type="text/plain; charset=punycode"), "400 - the käse"),
        (Play("the käse", status=400, content_type="text/plain; charset=zlib"), "400 - the käse"),
        (Play('{"choices": [{"message": "the kettle', cut=True), "the end of what it had sent: .*the kettle"),
    ],
    ids=["detail", "large", "message", "punycode", "no-charset", "cut"],
)
async def test_what_the_server_said_is_quoted_whatever_its_form(play: Play, words: str) -> None:
    with playing(play, play) as server:
        session = await session_at(f"{server.url}/v1")
        with pytest.raises(AgentError, match=words) as caught:
            await session.reply("Hello.", 30)
        await session.close()
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


@pytest.mark.parametrize("body", ["no protocol", "<p>busy</p>", '{"ok": true}', "[[[", '{"choices": {}}', "\xff"])
async def test_a_body_that_is_no_protocol_is_asked_for_again_within_the_call(body: str) -> None:
    with ModelServer({"m": sequence(Garbage(text=body), then="At last.")}) as server:
        session = await session_at(server.url)
        reply = await session.reply("Hello.", 30)
        await session.close()
    assert (reply.text, reply.usage.retries, len(server.requests)) == ("At last.", 1, 2)


async def test_a_long_reply_full_of_commas_and_braces_is_no_flood_of_values() -> None:
    text = '{"a", [b], "\\' * 100_000
    (reply,) = await replies(completion(content=text))
    assert reply.text == text


async def test_a_large_reply_is_read_while_the_loop_goes_on() -> None:
    longest, before = 0.0, time.thread_time()  # of the loop: a busy machine has no part in it

    async def beat() -> None:
        nonlocal longest, before
        while True:
            await asyncio.sleep(0.005)
            longest, before = max(longest, time.thread_time() - before), time.thread_time()

    beats = asyncio.create_task(beat())
    body = '{"x": [' + "0," * 5_000_000 + '0], "choices": []}'
    with pytest.raises(AgentError, match="more than 100,000 values"):
        await replies(body)
    beats.cancel()
    assert longest < 0.5


async def test_a_response_without_end_is_cut_off_and_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_answers, "LONGEST_RESPONSE", 1_000_000)
    with ModelServer({"m": Flood()}) as server:
        session = await session_at(server.url)
        with pytest.raises(AgentError, match="longer than 1,000,000 bytes"):
            await session.reply("Hello.", 60)
        await session.close()
        assert len(server.requests) == 1
    assert server.flooded < 50_000_000


@pytest.mark.parametrize(
    ("to", "followed"),
    [
        ("/moved/chat", True),
        ("//127.0.0.1:{port}/moved", True),
        ("http://localhost:{port}/moved", False),
        ("http://127.0.0.1:{other}/moved", False),
        ("http://[::1]:{port}/moved", False),
        ("http:/moved", False),  # to port 80 of the host
        ("http:///moved", False),
        ("https:/moved", False),
        ("http://169.254.169.254/latest/meta-data", False),
        ("https://example.invalid/moved", False),
        ("http://127.0.0.1:99999/moved", False),
        ("http://2130706433:{port}/moved", False),
        ("http://127.0.0.1:{port}@127.0.0.1:{other}/moved", False),
    ],
)
async def test_a_redirect_is_followed_on_the_same_host_and_port_only(to: str, followed: bool) -> None:
    moved = ("/moved", "/moved/chat")
    with ModelServer(further_paths=moved) as server, ModelServer({"m": "Not I."}, further_paths=moved) as other:
        server.parts["m"] = sequence(Redirect(to.format(port=server.port, other=other.port)), then="I moved.")
        session = await session_at(server.url)
        if followed:
            assert (await session.reply("Hello.", 30)).text == "I moved."
        else:
            with pytest.raises(AgentError, match=r"redirects to|redirect|location"):
                await session.reply("Hello.", 30)
            assert (len(server.requests), other.requests) == (1, []), "nobody else was asked"
        await session.close()


async def test_a_redirect_that_leads_nowhere_is_the_agents_fault() -> None:
    with ModelServer({"m": Redirect(COMPLETIONS)}) as server:
        session = await session_at(server.url)
        with pytest.raises(AgentError, match="redirects"):
            await session.reply("Hello.", 60)
        await session.close()

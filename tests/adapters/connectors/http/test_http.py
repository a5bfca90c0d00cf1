"""The connector to an agent behind an OpenAI-compatible chat endpoint, over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.conftest import KEY, QUICK
from tests.model_server import (
    Answer,
    BadRequest,
    CutConnection,
    EmptyContent,
    Fault,
    Garbage,
    ModelServer,
    Play,
    RateLimited,
    ServerError,
    Stall,
    ToolCall,
    TruncatedJson,
    Unauthorized,
    agent,
    sequence,
)
from viva.adapters import StepKind
from viva.adapters.connectors.http.chat import ChatAgent
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, AgentSession, open_session
from viva.errors import AgentError, AgentTimeout


@asynccontextmanager
async def talking(play: Play, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[ModelServer, AgentSession]]:
    monkeypatch.setenv("VIVA_MODEL_ATTEMPTS", str(QUICK.attempts))
    with ModelServer({"agent": play}) as server:
        loaded = load_agent(f"{server.url}#agent")
        session = await open_session(loaded.factory, AgentArguments("task"), 10)
        try:
            yield server, session
        finally:
            assert await session.close() is None


async def test_the_history_is_sent_whole_with_every_message(monkeypatch: pytest.MonkeyPatch) -> None:
    async with talking(agent, monkeypatch) as (server, session):
        said = [(await session.reply(f"Please add {n}.", 10)).text for n in (1, 2, 3)]
    assert said == ["The sum is 1.", "The sum is 3.", "The sum is 6."]
    assert [(message["role"], message["content"]) for message in server.requests[-1].body["messages"]] == [
        ("user", "Please add 1."),
        ("assistant", "The sum is 1."),
        ("user", "Please add 2."),
        ("assistant", "The sum is 3."),
        ("user", "Please add 3."),
    ]


async def test_two_sessions_share_no_history(monkeypatch: pytest.MonkeyPatch) -> None:
    async with talking(agent, monkeypatch) as (server, first):
        second = await open_session(load_agent(f"{server.url}#agent").factory, AgentArguments("task"), 10)
        await first.reply("Please add 1.", 10)
        assert (await second.reply("Please add 5.", 10)).text == "The sum is 5."
        await second.close()


async def test_tool_calls_and_reasoning_become_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = (ToolCall("look", '{"city": "Paris"}', "c1"), ToolCall("shout", "not json", "c2"))
    play = Answer("Sunny.", calls, reasoning_content="I should look.")
    async with talking(play, monkeypatch) as (_, session):
        reply = await session.reply("Weather?", 10)
    think, look, shout = reply.steps
    assert (think.kind, think.thought) == (StepKind.THINK, "I should look.")
    assert (look.id, look.kind, look.tool, look.tool_input) == ("c1", StepKind.TOOL, "look", {"city": "Paris"})
    assert (shout.tool, shout.tool_input) == ("shout", "not json")
    assert {step.model for step in reply.steps} == {"agent"}


async def test_tool_calls_without_words_are_a_reply_and_leave_a_valid_history(monkeypatch: pytest.MonkeyPatch) -> None:
    async with talking(sequence(Answer(None, (ToolCall("look", "{}"),)), then="Done."), monkeypatch) as (
        server,
        session,
    ):
        first = await session.reply("Look.", 10)
        second = await session.reply("And?", 10)
    assert (first.text, len(first.steps), second.text) == ("", 1, "Done.")
    assert [message["content"] for message in server.requests[-1].body["messages"]] == [
        "Look.",
        "(tool calls only)",
        "And?",
    ]


async def test_tokens_retries_and_unknown_prices_are_counted(
    monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    play = sequence(RateLimited(2), ServerError(), then=Answer("ok", usage=(10, 5)))
    async with talking(play, monkeypatch) as (_, session):
        counted = (await session.reply("Hello", 10)).usage
    assert (counted.input_tokens, counted.output_tokens, counted.calls, counted.retries) == (10, 5, 1, 2)
    assert counted.cost is None
    assert waits[0] == 2
    async with talking(Answer("ok", usage=None), monkeypatch) as (_, session):
        unknown = (await session.reply("Hello", 10)).usage
    assert (unknown.calls, unknown.known_tokens, unknown.cost) == (1, None, None)


FAULTS: list[tuple[Fault | Answer, str, int]] = [
    (RateLimited(), "429", 3),
    (RateLimited(code="insufficient_quota"), "429", 1),
    (ServerError(), "failed: ", 3),
    (Unauthorized(), "401", 1),
    (BadRequest("no such thing"), "no such thing", 1),
    (CutConnection(), "cannot be reached", 3),
    (CutConnection(reset=True), "cannot be reached", 3),
    (TruncatedJson(), "does not follow the protocol", 3),
    (Garbage(), "does not follow the protocol", 3),
    (Garbage(content_type="text/html"), "does not follow the protocol", 3),
    (EmptyContent(), "endpoint is empty", 1),
    (EmptyContent(null=True), "endpoint is empty", 1),
    (Answer(None, refusal="I will not."), r"model refused: I will not", 1),
    (Answer("The sum is", refusal="I will not go on."), r"model refused: I will not go on", 1),
    (Answer("", refusal="\x1b[31mNo."), r"model refused: ", 1),
]


@pytest.mark.parametrize(("fault", "words", "requests"), FAULTS, ids=repr)
async def test_each_fault_is_the_agents_error_after_its_retries(
    fault: Any, words: str, requests: int, key: str, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with talking(fault, monkeypatch) as (server, session):
        with pytest.raises(AgentError, match=words) as caught:
            await session.reply("Hello", 10)
    assert len(server.requests) == requests
    assert KEY not in str(caught.value)
    assert not isinstance(caught.value, AgentTimeout)


BODIES = {
    "no choices": '{"id": "1", "object": "chat.completion", "choices": []}',
    "no message": '{"choices": [{"index": 0, "message": null}]}',
    "content in parts": '{"choices": [{"message": {"role": "assistant", "content": [{"type": "text"}]}}]}',
    "content a number": '{"choices": [{"message": {"role": "assistant", "content": 7}}]}',
    "a list": "[]",
    "a number": "7",
    "null": "null",
    "an error with status 200": '{"error": {"message": "overloaded"}}',
}


@pytest.mark.parametrize("body", BODIES)
async def test_a_body_that_only_looks_like_the_protocol_is_the_agents_error(
    body: str, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with talking(Garbage(text=BODIES[body]), monkeypatch) as (_, session):
        with pytest.raises(AgentError, match="the agent's endpoint"):
            await session.reply("Hello", 10)


async def test_usage_with_holes_does_not_cost_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    body = '{"choices": [{"message": {"role": "assistant", "content": "hi"}}], "usage": {"total_tokens": 3}}'
    async with talking(Garbage(text=body), monkeypatch) as (_, session):
        reply = await session.reply("Hello", 10)
    assert (reply.text, reply.usage.calls, reply.usage.known_tokens, reply.usage.cost) == ("hi", 1, None, None)


async def test_a_stall_beyond_the_reply_limit_is_a_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async with talking(sequence("Hi.", then=Stall(30)), monkeypatch) as (server, session):
        await session.reply("Hello", 10)  # from now on a request leaves at once
        with pytest.raises(AgentTimeout):
            await session.reply("Hello?", 0.5)
    assert len(server.requests) == 2


# Keys


async def key_sent(own: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The Authorization header that the agent gets, where OPENAI_BASE_URL is `own`."""
    with ModelServer({"agent": "ok"}) as server:
        if own:
            monkeypatch.setenv("OPENAI_BASE_URL", own.format(url=server.url))
        session = await open_session(load_agent(f"{server.url}#agent").factory, AgentArguments("task"), 10)
        assert (await session.reply("Hello", 10)).text == "ok"
        await session.close()
    return server.requests[-1].headers["authorization"]


@pytest.mark.parametrize(
    ("own", "sent"),
    [
        ("", "Bearer none"),
        ("{url}", f"Bearer {KEY}"),
        ("http://127.0.0.1:1/v1", "Bearer none"),
        ("https://api.openai.com/v1", "Bearer none"),
    ],
)
async def test_openais_key_goes_to_openais_own_address_only(
    own: str, sent: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await key_sent(own, monkeypatch) == sent


async def test_the_agents_own_key_is_sent_to_it(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_AGENT_API_KEY", "agents-own-key")
    assert await key_sent("{url}", monkeypatch) == "Bearer agents-own-key"


def test_a_key_does_not_follow_a_downgrade_to_plain_http(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Endpoint(ChatAgent):
        url = "http://api.openai.com/v1"
        model = "m"

    assert Endpoint("task")._client.api_key == "none"

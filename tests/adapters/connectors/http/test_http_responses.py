"""Agents behind OpenAI's Responses API, over real HTTP: with servers that store responses, and with others."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.connectors.http.plays import Play, events, playing
from tests.conftest import QUICK
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, AgentSession, open_session
from viva.errors import AgentError
from viva.records.transcript import StepKind

SECRET = "k3y-of-the-agent-0123456789"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_MODEL_ATTEMPTS", str(QUICK.attempts))
    monkeypatch.setenv("VIVA_MODEL_WAIT", "0.01")


def said(text: str, **part: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": [], **part}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


def response(*output: object, number: int = 1, **fields: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 8},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 29,
    }
    return {
        "id": f"resp_{number}",
        "object": "response",
        "status": "completed",
        "output": list(output),
        "usage": usage,
    } | fields


@asynccontextmanager
async def talking(spec: str) -> AsyncIterator[AgentSession]:
    session = await open_session(load_agent(spec).factory, AgentArguments("task"), 10)
    try:
        yield session
    finally:
        assert await session.close() is None


async def test_each_message_refers_to_the_response_before() -> None:
    with playing(*(Play(response(said(f"{n}."), number=n)) for n in (1, 2, 3))) as server:
        async with talking(f"{server.url}/v1/responses#m") as session:
            assert [(await session.reply(f"Say {n}.", 10)).text for n in (1, 2, 3)] == ["1.", "2.", "3."]
    assert {each.path for each in server.asked} == {"/v1/responses"}
    assert [each.json.get("previous_response_id") for each in server.asked] == [None, "resp_1", "resp_2"]
    assert [each.json["input"] for each in server.asked][2] == [{"role": "user", "content": "Say 3."}]
    assert {each.json["model"] for each in server.asked} == {"m"}


HISTORY = [
    {"role": "user", "content": "Say 1."},
    {"role": "assistant", "content": "1."},
    {"role": "user", "content": "Say 2."},
]
UNKNOWN = {"error": {"message": "Previous response with id 'resp_1' not found.", "param": "previous_response_id"}}

CALL = {"type": "function_call", "name": "f", "call_id": "c", "arguments": "{}"}


@pytest.mark.parametrize(
    "plays",
    [
        (response(said("1."), store=False), response(said("2."))),
        (response(said("1."), id=None), response(said("2."))),
        (response(said("1.")), Play(UNKNOWN, status=400), response(said("2."))),
        (response(said("1."), CALL), response(said("2."))),
    ],
    ids=["store-false", "no-id", "unknown-id", "call-without-result"],
)  # fmt: skip
async def test_the_history_is_sent_where_the_response_before_cannot_be_referred_to(plays: tuple[Any, ...]) -> None:
    with playing(*(play if isinstance(play, Play) else Play(play) for play in plays)) as server:
        async with talking(f"{server.url}/v1/responses#m") as session:
            assert [(await session.reply(f"Say {n}.", 10)).text for n in (1, 2)] == ["1.", "2."]
    last = server.asked[-1].json
    assert last["input"] == HISTORY
    assert "previous_response_id" not in last


ITEMS = (
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I look it up."}]},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "sum"}},
    {
        "type": "code_interpreter_call",
        "id": "ci_1",
        "status": "completed",
        "code": "print(5)",
        "container_id": "c",
        "outputs": [{"type": "logs", "logs": "5\n"}],
    },
    {
        "type": "mcp_call",
        "id": "mcp_1",
        "name": "roll",
        "server_label": "dice",
        "arguments": '{"dice": "2d4"}',
        "output": "7",
        "error": None,
    },
    {"type": "mcp_call", "id": "mcp_2", "name": "roll", "arguments": "{", "error": {"message": "no"}},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": '{"a": 2}'},
    {"type": "function_call_output", "call_id": "call_1", "output": "5"},
    {"type": "file_search_call", "id": "fs_1", "queries": ["sums"], "results": None, "status": "failed"},
    {"type": "mcp_list_tools", "id": "l", "server_label": "dice", "tools": []},
    said("It is "),
    said("5."),
)  # fmt: skip


def check_items(reply: Any) -> None:
    assert reply.text == "It is \n5."
    thought, search, code, mcp, failed, add, files = reply.steps
    assert (thought.kind, thought.thought) == (StepKind.THINK, "I look it up.")
    assert (search.tool, search.tool_input) == ("web_search", {"type": "search", "query": "sum"})
    assert (code.tool, code.tool_input, code.result) == ("code_interpreter", "print(5)", "5\n")
    assert (mcp.tool, mcp.tool_input, mcp.result, mcp.error) == ("roll", {"dice": "2d4"}, "7", None)
    assert mcp.attributes["server"] == "dice"
    assert (failed.tool_input, failed.error) == ("{", "no")
    assert (add.id, add.tool, add.tool_input, add.result) == ("call_1", "add", {"a": 2}, "5")
    assert (files.tool, files.tool_input, files.error) == ("file_search", ["sums"], "failed")
    used = reply.usage
    assert (used.input_tokens, used.cached_tokens, used.output_tokens, used.reasoning_tokens) == (20, 8, 9, 4)


async def test_the_items_of_an_answer_are_steps() -> None:
    with playing(Play(response(*ITEMS))) as server:
        async with talking(f"{server.url}/v1/responses#m") as session:
            check_items(await session.reply("2 + 3?", 10))


def streamed(*output: object, last: str = "response.completed", **fields: Any) -> str:
    whole = response(**fields) | {"output": [] if fields.get("bare") else list(output)}
    done = [("response.output_item.done", {"type": "response.output_item.done", "item": item}) for item in output]
    first = ("response.created", {"type": "response.created", "response": response()})
    return ": ping\n\n" + events(first, *done, (last, {"type": last, "response": whole}))


@pytest.mark.parametrize("bare", [False, True])
async def test_a_streamed_answer_is_read(tmp_path: Path, bare: bool) -> None:
    with playing(Play(streamed(*ITEMS, bare=bare), content_type="text/event-stream")) as server:
        (tmp_path / "agent.yaml").write_text(
            f"connector: http\napi: responses\nurl: {server.url}/v1\nmodel: m\nstream: true\n"
        )
        async with talking(str(tmp_path / "agent.yaml")) as session:
            check_items(await session.reply("2 + 3?", 10))
    assert (server.asked[0].path, server.asked[0].json["stream"]) == ("/v1/responses", True)


async def test_a_stream_that_is_cut_is_asked_for_again() -> None:
    whole = streamed(said("Hello."))
    cut = Play(whole[: whole.index("event: response.completed")], content_type="text/event-stream")
    with playing(cut, Play(whole, content_type="text/event-stream")) as server:
        async with talking(f"{server.url}/v1/responses#m") as session:
            reply = await session.reply("Hello.", 10)
    assert (reply.text, reply.usage.retries) == ("Hello.", 1)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (response({**said(""), "content": [{"type": "refusal", "refusal": "I will not."}]}), "refused: I will not."),
        (response(status="failed", error={"code": "x", "message": "out of paper"}), "response failed: out of paper"),
        (
            response(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            r"empty: it is incomplete \(max_output_tokens\)",
        ),
        (response(), "the answer of the agent's endpoint is empty"),
        ({"error": {"message": "overloaded"}}, "it has no output, but the error overloaded"),
        ({"detail": "no paper"}, "it has no output: .*no paper"),
        ("<html>", "it is not JSON: '<html>'"),
        (json.dumps(response())[:-1] + ', "output": []}', "has a duplicate key"),
        (events(("error", {"type": "error", "message": "overloaded"})), "with the error overloaded"),
        (events(("response.created", {"type": "response.created"})), "the stream ended before the response did"),
        (streamed(last="response.failed", status="failed", error={"message": "no"}), "response failed: no"),
    ],
)  # fmt: skip
async def test_an_answer_that_is_none_is_the_agents_failure_in_words(body: object, told: str) -> None:
    with playing(Play(body)) as server:
        async with talking(f"{server.url}/v1/responses#m") as session:
            with pytest.raises(AgentError, match=told):
                await session.reply("Hello.", 10)


async def test_an_answer_that_is_incomplete_but_has_text_is_a_reply() -> None:
    body = response(said("It is"), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    with playing(Play(body)) as server:
        async with talking(f"{server.url}/v1/responses#m") as session:
            assert (await session.reply("Hello.", 10)).text == "It is"


async def test_the_key_is_sent_and_comes_out_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_AGENT_API_KEY", SECRET)
    with playing(Play(response(said(f"It is {SECRET}."))), Play(f"bad key {SECRET}", status=401)) as server:
        async with talking(f"{server.url}/v1/responses#m") as session:
            assert SECRET not in (await session.reply("Hello.", 10)).text
            with pytest.raises(AgentError, match="401") as wrong:
                await session.reply("Hello.", 10)
    assert SECRET not in str(wrong.value)
    assert server.asked[0].headers["authorization"] == f"Bearer {SECRET}"


async def test_a_conversation_can_be_continued_from_its_state() -> None:
    with playing(Play(response(said("1.")))) as server:
        factory = load_agent(f"{server.url}/v1/responses#m").factory
        first, second = factory("task"), factory("task")
        await first.get_reply_from_agent("Say 1.")
        second.load_state(json.loads(json.dumps(first.save_state())))
        await second.get_reply_from_agent("Say 2.")
        await first.close()
        await second.close()
    assert server.asked[-1].json["input"] == HISTORY

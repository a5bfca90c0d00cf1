"""The tests' model server, spoken to by the real OpenAI client: each form of answer, each fault, each built-in part."""

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel, ValidationError

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
    Request,
    ServerError,
    Stall,
    ToolCall,
    TruncatedJson,
    Unauthorized,
    WrongSchema,
    agent,
    by_role,
    examiner,
    judge,
    sequence,
    without_structured_output,
)

ASK: Any = [{"role": "user", "content": "Say something."}]


class Evidence(BaseModel):
    round: int
    quote: str


class Ruling(BaseModel):
    verdict: str
    reason: str
    evidence: list[Evidence]


@asynccontextmanager
async def serving(play: Play, timeout: float = 20.0) -> AsyncIterator[tuple[ModelServer, AsyncOpenAI]]:
    """A server with `play` as its model `m`, and a client that never retries; `timeout` in seconds."""
    with ModelServer({"m": play}) as server:
        async with AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0, timeout=timeout) as client:
            yield server, client


def conversation(system: str, *turns: str) -> Request:
    """`turns` alternate between user and assistant."""
    roles = ["user", "assistant"] * len(turns)
    messages = [{"role": role, "content": text} for role, text in zip(roles, turns, strict=False)]
    return {"model": "m", "messages": [{"role": "system", "content": system}, *messages]}


# Forms of answer


async def test_a_plain_answer_carries_estimated_usage() -> None:
    async with serving("12345678") as (_, client):
        got = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x" * 40}])
    assert got.choices[0].message.content == "12345678"
    assert got.choices[0].finish_reason == "stop"
    assert got.usage is not None
    assert (got.usage.prompt_tokens, got.usage.completion_tokens, got.usage.total_tokens) == (10, 2, 12)


async def test_usage_can_be_stated_or_left_out() -> None:
    plays = sequence(Answer("a", usage=(7, 9)), then=Answer("a", usage=None))
    async with serving(plays) as (_, client):
        stated = await client.chat.completions.create(model="m", messages=ASK)
        absent = await client.chat.completions.create(model="m", messages=ASK)
    assert stated.usage is not None
    assert (stated.usage.prompt_tokens, stated.usage.completion_tokens) == (7, 9)
    assert absent.usage is None


async def test_a_stream_brings_text_reasoning_tool_calls_and_usage_in_pieces() -> None:
    text, thought, arguments = "streamed text, " * 5, "because " * 5, json.dumps({"city": "Reykjavik, Iceland"})
    play = Answer(text, (ToolCall("weather", arguments),), reasoning_content=thought)
    async with serving(play) as (_, client):
        chunks = [
            chunk
            async for chunk in await client.chat.completions.create(
                model="m", messages=ASK, stream=True, stream_options={"include_usage": True}
            )
        ]
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    calls = [call for choice in choices for call in choice.delta.tool_calls or []]
    assert "".join(choice.delta.content or "" for choice in choices) == text
    assert "".join(getattr(choice.delta, "reasoning_content", None) or "" for choice in choices) == thought
    assert [call.function.name for call in calls if call.function and call.function.name] == ["weather"]
    assert "".join(call.function.arguments or "" for call in calls if call.function) == arguments
    assert choices[-1].finish_reason == "tool_calls"
    assert len(choices) > 10
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == (len(text) + len(thought) + len(arguments)) // 4


async def test_a_tool_call_keeps_its_name_arguments_and_reasoning() -> None:
    play = Answer(None, (ToolCall("add", '{"n": 7}', id="call_9"),), reasoning_content="Seven it is.")
    async with serving(play) as (_, client):
        choice = (await client.chat.completions.create(model="m", messages=ASK)).choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    assert choice.message.tool_calls is not None
    call = choice.message.tool_calls[0].model_dump()
    assert call["id"] == "call_9"
    assert call["function"] == {"name": "add", "arguments": '{"n": 7}'}
    assert choice.message.model_extra == {"reasoning_content": "Seven it is."}


async def test_structured_output_is_parsed_and_the_part_sees_the_schema() -> None:
    ruling = Ruling(verdict="hit", reason="said so", evidence=[Evidence(round=10, quote="55")])
    async with serving(ruling.model_dump_json()) as (server, client):
        got = await client.chat.completions.parse(model="m", messages=ASK, response_format=Ruling)
    assert got.choices[0].message.parsed == ruling
    assert server.requests[0].body["response_format"]["json_schema"]["name"] == "Ruling"


async def test_a_model_without_structured_output_refuses_the_schema_and_answers_the_rest() -> None:
    async with serving(without_structured_output("plain")) as (_, client):
        with pytest.raises(openai.BadRequestError, match="response_format not supported"):
            await client.chat.completions.parse(model="m", messages=ASK, response_format=Ruling)
        got = await client.chat.completions.create(
            model="m", messages=ASK, response_format={"type": "json_object"}, stream=False
        )
    assert got.choices[0].message.content == "plain"


async def test_models_are_listed_and_an_unknown_one_is_refused() -> None:
    async with serving("x") as (_, client):
        assert {model.id async for model in client.models.list()} == {"scripted", "examiner", "judge", "agent", "m"}
        with pytest.raises(openai.NotFoundError, match="no model 'nobody'"):
            await client.chat.completions.create(model="nobody", messages=ASK)


# Faults

BROKEN: list[tuple[Fault, type[Exception]]] = [
    (RateLimited(3), openai.RateLimitError),
    (ServerError(), openai.InternalServerError),
    (ServerError(503), openai.InternalServerError),
    (ServerError(529), openai.InternalServerError),
    (ServerError(409), openai.ConflictError),
    (Unauthorized(), openai.AuthenticationError),
    (BadRequest(), openai.BadRequestError),
    (CutConnection(), openai.APIConnectionError),
    (CutConnection(reset=True), openai.APIConnectionError),
    (CutConnection(after_bytes=0), openai.APIConnectionError),
    (CutConnection(after_bytes=30), openai.APIConnectionError),
    (CutConnection(after_bytes=10**6), openai.APIConnectionError),
    (CutConnection(after_bytes=30, reset=True), openai.APIConnectionError),
    (TruncatedJson(), json.JSONDecodeError),
    (Garbage(), json.JSONDecodeError),
]


@pytest.mark.parametrize(("fault", "raised"), BROKEN, ids=repr)
async def test_a_fault_reaches_the_client_and_the_next_request_is_answered(
    fault: Fault, raised: type[Exception]
) -> None:
    async with serving(sequence(fault, then="fine")) as (server, client):
        with pytest.raises(raised):
            await client.chat.completions.create(model="m", messages=ASK)
        got = await client.chat.completions.create(model="m", messages=ASK)
    assert got.choices[0].message.content == "fine"
    assert len(server.requests) == 2


@pytest.mark.parametrize("fault", [fault for fault, _ in BROKEN], ids=repr)
async def test_no_fault_passes_for_a_whole_stream(fault: Fault) -> None:
    async with serving(fault) as (_, client):
        with pytest.raises((openai.OpenAIError, json.JSONDecodeError, EOFError)):
            await drain(client)


async def drain(client: AsyncOpenAI) -> None:
    finished = False
    async for chunk in await client.chat.completions.create(model="m", messages=ASK, stream=True):
        finished = finished or any(choice.finish_reason for choice in chunk.choices)
    if not finished:  # a body that is no event stream is an empty one to the client
        raise EOFError


@pytest.mark.parametrize(("retry_after", "header"), [(2, "2"), (0.5, "0.5"), (1.0, "1"), (None, None)])
async def test_retry_after_is_sent_in_seconds_or_not_at_all(retry_after: float | None, header: str | None) -> None:
    async with serving(RateLimited(retry_after)) as (_, client):
        with pytest.raises(openai.RateLimitError) as caught:
            await client.chat.completions.create(model="m", messages=ASK)
    assert caught.value.response.headers.get("retry-after") == header


async def test_a_stall_outlasts_the_client_and_never_holds_up_the_end() -> None:
    async with serving(Stall(seconds=3600), timeout=0.2) as (_, client):
        with pytest.raises(openai.APITimeoutError):
            await client.chat.completions.create(model="m", messages=ASK)


async def test_a_short_stall_ends_in_its_answer() -> None:
    async with serving(Stall(seconds=0.01, then="here at last")) as (_, client):
        got = await client.chat.completions.create(model="m", messages=ASK)
    assert got.choices[0].message.content == "here at last"


@pytest.mark.parametrize(
    ("fault", "content"),
    [
        (EmptyContent(), ""),
        (EmptyContent(null=True), None),
        (Garbage("content", text="%%%"), "%%%"),
        (WrongSchema(), '{"unexpected": [1, 2, 3]}'),
    ],
    ids=repr,
)
async def test_unwanted_content_arrives_as_content(fault: Fault, content: str | None) -> None:
    async with serving(fault) as (_, client):
        got = await client.chat.completions.create(model="m", messages=ASK)
    assert got.choices[0].message.content == content


@pytest.mark.parametrize("fault", [Garbage("content"), WrongSchema()], ids=repr)
async def test_unwanted_content_is_no_structured_output(fault: Fault) -> None:
    async with serving(fault) as (_, client):
        with pytest.raises(ValidationError):
            await client.chat.completions.parse(model="m", messages=ASK, response_format=Ruling)


@pytest.mark.parametrize("fault", [EmptyContent(), EmptyContent(null=True)], ids=repr)
async def test_empty_content_is_structured_output_that_was_never_parsed(fault: Fault) -> None:
    async with serving(fault) as (_, client):
        got = await client.chat.completions.parse(model="m", messages=ASK, response_format=Ruling)
    assert got.choices[0].message.parsed is None


# Recording and composing


async def test_requests_are_recorded_with_headers_and_bodies_in_order() -> None:
    async with serving("x") as (server, client):
        for text in ("one", "two"):
            await client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
    assert [seen.body["messages"][0]["content"] for seen in server.requests] == ["one", "two"]
    assert server.requests[0].headers["authorization"] == "Bearer k"
    assert server.requests[0].path == "/v1/chat/completions"


def test_a_sequence_plays_each_item_once_whatever_the_thread() -> None:
    plays = [f"{n}" for n in range(500)]
    part = sequence(*plays, then="after")
    together = threading.Barrier(8)

    def take(_: int) -> list[object]:
        together.wait()
        return [part({}) for _ in range(100)]

    with ThreadPoolExecutor(8) as pool:
        heard = [answer for answers in pool.map(take, range(8)) for answer in answers]
    assert sorted(heard, key=str) == sorted([*plays, *["after"] * 300])


async def test_what_a_part_raises_is_raised_again_where_the_server_is_closed() -> None:
    def broken(request: Request) -> str:
        raise ZeroDivisionError("the test's own mistake")

    with pytest.raises(ZeroDivisionError):  # noqa: PT012 (it is raised where the block of `serving` ends)
        async with serving(broken) as (_, client):
            with pytest.raises(openai.InternalServerError, match="own mistake"):
                await client.chat.completions.create(model="m", messages=ASK)


# Built-in parts

EXAMINER = "You are the examiner. A judge scores later. When all is done say EXAM_FINISHED."
JUDGE = "You are the judge of an oral exam that an examiner held."


def test_the_examiner_asks_fifty_rounds_and_then_says_the_keyword_of_its_prompt() -> None:
    turns = ["Please begin."]
    while "FINISHED" not in turns[-1]:
        turns += [str(examiner(conversation(EXAMINER, *turns))), "The sum is whatever."]
        turns = turns[:-1] if "FINISHED" in turns[-2] else turns
    asked = turns[1::2]
    assert asked[0] == "Round 1: please add 1 to the total sum and report the sum."
    assert asked[-2:] == ["Round 50: please add 50 to the total sum and report the sum.", "EXAM_FINISHED"]
    assert len(asked) == 51


@pytest.mark.parametrize(
    ("turns", "reply"),
    [
        (["Add 7 to the total sum and tell me the sum."], "The sum is 7."),
        (["Round 1: please add 1 to the sum.", "The sum is 1.", "Round 2: please add 2 to the sum."], "The sum is 3."),
        (["Add 5.", "The sum is 99.", "Please add -2, the 3rd number."], "The sum is 3."),
        (["Nice weather."], "Nice weather."),
    ],
)
def test_the_agent_adds_what_the_user_said_and_echoes_the_rest(turns: list[str], reply: str) -> None:
    assert agent(conversation("", *turns)) == reply


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("The sum is 55.", "hit"),
        ("55", "hit"),
        ("The sum is 155.", "miss"),
        ("The sum is 55.5, or 1,55", "miss"),
        ("The sum is 5.", "miss"),
    ],
)
@pytest.mark.parametrize("statement_first", [True, False])
def test_the_judge_hits_only_on_the_whole_number_and_quotes_the_transcript(
    said: str, verdict: str, statement_first: bool
) -> None:
    line = f"[round 10] agent:\n    {said}"
    prompt = ["Statement: in 10 rounds, the sum should be 55.", f"[round 10] examiner:\n    Is it 55?\n{line}"]
    ruling = Ruling.model_validate_json(
        judge(conversation(JUDGE, "\n".join(prompt if statement_first else prompt[::-1])))
    )
    assert ruling.verdict == verdict
    assert [evidence.round for evidence in ruling.evidence] == ([10] if verdict == "hit" else [])
    assert all(evidence.quote in line and "55" in evidence.quote for evidence in ruling.evidence)


@pytest.mark.parametrize(
    "prompt", ["[round 1] agent:\n    55", "the sum should be 55", "[round 1] agent:\n    the sum should be 55"]
)
def test_the_judge_is_unsure_without_a_statement_or_a_transcript(prompt: str) -> None:
    assert Ruling.model_validate_json(judge(conversation(JUDGE, prompt))).verdict == "unsure"


@pytest.mark.parametrize(
    ("system", "role"),
    [(EXAMINER, "examiner"), (JUDGE, "judge"), ("", "agent"), ("You help." + " " * 300 + "examiner", "agent")],
)
def test_one_model_plays_the_role_its_system_prompt_names_first(system: str, role: str) -> None:
    assert by_role("examiner", "judge", "agent")(conversation(system, "hello")) == role


async def test_the_built_in_parts_take_a_whole_exam_over_http() -> None:
    with ModelServer() as server:
        async with AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client:

            async def say(system: str, turns: list[str]) -> str:
                messages = conversation(system, *turns)["messages"]
                got = await client.chat.completions.create(model="scripted", messages=messages)
                return got.choices[0].message.content or ""

            heard, talk = ["Please begin."], list[str]()
            while (message := await say(EXAMINER, heard)) != "EXAM_FINISHED":
                talk += [message, await say("You help.", [*talk, message])]
                heard += talk[-2:]
            transcript = "\n".join(f"[round {n}] agent:\n    {reply}" for n, reply in enumerate(talk[1::2], 1))
            rulings = {
                total: json.loads(await say(JUDGE, [f"The sum should be {total}.\n{transcript}"]))
                for total in (55, 1275, 1276)
            }
    assert len(talk) == 100
    assert rulings[55]["evidence"] == [{"round": 10, "quote": "The sum is 55."}]
    assert rulings[1275]["evidence"] == [{"round": 50, "quote": "The sum is 1275."}]
    assert rulings[1276]["verdict"] == "miss"


async def test_the_command_prints_its_url_first_and_serves() -> None:
    script = Path(__file__).with_name("model_server.py")
    server = await asyncio.create_subprocess_exec(sys.executable, script, "--port", "0", stdout=asyncio.subprocess.PIPE)
    try:
        assert server.stdout is not None
        url = (await server.stdout.readline()).decode().strip()
        async with AsyncOpenAI(base_url=url, api_key="k", max_retries=0) as client:
            got = await client.chat.completions.create(model="agent", messages=[{"role": "user", "content": "hi"}])
    finally:
        server.terminate()
        await server.wait()
    assert got.choices[0].message.content == "hi"

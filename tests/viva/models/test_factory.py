"""Model clients against real HTTP: what is tried again, how it is counted and priced, and that keys stay secret."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from tests.conftest import KEY, QUICK, MeteredAt, ModelAt
from tests.model_server import (
    TOO_LARGE,
    Answer,
    BadRequest,
    CutConnection,
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
    WrongSchema,
    sequence,
)
from viva.errors import ModelAnswerError, ModelError, SetupError, SharedSetupError
from viva.models.factory import make_model
from viva.models.metered_model import MeteredModel
from viva.models.model import ModelMessage
from viva.models.retry import RetryPolicy, retry_after
from viva.records.verdict import is_model

ASK = [ModelMessage("user", "Say something.")]


class Ruling(BaseModel):
    verdict: str


TRANSIENT: list[Fault] = [
    RateLimited(),
    ServerError(500),
    ServerError(502),
    ServerError(503),
    ServerError(529),
    ServerError(408),
    ServerError(409),
    CutConnection(),
    CutConnection(reset=True),
    CutConnection(after_bytes=20),
    TruncatedJson(),
    Garbage(),
    Garbage(content_type="text/html"),
]
FINAL: list[Fault] = [
    Unauthorized(),
    BadRequest(),
    ServerError(403),
    ServerError(404),
    ServerError(422),
    RateLimited(code="insufficient_quota"),
    RateLimited(retry_after=3600),
    TOO_LARGE,
]


@pytest.mark.parametrize("fault", TRANSIENT, ids=repr)
async def test_what_may_pass_is_tried_again_and_counted(
    fault: Fault, metered_at: MeteredAt, waits: list[float]
) -> None:
    with ModelServer({"m": sequence(fault, fault, then="At last.")}) as server:
        model = metered_at(server.url)
        assert (await model.ask(ASK)).text == "At last."
    assert len(server.requests) == 3
    assert len(waits) == 2
    assert (model.usage.retries, model.usage.calls) == (2, 1)


@pytest.mark.parametrize("fault", TRANSIENT, ids=repr)
async def test_what_does_not_pass_fails_after_the_last_attempt(
    fault: Fault, metered_at: MeteredAt, waits: list[float]
) -> None:
    with ModelServer({"m": fault}) as server:
        model = metered_at(server.url)
        with pytest.raises(ModelError) as caught:
            await model.ask(ASK)
    assert len(server.requests) == QUICK.attempts
    assert (model.usage.retries, model.usage.calls) == (2, 0)
    assert KEY not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("fault", FINAL, ids=repr)
async def test_what_cannot_pass_is_not_tried_again(fault: Fault, metered_at: MeteredAt, waits: list[float]) -> None:
    with ModelServer({"m": fault}) as server:
        model = metered_at(server.url)
        with pytest.raises((ModelError, SharedSetupError)):
            await model.ask(ASK)
    assert len(server.requests) == 1
    assert (waits, model.usage.retries) == ([], 0)


async def test_a_stall_ends_at_the_call_limit_and_is_tried_again(
    metered_at: MeteredAt, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIVA_MODEL_SECONDS", "1")
    with ModelServer({"m": sequence(Stall(30), then="At last.")}) as server:
        assert (await metered_at(server.url).ask(ASK)).text == "At last."
    monkeypatch.setenv("VIVA_MODEL_SECONDS", "0.2")
    with ModelServer({"m": Stall(30)}) as server, pytest.raises(ModelError, match="did not answer in time"):
        await metered_at(server.url).ask(ASK)


async def test_a_provider_that_is_not_there_is_told_with_its_reason(metered_at: MeteredAt, waits: list[float]) -> None:
    with pytest.raises(ModelError, match="cannot be reached"):
        await metered_at("http://127.0.0.1:9/v1").ask(ASK)
    assert len(waits) == 2


# Waiting


async def test_retry_after_in_seconds_is_obeyed_beyond_our_own_longest_wait(
    metered_at: MeteredAt, waits: list[float]
) -> None:
    with ModelServer({"m": sequence(RateLimited(7), RateLimited(1.5), then="ok")}) as server:
        await metered_at(server.url).ask(ASK)
    assert waits == [7, 1.5]


async def test_retry_after_as_a_date_is_obeyed(metered_at: MeteredAt, waits: list[float]) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    with ModelServer({"m": sequence(RateLimited(date), then="ok")}) as server:
        await metered_at(server.url).ask(ASK)
    assert 60 < waits[0] <= 90


@pytest.mark.parametrize("value", ["soon", "", "Wed, 99 Foo 2026"])
async def test_an_unreadable_retry_after_leaves_our_own_wait(
    value: str, metered_at: MeteredAt, waits: list[float]
) -> None:
    with ModelServer({"m": sequence(RateLimited(value), then="ok")}) as server:
        await metered_at(server.url).ask(ASK)
    assert 0 <= waits[0] <= QUICK.longest_seconds


@pytest.mark.parametrize("value", ["-5", "nan", "Mon, 01 Jan 2001 00:00:00 GMT"])
def test_a_retry_after_in_the_past_is_no_wait(value: str) -> None:
    class Response:
        headers = {"retry-after": value}  # noqa: RUF012 - nobody changes it

    class Limited(Exception):
        response = Response()

    assert retry_after(Limited()) == 0


async def test_our_own_waits_grow_and_stay_below_the_longest(model_at: ModelAt, waits: list[float]) -> None:
    policy = RetryPolicy(attempts=8, initial_seconds=1, longest_seconds=10)
    with ModelServer({"m": ServerError()}) as server:
        model = model_at(server.url)
        model.policy = policy
        with pytest.raises(ModelError):
            await model.ask(ASK)
    assert len(waits) == 7
    assert waits[0] <= 2
    assert waits[0] < waits[2] < waits[3]
    assert max(waits) <= 10


def test_the_environment_sets_attempts_and_waits_and_nonsense_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_MODEL_ATTEMPTS", "9")
    monkeypatch.setenv("VIVA_MODEL_WAIT", "0.25")
    policy = RetryPolicy.from_environment()
    assert (policy.attempts, policy.initial_seconds) == (9, 0.25)
    monkeypatch.setenv("VIVA_MODEL_WAIT", "long")
    with pytest.raises(SetupError, match="must be numbers"):
        RetryPolicy.from_environment()


@pytest.mark.parametrize("value", ["long", "0", "-1", "nan", "inf"])
def test_a_call_limit_that_is_no_time_is_told(value: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_MODEL_SECONDS", value)
    with pytest.raises(SetupError, match="VIVA_MODEL_SECONDS must be a number of seconds"):
        make_model("openai:m")


# Answers that are none


@pytest.mark.parametrize(
    ("play", "words"),
    [
        (Answer(None, (ToolCall("look", "{}"),)), "called a tool"),
        (Answer("Half of", finish_reason="length"), "token limit"),
        (Answer("", finish_reason="content_filter"), "content filter"),
    ],
)
async def test_an_answer_that_is_none_is_not_handed_on(
    play: Play, words: str, metered_at: MeteredAt, waits: list[float]
) -> None:
    with ModelServer({"m": play}) as server:
        model = metered_at(server.url)
        with pytest.raises(ModelAnswerError, match=words):
            await model.ask(ASK)
    assert len(server.requests) == 1
    assert model.usage.calls == 1


@pytest.mark.parametrize(
    "play",
    [WrongSchema(), Garbage("content"), Answer('{"verdict": "h', finish_reason="length")],
    ids=repr,
)
async def test_a_structured_answer_out_of_form_is_an_answer_error(
    play: Play, metered_at: MeteredAt, waits: list[float]
) -> None:
    with ModelServer({"m": play}) as server, pytest.raises(ModelAnswerError):
        await metered_at(server.url).ask(ASK, schema=Ruling)
    assert len(server.requests) == 1


# Counting and prices


async def test_tokens_are_counted_for_each_run_apart(model_at: ModelAt) -> None:
    with ModelServer({"m": Answer("ok", usage=(100, 7))}) as server:
        model = model_at(server.url)
        one, two = MeteredModel(model), MeteredModel(model)
        await one.ask(ASK)
        await one.ask(ASK)
        await two.ask(ASK)
    assert (one.usage.input_tokens, one.usage.output_tokens, one.usage.calls) == (200, 14, 2)
    assert (two.usage.input_tokens, two.usage.calls) == (100, 1)


@pytest.mark.parametrize(
    ("name", "usage", "known"),
    [("gpt-4o", (1000, 1000), True), ("m", (1000, 1000), False), ("gpt-4o", None, False)],
)
async def test_an_unknown_price_is_none_and_never_zero(
    name: str, usage: tuple[int, int] | None, known: bool, metered_at: MeteredAt
) -> None:
    with ModelServer({name: Answer("ok", usage=usage)}) as server:
        model = metered_at(server.url, f"openai:{name}")
        await model.ask(ASK)
    cost = model.usage.cost
    assert (cost is not None and cost > 0) if known else cost is None


# Setting up


@pytest.mark.parametrize("name", ["code", "recording", "rule"])
async def test_a_model_is_never_called_what_verdicts_without_a_model_are_by(name: str, metered_at: MeteredAt) -> None:
    with ModelServer({name: "ok"}) as server:
        model = metered_at(server.url, f"openai:{name}")
        await model.ask(ASK)
    assert is_model(model.name)
    assert server.requests[0].body["model"] == name


def test_no_key_is_told_with_the_names_of_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(SetupError, match=r"openai:m requires a key: set OPENAI_API_KEY"):
        make_model("openai:m")


@pytest.mark.parametrize("spec", ["gpt-4o", "openai:", ":x", "", "anthropic:claude"])
def test_a_model_in_no_known_form_is_told(spec: str, key: str) -> None:
    with pytest.raises(SetupError, match="is not a model; write openai:NAME"):
        make_model(spec)


async def test_a_wrong_key_is_said_to_be_wrong_and_not_printed(metered_at: MeteredAt) -> None:
    for play, words in (
        (BadRequest(f"Incorrect API key provided: {KEY}"), r"Incorrect API key provided: \[OPENAI_API_KEY\]"),
        (Unauthorized(), r"refused the key \(401\)\. Set the right one in the environment"),
    ):
        with ModelServer({"m": play}) as server, pytest.raises((ModelError, SharedSetupError), match=words):
            await metered_at(server.url).ask(ASK)


COMPONENT = {
    "provider": "autogen_ext.models.openai.OpenAIChatCompletionClient",
    "config": {
        "model": "m",
        "api_key": "key-in-a-file-42",
        "model_info": {
            "vision": False,
            "function_calling": True,
            "json_output": True,
            "structured_output": True,
            "family": "unknown",
        },
    },
}


@pytest.mark.parametrize("suffix", ["json", "yaml", "yml"])
async def test_a_component_file_makes_a_client_with_our_retries_alone(
    suffix: str, tmp_path: Path, metered_at: MeteredAt, waits: list[float]
) -> None:
    with ModelServer({"m": sequence(ServerError(), then="ok")}) as server:
        data = {**COMPONENT, "config": {**COMPONENT["config"], "base_url": server.url, "max_retries": 5}}  # type: ignore[dict-item]
        file = tmp_path / f"model.{suffix}"
        file.write_text(json.dumps(data) if suffix == "json" else yaml.safe_dump(data))
        model = metered_at(server.url, str(file))
        await model.ask(ASK)
    assert model.name == "m"
    assert (len(server.requests), len(waits), model.usage.retries) == (2, 1, 1)
    assert server.requests[0].headers["authorization"] == "Bearer key-in-a-file-42"


async def test_a_key_in_a_component_file_is_in_no_error(
    tmp_path: Path, metered_at: MeteredAt, waits: list[float]
) -> None:
    with ModelServer({"m": BadRequest("bad key key-in-a-file-42")}) as server:
        file = tmp_path / "model.json"
        file.write_text(json.dumps({**COMPONENT, "config": {**COMPONENT["config"], "base_url": server.url}}))  # type: ignore[dict-item]
        with pytest.raises(ModelError, match=r"bad key \[secret\]"):
            await metered_at(server.url, str(file)).ask(ASK)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("m.json", "{", "cannot be read"),
        ("m.yaml", "provider: x\nconfig: {api_key: sk-12345678\n  : [", "cannot be read: .* in line"),
        ("m.json", "[1]", "requires the keys 'provider' and 'config'"),
        ("m.json", '{"provider": 7}', "requires the keys 'provider' and 'config'"),
        ("m.json", '{"provider": "no.such.Thing"}', "AutoGen cannot create a model"),
        (
            "m.yaml",
            "provider: autogen_ext.models.openai.OpenAIChatCompletionClient\nconfig:\n",
            "AutoGen cannot create",
        ),
        ("m.json", '{"provider": "x.openai.Y", "config": [1]}', "its 'config' is not a mapping"),
        (
            "m.json",
            '{"provider": "autogen_ext.models.openai.OpenAIChatCompletionClient", "config": {"api_key": "sk-12345"}}',
            "AutoGen cannot create",
        ),
        ("nowhere/m.json", None, "cannot be read"),
    ],
)
def test_a_wrong_component_file_is_told_without_its_content(
    name: str, text: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    with pytest.raises(SetupError, match=words) as caught:
        make_model(str(file))
    assert str(file) in str(caught.value)
    assert "sk-12345" not in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 2

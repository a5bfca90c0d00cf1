"""Every request has a maximum of output tokens, which any provider is told in its own words and number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ModelAt
from tests.model_server import Answer, BadRequest, Fault, ModelServer, Part, Request, Stall, Usage
from viva.errors import CutOffError, ModelError
from viva.judge.scoring_points.answer import PointAnswer
from viva.models.autogen.output_limit import OutputLimit
from viva.models.factory import make_model
from viva.models.model import CallLimits, ModelMessage
from viva.models.roles import OUTPUT_TOKENS, ROLES, THINKING_TOKENS, RoleLimits, parse_role_limits

ASK = [ModelMessage("user", "Say something.")]
NO_NAME = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."


def sent(server: ModelServer) -> list[tuple[int | None, int | None]]:
    """The two forms of the limit in each request."""
    bodies = [request.body for request in server.requests]
    return [(body.get("max_tokens"), body.get("max_completion_tokens")) for body in bodies]


def refuses_name(request: Request) -> str | Fault:
    """Answers as OpenAI's reasoning models do."""
    return BadRequest(NO_NAME) if "max_tokens" in request else "Hello."


def refuses_both(request: Request) -> str | Fault:
    extra = next((name for name in ("max_tokens", "max_completion_tokens") if name in request), None)
    return BadRequest(f"body.{extra}: Extra inputs are not permitted") if extra else "Hello."


def accepts_at_most(most: int, words: str) -> Part:
    def part(request: Request) -> str | Fault:
        asked = request.get("max_tokens", 0)
        return BadRequest(words.format(asked=asked, most=most)) if asked > most else "Hello."

    return part


OPENAI_MOST = "max_tokens is too large: {asked}. This model supports at most {most} completion tokens."
VLLM_MOST = (
    "'max_tokens' or 'max_completion_tokens' is too large: {asked}. This model's maximum context length is 4096 tokens "
    "and your request has 1200 input tokens."
)


async def test_a_model_that_wants_the_newer_name_gets_it_from_then_on(model_at: ModelAt) -> None:
    with ModelServer({"m": refuses_name}) as server:
        model = model_at(server.url)
        for _ in range(2):
            assert (await model.ask(ASK, limits=CallLimits(900))).text == "Hello."
    assert sent(server) == [(900, None), (None, 900), (None, 900)]


async def test_a_provider_that_knows_neither_name_is_asked_without_a_limit(model_at: ModelAt) -> None:
    with ModelServer({"m": refuses_both}) as server:
        model = model_at(server.url)
        for _ in range(2):
            assert (await model.ask(ASK, limits=CallLimits(900))).text == "Hello."
    assert sent(server) == [(900, None), (None, 900), (None, None), (None, None)]


async def test_a_model_that_can_write_less_is_asked_for_less_from_then_on(model_at: ModelAt) -> None:
    with ModelServer({"m": accepts_at_most(2_100, OPENAI_MOST)}) as server:
        model = model_at(server.url)
        for _ in range(2):
            assert (await model.ask(ASK, limits=CallLimits(8_000))).text == "Hello."
    assert [tokens for tokens, _ in sent(server)] == [8_000, 4_000, 2_000, 2_000]


async def test_a_long_prompt_does_not_shorten_the_answers_to_later_ones(model_at: ModelAt) -> None:
    with ModelServer({"m": accepts_at_most(2_896, VLLM_MOST)}) as server:
        model = model_at(server.url)
        for _ in range(2):
            assert (await model.ask(ASK, limits=CallLimits(8_000))).text == "Hello."
    assert [tokens for tokens, _ in sent(server)] == [8_000, 4_000, 2_000, 8_000, 4_000, 2_000]


async def test_the_limit_is_not_blamed_for_another_refusal(model_at: ModelAt) -> None:
    refusal = BadRequest("the request exceeds the available context size")
    with ModelServer({"m": refusal}) as server, pytest.raises(ModelError, match="available context size"):
        await model_at(server.url).ask(ASK, limits=CallLimits(900))
    assert sent(server) == [(900, None)]


async def test_a_schema_is_still_given_up_after_the_limit_was_accepted(model_at: ModelAt) -> None:
    def part(request: Request) -> str | Fault:
        if "max_tokens" in request:
            return BadRequest(NO_NAME)
        return BadRequest() if "response_format" in request else "Hello."

    with ModelServer({"m": part}) as server:
        model = model_at(server.url)
        assert (await model.ask(ASK, PointAnswer, CallLimits(900))).text == "Hello."
    assert not model.features.structured
    assert sent(server) == [(900, None), (None, 900), (None, 900)]


# Answers that were cut off

REASONED = Usage({"prompt_tokens": 9, "completion_tokens": 900, "completion_tokens_details": {"reasoning_tokens": 880}})
CUT: dict[str, Answer] = {
    "nothing but hidden reasoning": Answer("", finish_reason="length"),
    "reasoning that is counted": Answer('{"rea', finish_reason="length", usage=REASONED),
    "reasoning beside the answer": Answer('{"rea', finish_reason="length", reasoning_content="Let me see."),
    "reasoning in the answer": Answer("<think>Let me see.", finish_reason="length"),
}


@pytest.mark.parametrize("schema", [None, PointAnswer])
@pytest.mark.parametrize("name", CUT)
async def test_a_model_that_reasons_gets_room_for_it_from_then_on(name: str, schema: Any, model_at: ModelAt) -> None:
    def part(request: Request) -> str | Answer:
        whole = (
            '{"reason": "It is.", "finding": true, "statement_is": "true", "quotes": [], "mark": "", "verdict": "hit"}'
        )
        return whole if request["max_tokens"] > 1_000 else CUT[name]

    with ModelServer({"m": part}) as server:
        model = model_at(server.url)
        for _ in range(2):
            assert "It is." in (await _asked(model, schema, CallLimits(900, thinking_tokens=5_000)))
    assert [tokens for tokens, _ in sent(server)] == [900, 5_900, 5_900]


async def _asked(model: Any, schema: Any, limits: CallLimits) -> str:
    # Whether the answer fits the schema is another test's matter.
    try:
        return str((await model.ask(ASK, schema, limits)).text)
    except CutOffError:
        raise
    except Exception as error:
        pytest.fail(f"{error!r}")


@pytest.mark.parametrize("schema", [None, PointAnswer])
async def test_an_answer_that_was_cut_off_is_told_as_that_and_costs_one_request(schema: Any, model_at: ModelAt) -> None:
    cut = Answer("And so on and so", finish_reason="length")
    told = "cut off at the limit of 900 output tokens"
    with ModelServer({"m": cut}) as server, pytest.raises(CutOffError, match=told):
        await model_at(server.url).ask(ASK, schema, CallLimits(900, thinking_tokens=5_000))
    assert len(server.requests) == 1, "it did not reason, so more room would not help"


async def test_a_limit_that_the_user_gave_is_not_raised_for_reasoning(model_at: ModelAt) -> None:
    given = parse_role_limits(["judge=900"])
    with ModelServer({"m": CUT["reasoning in the answer"]}) as server:
        model = model_at(server.url)
        with pytest.raises(CutOffError):
            await given.limited(model, "judge").ask(ASK)
    assert [tokens for tokens, _ in sent(server)] == [900]


# By role


@pytest.mark.parametrize("role", ROLES)
async def test_every_role_has_a_limit_by_default(role: Any, model_at: ModelAt) -> None:
    with ModelServer({"m": "Hello."}) as server:
        model = model_at(server.url)
        await RoleLimits().limited(model, role).ask(ASK)
        await RoleLimits().limited(model, role).ask(ASK, limits=CallLimits(seconds=9))
        await RoleLimits().limited(model, role).ask(ASK, limits=CallLimits(50))
    assert [tokens for tokens, _ in sent(server)] == [OUTPUT_TOKENS[role], OUTPUT_TOKENS[role], 50]
    assert OUTPUT_TOKENS[role] + THINKING_TOKENS >= 25_000


def test_a_limit_for_one_role_comes_before_that_for_all() -> None:
    given = parse_role_limits(["examiner=300", "1000"], ["60", "judge=5.5"])
    assert given.output_tokens == {**dict.fromkeys(ROLES, 1_000), "examiner": 300}
    assert given.seconds == {**dict.fromkeys(ROLES, 60.0), "judge": 5.5}
    assert parse_role_limits() == RoleLimits()


@pytest.mark.parametrize(
    ("tokens", "seconds", "words"),
    [
        (["judges=5"], [], "no role 'judges'; the roles are examiner, judge"),
        (["judge=0"], [], "a whole number of tokens above 0"),
        (["judge=1.5"], [], "a whole number of tokens above 0, not 1.5"),
        (["judge="], [], "as ROLE=N, not 'judge='"),
        (["many"], [], "as ROLE=N, not 'many'"),
        (["=5"], [], "no role ''"),
        (["5", "6"], [], "given twice for all roles"),
        (["judge=5", "judge=6"], [], "given twice for judge"),
        ([], ["judge=inf"], "--model-seconds takes a number of seconds above 0"),
        ([], ["-3"], "--model-seconds takes a number of seconds above 0"),
        ([], ["agent=3"], "--model-seconds has no role 'agent'"),
    ],
)
def test_a_limit_that_makes_no_sense_is_a_mistake(tokens: list[str], seconds: list[str], words: str) -> None:
    from viva.errors import SetupError

    with pytest.raises(SetupError) as caught:
        parse_role_limits(tokens, seconds)
    assert words in str(caught.value)


async def test_the_time_of_a_role_comes_before_that_of_the_environment(
    model_at: ModelAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In both directions: the SDK's own limit must not cut off what a role may take."""
    monkeypatch.setenv("VIVA_MODEL_SECONDS", "0.2")
    with ModelServer({"m": Stall(0.6, "At last.")}) as server:
        model = model_at(server.url)
        patient = parse_role_limits([], ["analyst=20"]).limited(model, "analyst")
        assert (await patient.ask(ASK)).text == "At last."
        with pytest.raises(ModelError, match="did not answer in time"):
            await RoleLimits().limited(model, "judge").ask(ASK)


# Models from files


def file_with(folder: Path, url: str, extra: str) -> str:
    file = folder / "model.yaml"
    info = "vision: false, function_calling: true, json_output: true, structured_output: true, family: unknown"
    file.write_text(
        "provider: autogen_ext.models.openai.OpenAIChatCompletionClient\n"
        f"config: {{model: m, base_url: {url!r}, api_key: none, model_info: {{{info}}}, {extra}}}\n"
    )
    return str(file)


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize(("given", "tokens"), [([], 500), (["judge=70"], 70)])
async def test_the_limit_of_a_model_file_holds_unless_one_is_given(
    given: list[str], tokens: int, name: str, tmp_path: Path
) -> None:
    with ModelServer({"m": "Hello."}) as server:
        model = make_model(file_with(tmp_path, server.url, f"{name}: 500"))
        try:
            await parse_role_limits(given).limited(model, "judge").ask(ASK)
        finally:
            await model.close()
    assert sent(server) == [(tokens, None) if name == "max_tokens" else (None, tokens)]


CLIENTS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("autogen_ext.models.openai.OpenAIChatCompletionClient", {}, {"max_tokens": 9}),
    ("azure_openai_chat_completion_client", {"max_completion_tokens": 5}, {"max_completion_tokens": 9}),
    ("autogen_ext.models.anthropic.AnthropicChatCompletionClient", {}, {"max_tokens": 9}),
    ("autogen_ext.models.azure.AzureAIChatCompletionClient", {}, {"max_tokens": 9}),
    ("autogen_ext.models.llama_cpp.LlamaCppChatCompletionClient", {}, {"max_tokens": 9}),
    ("autogen_ext.models.ollama.OllamaChatCompletionClient", {}, {"options": {"num_predict": 9}}),
    (
        "autogen_ext.models.ollama.OllamaChatCompletionClient",
        {"options": {"num_ctx": 4096, "num_predict": 5}},
        {"options": {"num_ctx": 4096, "num_predict": 9}},
    ),
    ("autogen_ext.models.semantic_kernel.SKChatCompletionAdapter", {}, {}),
    (
        "autogen_ext.models.cache.ChatCompletionCache",
        {"client": {"provider": "autogen_ext.models.ollama.OllamaChatCompletionClient", "config": {}}},
        {"options": {"num_predict": 9}},
    ),
]


@pytest.mark.parametrize(("provider", "config", "arguments"), CLIENTS)
def test_each_client_of_autogen_gets_the_limit_as_it_takes_it(
    provider: str, config: dict[str, Any], arguments: dict[str, Any]
) -> None:
    limit = OutputLimit(provider, config)
    assert limit.arguments(limit.first(9)) == arguments


def test_a_client_that_takes_no_such_argument_is_asked_without_it() -> None:
    limit = OutputLimit("mine:Client", {})
    first = limit.first(9)
    after = limit.after(ValueError("Extra create args are invalid: {'max_tokens'}"), first)
    assert after is not None
    assert limit.arguments(after) == limit.arguments(limit.first(9)) == {}
    assert limit.after(ValueError("a field is missing"), first) is None

"""What a provider served from its cache is counted and priced as such, and nothing odd in its place does harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import MeteredAt, ModelAt
from tests.model_server import Answer, ModelServer, RateLimited, sequence
from viva.errors import SchemaError
from viva.models.factory import make_model
from viva.models.metered_model import MeteredModel
from viva.models.model import ModelMessage
from viva.models.prices import price

ASK = [ModelMessage("user", "Say something.")]


async def test_cached_tokens_are_counted_and_cost_what_the_list_says(model_at: ModelAt) -> None:
    hit = Answer("Hello.", usage=(10_000, 100), cached_tokens=8_192)
    with ModelServer(
        {"gpt-4o-mini": sequence(Answer("Hello.", usage=(10_000, 100)), RateLimited(0), then=hit)}
    ) as server:
        model = model_at(server.url, "openai:gpt-4o-mini")
        whole, served = MeteredModel(model), MeteredModel(model)
        await whole.ask(ASK)
        await served.ask(ASK)
    assert (whole.usage.cached_tokens, served.usage.cached_tokens, served.usage.retries) == (0, 8_192, 1)
    assert served.usage.input_tokens == 10_000, "they are part of the input"
    assert served.usage.cost == price("gpt-4o-mini", 10_000, 100, 8_192)
    assert (served.usage.cost or 0.0) < (whole.usage.cost or 0.0)


async def test_a_structured_answer_tells_its_cached_tokens_too(metered_at: MeteredAt) -> None:
    from viva.judge.scoring_points.answer import PointAnswer as Ruling

    with ModelServer({"m": Answer('{"reason": "x"}', usage=(2_000, 10), cached_tokens=1_024)}) as server:
        model = metered_at(server.url)
        with pytest.raises(SchemaError):
            await model.ask(ASK, schema=Ruling)
        assert model.usage.cached_tokens == 1_024, "an answer that cannot be used is charged, too"
        await model.ask(ASK)
    assert model.usage.cached_tokens == 2_048


async def test_a_model_from_a_file_tells_its_cached_tokens_too(tmp_path: Path, metered_at: MeteredAt) -> None:
    with ModelServer({"m": Answer("Hello.", usage=(2_000, 10), cached_tokens=1_024)}) as server:
        file = tmp_path / "model.yaml"
        info = "vision: false, function_calling: true, json_output: true, structured_output: true, family: unknown"
        file.write_text(
            "provider: autogen_ext.models.openai.OpenAIChatCompletionClient\n"
            f"config: {{model: m, base_url: {server.url!r}, api_key: none, model_info: {{{info}}}}}\n"
        )
        client = make_model(str(file))
        model = MeteredModel(client)
        try:
            await model.ask(ASK)
        finally:
            await client.close()
    assert model.usage.cached_tokens == 1_024


@pytest.mark.parametrize(("told", "counted"), [("many", 0), (-5, 0), (1.5, 0), ([1], 0), (10**9, 2_000)])
async def test_an_odd_number_of_cached_tokens_is_none_or_all_of_the_input(
    told: object, counted: int, metered_at: MeteredAt
) -> None:
    with ModelServer({"gpt-4o-mini": Answer("Hello.", usage=(2_000, 10), cached_tokens=told)}) as server:
        model = metered_at(server.url, "openai:gpt-4o-mini")
        await model.ask(ASK)
    assert (model.usage.cached_tokens, model.usage.input_tokens, model.usage.reported) == (counted, 2_000, True)
    assert model.usage.cost == price("gpt-4o-mini", 2_000, 10, counted)

"""Prices that the user gives come before the list; a mistake in one is named."""

from __future__ import annotations

import pytest

from tests.conftest import ModelAt
from tests.model_server import Answer, ModelServer
from viva.errors import SetupError
from viva.models.metered_model import MeteredModel
from viva.models.model import ModelMessage
from viva.models.prices import Prices, parse_prices


def test_a_price_for_all_models_and_one_for_a_single_model() -> None:
    prices = parse_prices(["2.50/10", "openai:gpt-x=1/2"])
    assert prices == Prices((2.5, 10.0), {"gpt-x": (1.0, 2.0)})
    assert prices.cost("anything", 1_000_000, 100_000) == 3.5
    assert prices.cost("gpt-x", 1_000_000, 1_000_000) == 3.0


def test_without_a_given_price_an_unknown_model_costs_unknown() -> None:
    assert parse_prices(["gpt-x=1/2"]).cost("a model nobody knows", 1000, 1000) is None


@pytest.mark.parametrize("text", ["", "1", "1/2/3", "a/b", "-1/2", "nan/1", "inf/1", "=1/2", "m=1,2"])
def test_what_is_no_price_is_named(text: str) -> None:
    with pytest.raises(SetupError, match="--price takes dollars per million tokens"):
        parse_prices([text])


@pytest.mark.parametrize("texts", [["1/2", "3/4"], ["m=1/2", "openai:m=1/2"]])
def test_a_price_given_twice_is_a_mistake(texts: list[str]) -> None:
    with pytest.raises(SetupError, match="given twice"):
        parse_prices(texts)


async def test_a_call_costs_what_the_user_says(model_at: ModelAt) -> None:

    with ModelServer({"m": Answer("Hello.", usage=(1_000_000, 500_000))}) as server:
        client = model_at(server.url)
        client.prices = parse_prices(["m=2/4"])
        model = MeteredModel(client)
        await model.ask([ModelMessage("user", "Hello")])
    assert model.usage.cost == 4.0

"""The prices of model calls: as the user gives them, or from a maintained list. An unknown price is None, never 0."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from viva.errors import SetupError

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices that the user gave, in US dollars per million tokens in and out; they come before any list."""

    usual: tuple[float, float] | None = None
    """The price of every model that Viva asks and that has none of its own here."""
    by_model: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def cost(self, model: str, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float | None:
        """US dollars for one call, or None for a model without a known price.

        `cached_tokens` of the input came from the provider's cache. Given prices have no price of their own for them.
        """
        given = self.by_model.get(model, self.usual)
        if given is None:
            return price(model, input_tokens, output_tokens, cached_tokens)
        return (given[0] * input_tokens + given[1] * output_tokens) / MILLION


LISTED = Prices()
"""The prices of the price list alone."""


def parse_prices(texts: Iterable[str]) -> Prices:
    """Read prices as a command line has them.

    Args:
        texts: `IN/OUT` for all models, `MODEL=IN/OUT` for one; dollars per million tokens.

    Raises:
        SetupError: one is not a price, or given twice.
    """
    usual: tuple[float, float] | None = None
    by_model: dict[str, tuple[float, float]] = {}
    for text in texts:
        model, equals, amounts = text.rpartition("=")
        found = _amounts(amounts.strip())
        if found is None or (equals and not model.strip()):
            raise SetupError(
                "--price takes dollars per million tokens in and out, as IN/OUT or MODEL=IN/OUT (2.50/10), "
                f"not {text!r:.80}."
            )
        name = model.strip().removeprefix("openai:")
        if name in by_model or (not name and usual is not None):
            raise SetupError(f"--price is given twice for {name or 'all models'}.")
        if name:
            by_model[name] = found
        else:
            usual = found
    return Prices(usual, by_model)


def _amounts(text: str) -> tuple[float, float] | None:
    parts = text.split("/")
    try:
        amounts = [float(part) for part in parts]
    except ValueError:
        return None
    if len(amounts) != 2 or not all(0 <= amount < math.inf for amount in amounts):
        return None
    return amounts[0], amounts[1]


def price(model: str, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float | None:
    """Return the price of one call in US dollars by the list, or None for a model that it does not contain."""
    if not _is_known(model):
        return None
    from genai_prices import Usage, calc_price

    try:
        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached_tokens or None)
        return float(calc_price(usage, model_ref=model).total_price)
    except (LookupError, ValueError, TypeError):
        return None


@cache
def _is_known(name: str) -> bool:
    """Return whether a model is in the list. Cached, because a failing search scans the whole list."""
    from genai_prices import Usage, calc_price

    try:
        calc_price(Usage(input_tokens=1, output_tokens=1), model_ref=name)
    except (LookupError, ValueError):
        return False
    return True

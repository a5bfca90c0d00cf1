"""The prices of model calls, from a maintained price list. The price of an unknown model is None, never 0."""

from __future__ import annotations

from functools import cache


def price(model: str, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float | None:
    """Return the price of one call in US dollars, or None for a model without a known price."""
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

"""What model calls cost, from a maintained price list; a model it does not know costs None, never 0."""

from __future__ import annotations

from functools import cache


def price(model: str, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float | None:
    """US dollars for one call, or None for a model without a known price."""
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
    """Looks a name up once: a failing look-up walks the whole list."""
    from genai_prices import Usage, calc_price

    try:
        calc_price(Usage(input_tokens=1, output_tokens=1), model_ref=name)
    except (LookupError, ValueError):
        return False
    return True

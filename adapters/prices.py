"""What model calls cost, from a maintained price list; a model it does not know costs None, never 0."""

from __future__ import annotations

from functools import cache
from typing import Any


def price(model: str, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float | None:
    """US dollars for one call, or None for a model without a known price."""
    known = _model(model)
    if known is None:
        return None
    from genai_prices import Usage

    try:
        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached_tokens or None)
        return float(known.calc_price(usage).total_price)
    except (LookupError, ValueError, TypeError):
        return None


class _Priced:
    def __init__(self, name: str) -> None:
        self._name = name

    def calc_price(self, usage: Any) -> Any:
        from genai_prices import calc_price

        return calc_price(usage, model_ref=self._name)


@cache
def _model(name: str) -> _Priced | None:
    """Looks a name up once: a failing look-up walks the whole list."""
    from genai_prices import Usage, calc_price

    try:
        calc_price(Usage(input_tokens=1, output_tokens=1), model_ref=name)
    except (LookupError, ValueError):
        return None
    return _Priced(name)

"""Tells coroutine functions that wait for nothing: they are `async` only because an interface asks for it."""

from __future__ import annotations

import dis
import inspect
from functools import lru_cache
from types import CodeType

_WAITS = frozenset({"SEND", "YIELD_VALUE", "YIELD_FROM", "GET_AWAITABLE", "GET_ANEXT"})
"""The instructions of `await`, `async for` and `async with`, in all versions of Python."""


def never_waits(function: object) -> bool:
    """Return whether something is a coroutine function whose code has nothing to await."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return isinstance(code, CodeType) and bool(code.co_flags & inspect.CO_COROUTINE) and has_no_await(code)


@lru_cache(maxsize=256)
def has_no_await(code: CodeType) -> bool:
    """Return whether a coroutine of this code runs to its end at its first step."""
    return _WAITS.isdisjoint(each.opname for each in dis.get_instructions(code))

"""Makes the plain form of an async function for callers without an event loop, so that there is one implementation."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def blocking(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Return the plain form `NAME` of `NAME_async`, which returns when the work is done.

    Ctrl-C cancels the work, which releases its resources and can be resumed.
    """
    name = function.__name__.removesuffix("_async")

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if asyncio._get_running_loop() is not None:
            raise RuntimeError(
                f"viva.{name}() would block the event loop that runs here (an async function, or a notebook): "
                f"write `await viva.{function.__name__}(…)`."
            )
        return asyncio.run(function(*args, **kwargs))

    call.__name__ = call.__qualname__ = name
    return call

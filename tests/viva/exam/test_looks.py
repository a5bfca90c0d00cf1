"""Servers are looked at before the first run: all at once, and the first of them in order is named."""

from __future__ import annotations

import asyncio

import pytest

from viva.errors import SetupError
from viva.exam.resources import all_looked_at


async def test_servers_are_looked_at_at_once() -> None:
    met = asyncio.Barrier(3)

    async def look() -> None:
        await met.wait()  # each waits for all others

    await asyncio.wait_for(all_looked_at([look, look, look]), 60)


async def test_the_first_of_several_errors_is_told() -> None:
    later = asyncio.Event()

    async def slow() -> None:
        await later.wait()
        raise SetupError("the first")

    async def quick() -> None:
        later.set()
        raise SetupError("the second")

    with pytest.raises(SetupError, match="the first"):
        await all_looked_at([slow, quick])

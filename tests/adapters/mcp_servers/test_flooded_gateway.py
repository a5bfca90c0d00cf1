"""An agent that opens connections without end to its MCP servers, or to the port of all, stops no other run's calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.adapters.mcp_servers.test_offered import called, offered, text_of
from viva.adapters.mcp_servers import callers


@asynccontextmanager
async def connections(url: str, count: int, request: bytes) -> AsyncIterator[list[asyncio.StreamReader]]:
    """Open connections that are never closed, and send the same on each."""
    opened = []
    try:
        for _ in range(count):
            reader, writer = await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)
            opened.append((reader, writer))
            writer.write(request)
        yield [reader for reader, _ in opened]
    finally:
        for _, writer in opened:
            writer.close()


async def closed(readers: list[asyncio.StreamReader]) -> int:
    """How many of them the gateway has closed."""
    await asyncio.sleep(0.2)
    return sum(reader.at_eof() or reader.exception() is not None for reader in readers)


async def test_connections_that_say_nothing_make_room_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "MOST_UNKNOWN", 20)
    async with offered(tmp_path) as (made, log):
        url = made.config[0]["url"]
        async with connections(url, 60, b"POST /") as readers:
            assert await closed(readers) >= 40
            assert "booked" in text_of(await called(url, "book_room", day="Monday"))
        assert [step.tool for step in log.take_now()] == ["book_room"]


async def test_connections_of_one_run_leave_those_of_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "MOST_OF_ONE", 20)
    async with offered(tmp_path / "one") as (one, _), offered(tmp_path / "other") as (other, _):
        url = one.config[0]["url"]
        # They name the server, and never end what they begin.
        begun = (
            f"POST {urlsplit(url).path} HTTP/1.1\r\nhost: {urlsplit(url).netloc}\r\ncontent-length: 9\r\n\r\n".encode()
        )
        async with connections(url, 60, begun) as readers:
            await asyncio.sleep(0.2)
            answers = [await reader.readline() for reader in readers[20:]]
            assert all(b"503" in answer for answer in answers)
            assert "booked" in text_of(await called(other.config[0]["url"], "book_room", day="Monday"))
        for _ in range(100):  # until the gateway has seen that they are closed
            try:
                assert "booked" in text_of(await called(url, "book_room", day="Monday"))
                break
            except Exception:
                await asyncio.sleep(0.05)
        else:
            pytest.fail("the server stays away from its own run")

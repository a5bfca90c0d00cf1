"""Connects an agent that starts its MCP servers itself to one that Viva offers. It is a program of its own.

It passes messages between its standard input and output and the server's URL, and ends with its input.

    python -I bridge.py FILE

The URL is in a file that only its owner can read, because every user of the machine can read a program's arguments.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server


async def main(url: str) -> None:
    """Pass messages until one side ends."""
    async with (
        stdio_server() as (from_agent, to_agent),
        streamable_http_client(url) as (from_viva, to_viva),
        anyio.create_task_group() as group,
    ):
        group.start_soon(_pass, from_viva, to_agent)
        await _pass(from_agent, to_viva)
        await anyio.sleep(0.1)  # for answers that are under way
        group.cancel_scope.cancel()


async def _pass(source: Any, target: Any) -> None:
    async for message in source:
        if not isinstance(message, Exception):  # a line that is no message
            await target.send(message)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]).read_text(encoding="utf-8"))

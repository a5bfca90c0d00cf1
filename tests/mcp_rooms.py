"""An MCP server for tests that can do everything wrong. Run as a program; `case_with` makes a case that owns it."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

rooms = MCPServer("rooms", instructions="Books rooms.")
booked: list[str] = []


@rooms.tool()
def book_room(day: str) -> str:
    """Book a room."""
    booked.append(day)
    return f"booked B{len(booked)} on {day}"


@rooms.tool()
def refuse() -> str:
    """Fail as a tool does."""
    raise ToolError("no room is free")


@rooms.tool()
def crash() -> str:
    """End the server."""
    print("the roof fell in", file=sys.stderr, flush=True)
    os._exit(3)


@rooms.tool()
async def wait(seconds: float) -> str:
    """Return late."""
    import anyio

    await anyio.sleep(seconds)
    return "late"


@rooms.tool()
def long(length: int) -> str:
    """Return a long text."""
    return "x" * length


@rooms.tool()
def about(name: str) -> str:
    """Tell of the process."""
    return f"{os.environ.get(name)}\n{Path.cwd()}\n{sorted(os.listdir())}"


@rooms.tool()
def leave() -> str:
    """Leave a daemon behind, and return its id."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writing, str(os.getpid()).encode())
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
        os._exit(0)
    return os.read(reading, 20).decode()


@rooms.resource("rooms://plan")
def plan() -> str:
    """Return the plan of the house."""
    return "three rooms"


if __name__ == "__main__":
    for word in sys.argv[1:]:
        if word == "flood":
            sys.stderr.write("flood " * 200_000)
        elif word == "die":
            sys.exit("no rooms today")
        elif word == "hang":
            time.sleep(600)
        elif word == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
    rooms.run()
    if "deaf" in sys.argv:
        time.sleep(600)


def server(**fields: Any) -> dict[str, Any]:
    """Return the entry of a case file for this server."""
    return {"name": "rooms", "module": "rooms.py", **fields}


SOURCE = Path(__file__).read_text(encoding="utf-8")

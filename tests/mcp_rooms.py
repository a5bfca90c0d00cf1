"""An MCP server for tests that can do everything wrong. Run as a program; `case_with` makes a case that owns it.

It speaks the protocol itself, because the official SDK takes as long to import as most tests last; with the argument
"sdk" it serves the same tools by the SDK.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

INSTRUCTIONS = "Books rooms."
KINDS = {"str": "string", "int": "integer", "float": "number"}
booked: list[str] = []


class Refused(Exception):
    """What a tool raises to fail."""


def book_room(day: str) -> str:
    """Book a room."""
    booked.append(day)
    return f"booked B{len(booked)} on {day}"


def refuse() -> str:
    """Fail as a tool does."""
    raise Refused("no room is free")


def crash() -> str:
    """End the server."""
    print("the roof fell in", file=sys.stderr, flush=True)
    os._exit(3)


def wait(seconds: float) -> str:
    """Return late."""
    time.sleep(seconds)
    return "late"


def long(length: int) -> str:
    """Return a long text."""
    return "x" * length


def about(name: str) -> str:
    """Tell of the process."""
    return f"{os.environ.get(name)}\n{Path.cwd()}\n{sorted(os.listdir())}"


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


def plan() -> str:
    """Return the plan of the house."""
    return "three rooms"


TOOLS: dict[str, Callable[..., str]] = {
    tool.__name__: tool for tool in (book_room, refuse, crash, wait, long, about, leave)
}


def shown(tool: Callable[..., str]) -> dict[str, Any]:
    """Return how a list of tools shows one."""
    parameters = {name: {"type": KINDS[kind]} for name, kind in tool.__annotations__.items() if name != "return"}
    schema = {"type": "object", "properties": parameters, "required": list(parameters)}
    return {"name": tool.__name__, "description": tool.__doc__, "inputSchema": schema}


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a call."""
    try:
        text, failed = TOOLS[name](**arguments), False
    except Exception as error:
        text, failed = f"Error executing tool {name}: {error}", True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a request."""
    match method:
        case "initialize":
            named = {"name": "rooms", "version": "1"}
            able: dict[str, Any] = {"tools": {}, "resources": {}}
            about_it = {"capabilities": able, "serverInfo": named, "instructions": INSTRUCTIONS}
            return {"protocolVersion": params["protocolVersion"], **about_it}
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [shown(tool) for tool in TOOLS.values()]}
        case "tools/call":
            return called(params["name"], params.get("arguments") or {})
        case "resources/read":
            return {"contents": [{"uri": params["uri"], "text": plan()}]}
    raise NotImplementedError(method)


def answer(asked: dict[str, Any]) -> None:
    """Write the answer to a request."""
    try:
        told = {"result": result_of(asked["method"], asked.get("params") or {})}
    except NotImplementedError as error:
        told = {"error": {"code": -32601, "message": f"there is no method {error}"}}
    line = json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}) + "\n"
    with writing:
        sys.stdout.write(line)
        sys.stdout.flush()


writing = threading.Lock()


def serve() -> None:
    """Answer requests, each in a thread, until nobody asks."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked and "method" in asked:
            threading.Thread(target=answer, args=[asked], daemon=True).start()


def serve_by_sdk() -> None:
    """Do the same with the official SDK."""
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    def failing() -> str:
        raise ToolError("no room is free")

    rooms = MCPServer("rooms", instructions=INSTRUCTIONS)
    for name, tool in TOOLS.items():
        rooms.tool(name=name)(failing if tool is refuse else tool)
    rooms.resource("rooms://plan")(plan)
    rooms.run()


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
    serve_by_sdk() if "sdk" in sys.argv else serve()
    if "deaf" in sys.argv:
        time.sleep(600)


def server(**fields: Any) -> dict[str, Any]:
    """Return the entry of a case file for this server."""
    return {"name": "rooms", "module": "rooms.py", **fields}


SOURCE = Path(__file__).read_text(encoding="utf-8")

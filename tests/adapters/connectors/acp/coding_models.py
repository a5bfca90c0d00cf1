"""A scripted model for real coding agents, which solves cases with whatever tool for commands the agent offers it."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.model_server import Answer, Request, ToolCall, text_of

SHELLS = ("bash", "run_shell_command", "shell")
MODEL = "coder"


def clerk(request: Request) -> str | Answer:
    """Serve the customer of the case `order_desk`, with the tools of its MCP server."""
    messages = request["messages"]
    tools = [tool["function"]["name"] for tool in request.get("tools") or ()]
    if not tools:
        return "A session"
    last = max(at for at, message in enumerate(messages) if message["role"] == "user")
    results = sum(message["role"] == "tool" for message in messages[last:])
    cancels = "cancel" in text_of(messages[last])
    if results == 0:
        return Answer(None, (use(tools, "list_orders", {"customer": "Ines"}, len(messages)),))
    if results == 1 and cancels:
        return Answer(None, (use(tools, "cancel_order", {"number": 1042}, len(messages)),))
    return "It is cancelled, and 58.50 euros are paid back." if cancels else "You have 1 open order left."


def use(tools: list[str], name: str, arguments: dict[str, Any], number: int) -> ToolCall:
    """A call of a tool of the case, which agents know by a longer name."""
    return ToolCall(next(tool for tool in tools if tool.endswith(name)), json.dumps(arguments), f"call_{number}")


def coder(request: Request) -> str | Answer:
    """Do what the user's last message asks for."""
    messages = request["messages"]
    tools = {tool["function"]["name"]: tool["function"] for tool in request.get("tools") or ()}
    shell = next((name for name in SHELLS if name in tools), None)
    if shell is None:  # a request for a title, a summary or the like
        return "A session"
    if messages[-1]["role"] == "tool":
        return f"The task is done. {text_of(messages[-1])[:200]}"
    asked = [text_of(message) for message in messages if message["role"] == "user"]
    if command := command_for(asked[-1]):
        return Answer("I will run a command.", (call(shell, tools[shell], command, len(messages)),))
    if "what did I say" in asked[-1]:
        return " / ".join(re.findall(r"remember (\w+)", "\n".join(asked)))
    return "Why did the test fail? It had no words."


def command_for(asked: str) -> str | None:
    if "integer number" in asked:
        return "echo 42 > a.txt"
    if "b.txt" in asked:
        return "cp a.txt b.txt"
    found = re.search(r"RUN (.*)", asked)
    return found[1] if found else None


def call(name: str, tool: dict[str, Any], command: str, number: int) -> ToolCall:
    arguments: dict[str, Any] = {"command": command, "description": "Runs a command"}
    required = tool.get("parameters", {}).get("required", ())
    if "is_background" in required:
        arguments["is_background"] = False
    return ToolCall(name, json.dumps(arguments), f"call_{number}")

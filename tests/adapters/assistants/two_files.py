"""Models that solve the case `same_number_in_two_files` with the shell of a coding agent."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tests.messages_server import Request, Says, results, said
from tests.model_server import Answer, ToolCall, said_by

NUMBER = "4711"
JOKE = "Why did the agent cross the road? To reach its goal."


def command_for(question: str, seen: Sequence[str]) -> str | None:
    """Return the command that a question needs, or None; `seen` are the results of earlier tools."""
    if "b.txt" in question:
        # What the first command printed stands in the conversation, or the agent has no memory.
        found = re.search(r"\d{4}", seen[0]) if seen else None
        return f"echo {found[0] if found else 'unknown'} > b.txt"
    return f"echo {NUMBER} > a.txt; cat a.txt" if "a.txt" in question else None


def by_chat(request: Request) -> Answer:
    """Play for Copilot, whose tool is `bash`."""
    messages = request["messages"]
    last = max(place for place, message in enumerate(messages) if message["role"] == "user")
    if messages[-1]["role"] == "tool":
        return Answer("Done.", usage=(120, 5))
    command = command_for(
        said_by("user", request)[-1], [str(one["content"]) for one in messages if one["role"] == "tool"]
    )
    if command is None:
        return Answer(JOKE, usage=(100, 9))
    given = json.dumps({"command": command, "description": "Write"})
    return Answer("I write.", (ToolCall("bash", given, f"call_{last}"),), usage=(100, 7))


def by_messages(request: Request) -> Says:
    """Play for Claude Code, whose tool is `Bash`."""
    texts = [str(one["content"]) for one in results(request)]
    contents = [message["content"] for message in request["messages"] if message["role"] == "user"]
    answered = isinstance(contents[-1], list) and any(block["type"] == "tool_result" for block in contents[-1])
    command = None if answered else command_for(said(request)[-1], texts)
    if command is None:
        return Says("Done." if answered else JOKE, usage=(120, 5))
    given = {"command": command, "description": "Write"}
    return Says("I write.", ((f"toolu_{len(texts)}", "Bash", given),), usage=(100, 7))

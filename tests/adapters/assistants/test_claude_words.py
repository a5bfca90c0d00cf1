"""What Viva adds to the words of the Claude Agent SDK, with a client of the test's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from viva.adapters.inside.frameworks.claude_agent import ClaudeAgent


@dataclass
class Options:
    stderr: Any = None
    cwd: str | None = None
    mcp_servers: dict[str, Any] = field(default_factory=dict)
    allowed_tools: tuple[str, ...] = ()


class LongWindedClient:
    async def query(self, message: str) -> None:
        raise RuntimeError("Failed to decode JSON: JSON message exceeded maximum buffer size of 1048576 bytes...")


async def test_a_message_that_the_sdk_finds_too_long_is_told_with_what_to_do() -> None:
    made: Any = type("made", (ClaudeAgent,), {"target": Options()})
    agent = made("the task")
    agent.client = LongWindedClient()
    with pytest.raises(RuntimeError, match=r"1048576 bytes: set a larger max_buffer_size in ClaudeAgentOptions$"):
        await agent.get_reply_from_agent("Hello.")

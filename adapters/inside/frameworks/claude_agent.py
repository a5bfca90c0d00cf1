"""Wraps `ClaudeAgentOptions` of the Claude Agent SDK: a session of Claude Code for each run, in the run's workspace."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import importlib
import sys
from collections.abc import Mapping
from typing import Any

from ..rules import Setup
from .claude_steps import TurnSteps, spent
from .vocabulary import Reply, Usage
from .wrapper import FrameworkAgent

INTERRUPT_SECONDS = 2.0
STDERR_LINES = 20
"""Lines at the end of what Claude Code printed that the message of a failure has."""


class ClaudeAgent(FrameworkAgent):
    """One session of Claude Code."""

    @classmethod
    def check(cls, target: Any) -> None:
        """Check that these are options; a client holds one conversation.

        Raises:
            Setup: `needs`.
        """
        if not dataclasses.is_dataclass(target):
            raise Setup(
                needs="a ClaudeSDKClient holds one conversation, and each exam needs one of its own: name the "
                "ClaudeAgentOptions that it is made of, or a function that returns them"
            )

    def begin(self, target: Any) -> None:
        self.printed: collections.deque[str] = collections.deque(maxlen=STDERR_LINES)
        self.told = target.stderr
        changes: dict[str, Any] = {"stderr": self._note, **self._servers(target)}
        if target.cwd is None and self.workspace is not None:
            changes["cwd"] = str(self.workspace)
        elif target.cwd is not None:
            self.workspace = str(target.cwd)
        self.options = dataclasses.replace(target, **changes)
        self.client: Any = None
        self.busy = False
        """Whether it has not ended its turn."""
        self.before: dict[str, Any] = {}
        """The session's totals by model before this message; Claude Code reports totals."""
        self.cost = 0.0
        self.turns = TurnSteps()
        self.failed: Reply | None = None
        """What was done in a turn that Claude Code ended as failed."""

    def _servers(self, target: Any) -> dict[str, Any]:
        """Return the options with the MCP servers of the case, whose tools are then permitted."""
        given = self.config_var.get("mcp_servers") if isinstance(self.config_var, Mapping) else None
        offered = [each for each in given or () if isinstance(each, Mapping) and "name" in each and "url" in each]
        if not offered or not isinstance(target.mcp_servers, Mapping):
            return {}
        servers = {str(each["name"]): {"type": "http", "url": each["url"]} for each in offered}
        permitted = [f"mcp__{name}" for name in servers if name not in target.mcp_servers]
        return {
            "mcp_servers": {**servers, **target.mcp_servers},
            "allowed_tools": [*target.allowed_tools, *permitted],
        }

    async def get_reply_from_agent(self, message: str) -> Reply:
        """Send one message, and return the reply with what Claude Code did for it."""
        try:
            if self.client is None:
                client = importlib.import_module("claude_agent_sdk").ClaudeSDKClient(self.options)
                await client.connect()
                self.client = client
            self.busy = True
            await self.client.query(message)
            result = await self._result()
            self.busy = False
        except Exception as error:
            raise RuntimeError(self._in_words(error)) from error
        usage = self._usage(result)
        text, steps = self.turns.take()
        if result.is_error or result.subtype != "success":
            self.failed = Reply("", steps, usage)
            raise RuntimeError(self._failure(result, text))
        return Reply(result.result if isinstance(result.result, str) else text, steps, usage)

    async def reply_so_far(self) -> Reply | None:
        """Return the steps of the turn that failed or took too long; its cost is known if it has ended."""
        if self.failed is not None:
            return self.failed
        calls = self.turns.calls
        return Reply("", self.turns.take()[1], Usage(calls=calls, reported=False))

    async def close(self) -> None:
        """End the session and its process."""
        client, self.client = self.client, None
        if client is None:
            return
        if self.busy:
            # It would be waited for; whether it obeys does not matter, because its process is ended below.
            with contextlib.suppress(Exception):
                await asyncio.wait_for(client.interrupt(), INTERRUPT_SECONDS)
        await client.disconnect()

    async def _result(self) -> Any:
        """Take the messages up to the result of this turn."""
        found = None
        async for message in self.client.receive_response():
            self.turns.note(message)
            if type(message).__name__ == "ResultMessage":
                found = message
        if found is None:
            raise RuntimeError("Claude Code ended without a result")
        return found

    def _usage(self, result: Any) -> Usage:
        """Return what this turn took, sub-agents included."""
        totals = result.model_usage or {}
        cost = result.total_cost_usd
        usage = spent(
            totals, self.before, calls=self.turns.calls, cost=None if cost is None else max(0.0, cost - self.cost)
        )
        self.before = {name: dict(total) for name, total in totals.items()}
        self.cost = self.cost if cost is None else cost
        return usage

    def _failure(self, result: Any, text: str) -> str:
        """Return in words why a turn failed."""
        said = result.result if isinstance(result.result, str) and result.result.strip() else text
        words = "; ".join(part for part in (*(result.errors or ()), said) if part)
        kind = "" if result.subtype == "success" else f" ({result.subtype})"
        return f"Claude Code failed{kind}: {words or 'it gave no reason'}{self._ended()}"

    def _in_words(self, error: Exception) -> str:
        if type(error).__name__ == "CLINotFoundError":
            return (
                f"{error}. The Claude Agent SDK starts the program Claude Code: install a wheel that contains it "
                "(pip install --force-reinstall claude-agent-sdk), or set cli_path in ClaudeAgentOptions"
            )
        words = str(error) or type(error).__name__
        if "maximum buffer size" in words:
            words = f"{words.rstrip('.')}: set a larger max_buffer_size in ClaudeAgentOptions"
        return f"{words}{self._ended()}"

    def _ended(self) -> str:
        """Return the end of what Claude Code printed to stderr, for the message of a failure."""
        printed = "\n".join(self.printed).strip()
        return f"\nIt printed: {printed}" if printed else ""

    def _note(self, line: str) -> None:
        self.printed.append(line.rstrip("\n"))
        if self.told is not None:
            self.told(line)
        else:
            print(line, file=sys.stderr)

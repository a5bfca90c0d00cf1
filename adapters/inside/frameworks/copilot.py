"""Wraps a session of GitHub's Copilot SDK; its events tell what Copilot did."""

from __future__ import annotations

import asyncio
from typing import Any

from ..observed import ObservedReply
from ..rules import Setup
from .wrapper import FrameworkAgent

LOOK_SECONDS = 2.0
"""Seconds between two checks that the CLI still answers."""
NO_LIMIT = 10.0**9
"""Seconds; Viva itself limits the time of a reply."""
READ = frozenset(
    {
        "abort",
        "assistant.message",
        "assistant.usage",
        "model.call_failure",
        "session.compaction_complete",
        "session.error",
        "session.task_complete",
        "subagent.completed",
        "subagent.failed",
        "subagent.started",
        "tool.execution_complete",
        "tool.execution_start",
        "user.message",
    }
)
"""The events of a round that `viva/recordings/events/copilot.py` reads. Others are many, and some of them large."""


class CopilotAgent(FrameworkAgent):
    """One conversation with Copilot."""

    @classmethod
    def check(cls, target: Any) -> None:
        """Check that this is a session.

        Raises:
            Setup: `needs`.
        """
        if not hasattr(target, "send_and_wait"):
            raise Setup(
                needs="each exam needs a session of its own: name an `async def` function that opens a client and "
                "yields a session of it (see `viva docs copilot`)"
            )

    def begin(self, target: Any) -> None:
        self.session = target
        self.number = 0
        self.events: list[Any] = []

    async def get_reply_from_agent(self, message: str) -> ObservedReply:  # type: ignore[override]
        """Send one message, and return what Copilot said with the events that it reported."""
        self.number += 1
        self.events = []
        unsubscribe = self.session.on(self._note)
        watch = asyncio.ensure_future(self._watch())
        asked = asyncio.ensure_future(self.session.send_and_wait(message, timeout=NO_LIMIT))
        try:
            await asyncio.wait((asked, watch), return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise RuntimeError(f"the Copilot CLI has ended: {watch.result()}")
            answer = asked.result()
        finally:
            for task in (asked, watch):
                task.cancel()
            await asyncio.gather(asked, watch, return_exceptions=True)
            unsubscribe()
        said = getattr(getattr(answer, "data", None), "content", None)
        text = said if isinstance(said, str) else ""
        events = tuple(_without_reply(event, text) for event in self.events)
        return ObservedReply(text, "copilot", events, self.number)

    async def reply_so_far(self) -> ObservedReply:  # type: ignore[override]
        """Return the events of the turn that failed or took too long."""
        return ObservedReply("", "copilot", tuple(self.events), self.number)

    async def close(self) -> None:
        """End the session; the client is closed by the function that opened it."""
        await self.session.disconnect()

    async def _watch(self) -> str:
        """Return how the CLI has ended, when it has: the SDK would go on waiting for the end of the turn."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.session.rpc.mode.get()
            except (OSError, EOFError) as error:
                return str(error) or type(error).__name__
            except Exception as error:
                if type(error).__name__ == "ProcessExitedError":
                    return str(error)
                # It answered, though not as a CLI of this version does.

    def _note(self, event: Any) -> None:
        if event.type.value in READ:
            self.events.append(event.to_dict())


def _without_reply(event: dict[str, Any], text: str) -> dict[str, Any]:
    """Return an event without the words that are the reply: they are sent beside it, and a long reply fits once."""
    data = event.get("data")
    if event.get("type") != "assistant.message" or not isinstance(data, dict) or data.get("content") != text:
        return event
    if data.get("toolRequests") or data.get("parentToolCallId") or event.get("agentId"):
        return event  # a thought, or what a sub-agent said
    return {**event, "data": {**data, "content": ""}}

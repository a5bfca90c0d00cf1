"""Wraps a session of GitHub's Copilot SDK; its events tell what Copilot did."""

from __future__ import annotations

from typing import Any

from ..observed import ObservedReply
from ..rules import Setup
from .wrapper import FrameworkAgent

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
        try:
            answer = await self.session.send_and_wait(message, timeout=NO_LIMIT)
        finally:
            unsubscribe()
        said = getattr(getattr(answer, "data", None), "content", None)
        text = said if isinstance(said, str) else ""
        return ObservedReply(text, "copilot", tuple(self.events), self.number)

    async def close(self) -> None:
        """End the session; the client is closed by the function that opened it."""
        await self.session.disconnect()

    def _note(self, event: Any) -> None:
        if event.type.value in READ:
            self.events.append(event.to_dict())

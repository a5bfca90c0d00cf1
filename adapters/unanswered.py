"""What an agent did for a message that it did not answer, because it failed or took too long, as far as its adapter
tells.

An adapter tells it by a method `reply_so_far()`, plain or async, which returns a Reply with the steps and the usage
since its last reply, or None.
"""

from __future__ import annotations

from typing import Any, Protocol

from viva.adapters.contract import as_reply
from viva.records.redact import Keys
from viva.records.transcript import Reply

SO_FAR_SECONDS = 2.0
"""Maximum duration of asking an agent that has just failed."""


class FailedSession(Protocol):
    """The part of an `AgentSession` that this module uses."""

    @property
    def agent(self) -> Any:
        """Return the adapter's object."""
        ...

    async def call(self, name: str, *arguments: Any, seconds: float) -> Any:
        """Call a method of the agent, plain or async, where its code runs."""
        ...


async def reply_so_far(session: FailedSession, keys: Keys) -> Reply | None:
    """Return what the agent did since its last reply; None if it does not tell.

    Args:
        session: A session in which `reply` has just failed.
        keys: Keys that no reply may show.
    """
    try:
        if not callable(getattr(session.agent, "reply_so_far", None)):
            return None
        answer = await session.call("reply_so_far", seconds=SO_FAR_SECONDS)
        return None if answer is None else as_reply(answer, keys)
    except Exception:  # also of a property of the agent's own; what it failed with before is what counts
        return None

"""Partners that answer at once, so that only Viva is measured."""

from __future__ import annotations

from viva.adapters.virtual_user import VirtualUser

TEXT = ("I would like to change my booking please. " * 100)[:120]
"""120 characters, the message length used with the other tools."""


class AsyncAgent(VirtualUser):
    """Answers at once, on the event loop."""

    def __init__(self, task_description: str) -> None:
        pass

    async def get_reply_from_agent(self, message: str) -> str:
        return TEXT

    async def close(self) -> None:
        pass


class SyncAgent(VirtualUser):
    """Answers at once, on a separate thread."""

    def __init__(self, task_description: str) -> None:
        pass

    def get_reply_from_agent(self, message: str) -> str:
        return TEXT

    def close(self) -> None:
        pass

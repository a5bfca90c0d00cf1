"""Wraps agents and teams of AutoGen (autogen-agentchat), which hold their conversation."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

from ..rules import Setup
from .autogen_steps import StreamReader
from .wrapper import FrameworkAgent, error_text

CLOSE_SECONDS = 3.0
"""Maximum time that a team has to end when it is cancelled."""
IN_OWN_PROCESS = __name__.startswith("viva_inside.")
ONE_FOR_EACH = (
    "agents and teams of AutoGen hold their conversation, so each run needs a new one. Name a function "
    "that returns it (def make_team(): …), or examine it in a process of its own (--isolate, or @path/to/venv)"
)


class AutoGenAgent(FrameworkAgent):
    """One conversation with an agent or a team, made for this run."""

    @classmethod
    def check_shared(cls, target: Any) -> None:
        """Check that an object of a module is not shared between runs: a process of its own has its own.

        Raises:
            Setup: `needs`.
        """
        if not IN_OWN_PROCESS:
            raise Setup(needs=ONE_FOR_EACH)

    def begin(self, target: Any) -> None:
        self.agent = target
        self.reader = StreamReader(self.steps)
        self.heard: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        """What the work on a message says: (`message`, …), (`asks`, prompt), (`failed`, error) or (`done`, None)."""
        self.work: Any = None
        self.asked: Any = None
        """What a UserProxyAgent waits for."""
        self.handed_over_by: str | None = None
        """The agent that has handed over to the user."""
        for user in _participants(target):
            if hasattr(user, "input_func"):
                user.input_func, user._is_async = self._ask, True

    async def answer(self, message: str) -> str:
        if self.asked is not None:
            asked, self.asked = self.asked, None
            asked.set_result(message)
        else:
            self.work = asyncio.ensure_future(self._work(self._task(message)))
        return await self._listen()

    async def close(self) -> None:
        if self.work is not None and not self.work.done():
            self.work.cancel()
            await asyncio.wait([self.work], timeout=CLOSE_SECONDS)

    def _task(self, message: str) -> Any:
        if self.handed_over_by is None:
            return message
        target, self.handed_over_by = self.handed_over_by, None
        handoff = importlib.import_module("autogen_agentchat.messages").HandoffMessage
        return handoff(source="user", target=target, content=message)

    async def _work(self, task: Any) -> None:
        try:
            async for message in self.agent.run_stream(task=task):
                self.heard.put_nowait(("message", message))
        except BaseException as error:
            self.heard.put_nowait(("failed", error))
            if not isinstance(error, Exception):
                raise
        else:
            self.heard.put_nowait(("done", None))

    async def _ask(self, prompt: str, cancellation_token: Any = None) -> str:
        """Take the place of `input` for a UserProxyAgent: the examiner's next message is the answer."""
        self.asked = asyncio.get_running_loop().create_future()
        self.heard.put_nowait(("asks", prompt))
        return str(await self.asked)

    async def _listen(self) -> str:
        """Note the steps until the work is done or asks the user; return the last words of an agent."""
        said: str | None = None
        while True:
            kind, value = await self.heard.get()
            if kind == "failed":
                raise value if isinstance(value, Exception) else RuntimeError(error_text(value))
            if kind == "asks":
                return said or value
            if kind == "done":
                return said or ""
            if hasattr(value, "messages"):  # the TaskResult at the end, with the same messages
                continue
            text = self.reader.note(value)
            said = text if text is not None else said
            target = getattr(value, "target", None)
            if target is not None and value.source != "user":
                known = {user.name for user in _participants(self.agent)}
                self.handed_over_by = None if target in known else value.source


def _participants(target: Any) -> list[Any]:
    found = getattr(target, "_participants", None)
    return [target] if found is None else [inner for one in found for inner in _participants(one)]

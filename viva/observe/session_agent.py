"""The adapter that gives a suite's case to a fresh session, and observes it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from viva.recordings.events.collector import EvalCollector
from viva.records.transcript import Metrics, Reply, Transcript

OpenSession = Callable[[Any], Any | Awaitable[Any]]
"""Opens a session for an `EvalCase`, plain or async."""


class SessionAgent:
    """A VirtualUser whose agent is a session. `session_agent` makes a class for one suite."""

    open: OpenSession
    cases: Mapping[str, Any]
    timeout: float
    capture_content: bool
    successes: dict[str, bool | None]
    """Maps each case to the success that its session stated."""

    def __init__(self, task_description: str, config_var: Mapping[str, Any] | None = None) -> None:
        self._case = self.cases[(config_var or {})["eval_case"]]
        self._collector = EvalCollector(capture_content=self.capture_content)
        self._session: Any = None

    @property
    def metrics(self) -> Metrics:
        """The metrics, which the transcript of the run contains."""
        return self._collector.snapshot()

    async def get_reply_from_agent(self, message: str) -> Reply:
        """Send the prompt, and wait until the session has worked on it."""
        made = type(self).open(self._case)
        self._session = await made if inspect.isawaitable(made) else made
        self._collector.attach(self._session)
        self._collector.begin_task(self._case.name)
        try:
            answer = await self._session.send_and_wait(message, timeout=self.timeout)
        finally:
            self._collector.detach()
        seen = self._collector.transcript()
        self.successes[self._case.name] = seen.success
        return Reply(
            _words(seen, answer) if self.capture_content else "",
            tuple(step for round_ in seen.rounds for step in round_.steps),
            self._collector.snapshot().usage,
        )

    async def close(self) -> None:
        """Close the session."""
        end = getattr(self._session, "disconnect", None)
        if end is not None:
            ended = end()
            if inspect.isawaitable(ended):
                await ended


def session_agent(
    open_session: OpenSession, cases: Mapping[str, Any], timeout: float, *, capture_content: bool
) -> type[SessionAgent]:
    """Make the adapter's class for one suite."""
    parts = {
        "open": staticmethod(open_session),
        "cases": cases,
        "timeout": timeout,
        "capture_content": capture_content,
        "successes": {},
    }
    return type("SessionAgent", (SessionAgent,), parts)


def _words(seen: Transcript, answer: Any) -> str:
    """Return the session's final text: what it returned, or what its events contained."""
    content = getattr(getattr(answer, "data", None), "content", None)
    if isinstance(content, str):
        return content
    return next((round_.agent for round_ in reversed(seen.rounds) if round_.agent), "")

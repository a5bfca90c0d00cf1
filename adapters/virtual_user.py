"""`VirtualUser`: the class an adapter is made from. Any object with the same methods will do."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

from records.transcript import Reply


class VirtualUser:
    """The user's end of a conversation with one agent. One object serves one run.

    Override `get_reply_from_agent`, and `close` if there is something to release. Both may be plain or async. A plain
    agent has a thread of its own and is cut off when it hangs; one whose `get_reply_from_agent` is async lives on
    Viva's event loop, where none of its code may block: nobody could cut it off, and its siblings would wait.
    """

    workspace: Path | None = None
    """The folder with the agent's files. Viva sets it to the run's own fresh folder once the object is constructed,
    unless the adapter has set it by then. An `__init__` with a `workspace` parameter is given that folder already."""

    def __init__(
        self,
        task_description: str,
        app_dir: str | None = None,
        config_var: Mapping[str, Any] | None = None,
    ) -> None:
        """Args:
        task_description: The case's; most adapters have no use for it.
        app_dir: The case's `app_dir`, or what `--app-dir` says.
        config_var: The case's `config_var`, untouched.
        """
        self.task_description = task_description
        self.app_dir = app_dir
        self.config_var = config_var

    def get_reply_from_agent(self, message: str) -> str | Reply | Awaitable[str | Reply]:
        """Hand one message to the agent and return its reply. A `verbose` parameter is tolerated.

        Raises:
            Exception: whatever is raised ends the conversation, counts against the agent, and is its last turn.
        """
        raise NotImplementedError(f"{type(self).__name__} does not override get_reply_from_agent")

    def close(self) -> Awaitable[None] | None:
        """Release what the agent holds. Called once, whatever happened before."""
        return None

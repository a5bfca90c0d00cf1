"""`VirtualUser`: the class an adapter is made from. Any object with the same methods will do."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

from adapters.errors import AgentError
from adapters.workspace import make_folder
from records.transcript import Reply


class VirtualUser:
    """The user's end of a conversation with one agent. One object serves one run.

    Override `get_reply_from_agent`, and `close` if there is something to release. Both may be plain or async. A plain
    agent has a thread of its own and is cut off when it hangs; one whose `get_reply_from_agent` is async lives on
    Viva's event loop, where none of its code may block: its siblings would wait until it is cut off, as a time-out.
    """

    # On the class, for subclasses that do not call `super().__init__`; named so that none has its own by these names.
    _viva_folder: Path | None = None
    _viva_offer: Path | None = None
    _viva_fault: AgentError | None = None
    """The last fault of the call under way, where a connector tries again by itself."""

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

    @property
    def workspace(self) -> Path | None:
        """The folder with the agent's files: the run's own fresh folder from the moment the object is constructed,
        unless the adapter has set another by then. An `__init__` with a `workspace` parameter is given it already.

        The run's own is made when it is first read: many agents never do, and a folder that nobody uses costs a run
        as much as four rounds, and the disk milliseconds.

        Raises:
            SetupError: it cannot be made.
        """
        if self._viva_folder is None and self._viva_offer is not None:
            self._viva_folder = make_folder(self._viva_offer)
        return self._viva_folder

    @workspace.setter
    def workspace(self, folder: Path | None) -> None:
        self._viva_folder = folder

    def get_reply_from_agent(self, message: str) -> str | Reply | Awaitable[str | Reply]:
        """Hand one message to the agent and return its reply. A `verbose` parameter is tolerated.

        Raises:
            Exception: whatever is raised ends the conversation, counts against the agent, and is its last turn.
        """
        raise NotImplementedError(f"{type(self).__name__} does not override get_reply_from_agent")

    def close(self) -> Awaitable[None] | None:
        """Release what the agent holds. Called once, whatever happened before."""
        return None


def offer_workspace(agent: object, folder: Path) -> bool:
    """Say where an agent's workspace is, to be made once it is read. False if its class is not one that can do so."""
    if not isinstance(agent, VirtualUser) or type(agent).workspace is not VirtualUser.workspace:
        return False
    agent._viva_offer = folder
    return True

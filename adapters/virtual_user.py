"""`VirtualUser`, the base class of adapters. Any object with the same methods works too."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

from viva.adapters.workspace import make_folder
from viva.errors import AgentError
from viva.records.transcript import Reply


class VirtualUser:
    """The user's end of a conversation with one agent. One object serves one run.

    Override `get_reply_from_agent`, and `close` if there is something to release. Both can be plain or async. A plain
    agent has its own thread and is cut off if it hangs. An agent whose `get_reply_from_agent` is async runs on Viva's
    event loop, where none of its code may block: all other agents would wait until it is cut off with a time-out.

    A subclass may also have `save_state()`, which returns the agent's present state as JSON data, and
    `load_state(state)`, which continues from one in a new object, before the first message; both plain or async. None
    from the first, and NotImplementedError from either, say that there is no state.

    It may have `load_conversation(messages)`, which gives a new object the conversation that a case begins with, before
    the first message; plain or async. Without it, such cases are refused.

    And it may have `reply_so_far()`, plain or async, which is called when a reply failed or came too late. It returns a
    Reply with the steps and the usage until then, or None.
    """

    # On the class, for subclasses that do not call `super().__init__`; the names avoid clashes with subclasses.
    _viva_folder: Path | None = None
    _viva_offer: Path | None = None
    _viva_fault: AgentError | None = None
    """The last fault of the current call, as long as a connector waits to make it again, or for a connection."""

    def __init__(
        self,
        task_description: str,
        app_dir: str | None = None,
        config_var: Mapping[str, Any] | None = None,
    ) -> None:
        """Args:
        task_description: The case's description of the task; most adapters do not use it.
        app_dir: The case's `app_dir`, or the value of `--app-dir`.
        config_var: The case's `config_var`; Viva adds the keys `state` and `mcp_servers` if the case has them, and
            those of `--vary`.
        """
        self.task_description = task_description
        self.app_dir = app_dir
        self.config_var = config_var

    @property
    def workspace(self) -> Path | None:
        """Return the folder with the agent's files: the run's own new folder, unless the adapter sets another one.

        It is available when the object has been constructed; an `__init__` with a `workspace` parameter gets it before.
        The run's folder is made when it is first read: many agents never use it, and making a folder takes a run as
        long as four rounds.

        Raises:
            SetupError: the folder cannot be made.
        """
        if self._viva_folder is None and self._viva_offer is not None:
            self._viva_folder = make_folder(self._viva_offer)
        return self._viva_folder

    @workspace.setter
    def workspace(self, folder: Path | None) -> None:
        self._viva_folder = folder

    def get_reply_from_agent(self, message: str) -> str | Reply | Awaitable[str | Reply]:
        """Send one message to the agent and return its reply. An override can have a `verbose` parameter.

        Raises:
            Exception: any exception ends the conversation, counts against the agent, and becomes its last turn.
        """
        raise NotImplementedError(f"{type(self).__name__} does not override get_reply_from_agent")

    def close(self) -> Awaitable[None] | None:
        """Release the agent's resources. It is called once, whatever happened before."""
        return None


def offer_workspace(agent: object, folder: Path) -> bool:
    """Set an agent's workspace, to be made when it is first read; return False if its class does not support that."""
    if not isinstance(agent, VirtualUser) or type(agent).workspace is not VirtualUser.workspace:
        return False
    agent._viva_offer = folder
    return True

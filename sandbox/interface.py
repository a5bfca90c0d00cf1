"""The interface of all sandbox backends, and the endings of a check. Each backend is a module beside this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Protocol

from viva.sandbox.limits import SandboxLimits

Fresh = Literal["world", "container"]
"""What each run has for itself: a world, where the machine allows it, or always a container (a bwrap, an interpreter).
"""


class SandboxError(Exception):
    """The sandbox itself failed. This says nothing about the agent."""


class SandboxUnavailable(SandboxError):
    """A backend cannot be used on this machine; `remedy` says what would change that."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason} {remedy}".strip())
        self.reason = reason
        self.remedy = remedy


class SandboxLost(SandboxError):
    """The session died in the middle of a check: judge again, in a new session."""


class DaemonGone(SandboxError):
    """The container daemon did not answer within the stated time. The run's transcript is sound: judge it later."""


class WorkspaceTooLarge(SandboxError):
    """What the agent left is too much for a sandbox. Unlike the other errors, this one is about the agent."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"the workspace is too large for a sandbox: {detail}")


class WorkspaceUnreadable(SandboxError):
    """There is no folder where the workspace was, or one that cannot be read, or a link. This is about the agent."""


class ConversationTooLarge(SandboxError):
    """The conversation is too much for a sandbox, cut or not. It says nothing of the agent."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"the conversation is too large for a sandbox: {detail}")


class DependencyError(SandboxError):
    """A requirement of a case cannot be installed. `requirement` names it."""

    def __init__(self, requirement: str, detail: str) -> None:
        super().__init__(f"cannot install {requirement!r} into the sandbox: {detail}")
        self.requirement = requirement


class Ending(StrEnum):
    """How one check ended. The judge decides what that says about the agent."""

    PASSED = "passed"
    """The code ran to its end without an exception, and the server saw that end."""
    FAILED = "failed"
    """It raised an exception about what the agent left: `AssertionError`, `FileNotFoundError`, `ValueError`…"""
    BROKEN = "broken"
    """It can never pass, whatever the agent left: it does not compile, or its source and the installed modules prove an
    exception."""
    TIMEOUT = "timeout"
    """It was still running at the end of its wall or CPU time, and was killed."""
    LIMIT = "limit"
    """It exceeded another limit (memory, processes, disk…), or its process died before the server saw an end."""


@dataclass(frozen=True, slots=True)
class RunView:
    """What a check sees of the conversation, besides the workspace.

    `chat_history` holds (role, content) pairs with the roles `system`, `human` and `ai`, in TaskWeaver's order;
    the sandbox turns them into `SystemMessage`, `HumanMessage` and `AIMessage` objects.
    """

    chat_history: Sequence[tuple[str, str]] = ()
    rounds: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Isolation:
    """The isolation of the checks of one run, in words."""

    host: str
    """What stands between a check and the host."""
    runs: str
    """What stands between this run's checks and those of other runs."""
    note: str = ""
    """Why it is not what was asked for; empty if it is."""


UNKNOWN = Isolation("", "")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check."""

    ending: Ending
    exception: str | None = None
    """Class name of the exception that ended it."""
    message: str = ""
    """The exception's own words, or the limit that was exceeded."""
    line: int | None = None
    """Line of the check's code where it ended."""
    missing_module: str | None = None
    """The module of a `ModuleNotFoundError`. The judge decides who should have provided it."""
    imported: tuple[str, ...] = ()
    """What of the agent's ran inside the check, where it can make any check pass: files of the workspace,
    `pickle: module.name` for what a pickle named, `text: …` for text that the check itself executed."""
    workspace_fault: str = ""
    """Why the check saw an empty workspace instead of the agent's; empty if it saw the agent's."""
    output: str = ""
    seconds: float = 0.0
    """Wall-clock seconds of the check's own code."""


class SandboxSession(Protocol):
    """One run's workspace in a sandbox, and a server that runs checks on copies of it.

    A session may say what separates it from the host and from other runs: `isolation`, an `Isolation`.
    """

    async def check(self, code: str, limits: SandboxLimits | None = None) -> CheckResult:
        """Run one `eval_code`, within `limits` or else those of the sandbox.

        The checks of a session do not see each other's changes.

        Raises:
            SandboxLost: the session died during the check.
        """
        ...

    async def close(self) -> None:
        """Release everything. Never raises; may be called twice."""
        ...


class Sandbox(Protocol):
    """A backend. One object serves all runs of a process."""

    name: str
    """`docker`, `bwrap` or `process`: printed, and kept in the run's record."""
    isolates: bool
    """False where a check could reach the host."""
    weaknesses: tuple[str, ...]
    """What this backend does not guarantee, in one short sentence each."""

    async def try_out(self) -> Isolation:
        """Start a server, and return what separates a run here from the host and from other runs.

        Raises:
            SandboxError: the backend failed.
        """
        ...

    async def provide(self, dependencies: Sequence[str]) -> None:
        """Get these PEP 508 requirements without starting a server. Called before the first exam.

        Raises:
            DependencyError: a requirement cannot be installed.
            SandboxError: the backend failed.
        """
        ...

    async def prepare(self, dependencies: Sequence[str] = (), *, run_id: str = "") -> None:
        """Start a server with these PEP 508 requirements, so that a session opens quickly.

        Called before a conversation starts. `run_id` only labels what is started: any run may get the server.

        Raises:
            DependencyError: a requirement cannot be installed.
            SandboxError: the backend cannot start a server at all.
        """
        ...

    async def open(
        self,
        workspace: Path | None,
        view: RunView,
        *,
        dependencies: Sequence[str] = (),
        run_id: str = "",
    ) -> SandboxSession:
        """Open a session on a copy of `workspace` (an empty one for none).

        Raises:
            SandboxError: no session could be opened.
        """
        ...

    async def close(self) -> None:
        """Close all sessions and remove the servers that are kept ready. Never raises."""
        ...

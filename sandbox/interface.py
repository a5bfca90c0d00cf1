"""What every sandbox backend offers, and whose fault each ending is. The backends live beside this module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol


class SandboxError(Exception):
    """The sandbox itself failed. Says nothing about the agent."""


class SandboxUnavailable(SandboxError):
    """A backend cannot be used on this machine; `remedy` says what would change that."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason} {remedy}".strip())
        self.reason = reason
        self.remedy = remedy


class SandboxLost(SandboxError):
    """The room went away in the middle of a check: judge again, in a fresh room."""


class DaemonGone(SandboxError):
    """The container daemon did not answer within the stated time. The run's transcript is sound: judge it later."""


class WorkspaceTooLarge(SandboxError):
    """What the agent left is more than a sandbox takes in. This one does speak about the agent."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"the workspace is too large for a sandbox: {detail}")


class DependencyError(SandboxError):
    """A requirement of a case cannot be installed; `requirement` names it."""

    def __init__(self, requirement: str, detail: str) -> None:
        super().__init__(f"cannot install {requirement!r} into the sandbox: {detail}")
        self.requirement = requirement


class Ending(StrEnum):
    """How one check ended. Whether that speaks about the agent is the judge's to decide."""

    PASSED = "passed"
    """The code ran to its end without an exception, and the server saw that end."""
    FAILED = "failed"
    """An exception that speaks of what the agent left: `AssertionError`, `FileNotFoundError`, `ValueError`…"""
    BROKEN = "broken"
    """The check's own fault: it does not compile, or uses a name or a module that is not there."""
    TIMEOUT = "timeout"
    """Still running at the end of its wall or CPU time; it was killed."""
    LIMIT = "limit"
    """It broke another limit (memory, processes, disk…), or its process died without the server seeing an end."""


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What one check may use."""

    seconds: float = 30.0
    """Wall-clock seconds."""
    cpu_seconds: float = 30.0
    memory_mb: int = 512
    processes: int = 64
    open_files: int = 256
    file_mb: int = 64
    """Largest single file it may write, in MiB."""
    disk_mb: int = 256
    """All it may write, in MiB, its copy of the workspace included."""
    output_kb: int = 64
    """Printed output that is kept, head and tail, in KiB."""


@dataclass(frozen=True, slots=True)
class RunView:
    """What a check sees of the conversation, besides the workspace.

    `chat_history` holds (role, content) pairs with the roles `system`, `human` and `ai`, in TaskWeaver's order;
    the sandbox turns them into `SystemMessage`, `HumanMessage` and `AIMessage` objects.
    """

    chat_history: Sequence[tuple[str, str]] = ()
    rounds: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What came of one check."""

    ending: Ending
    exception: str | None = None
    """Class name of the exception that ended it."""
    message: str = ""
    """The exception's own words, or which limit was broken."""
    line: int | None = None
    """Line of the check's code where it ended."""
    missing_module: str | None = None
    """For a `ModuleNotFoundError`: the module. The judge decides whose it should have been."""
    imported: tuple[str, ...] = ()
    """What the agent left and ran inside the check, where it can make any check pass: files of the workspace,
    `pickle: module.name` for what a pickle named, `text: …` for text that the check itself executed."""
    output: str = ""
    seconds: float = 0.0
    """Wall-clock seconds of the check's own code."""


class Room(Protocol):
    """One run's place in a sandbox: its workspace, and a server that runs checks against copies of it."""

    async def check(self, code: str, limits: SandboxLimits | None = None) -> CheckResult:
        """Run one `eval_code`. Checks of a room do not see each other's changes.

        Raises:
            SandboxLost: the room died under the check.
        """
        ...

    async def close(self) -> None:
        """Give everything back. Never raises; may be called twice."""
        ...


class Sandbox(Protocol):
    """A backend. One object serves all runs of a process."""

    name: str
    """`docker`, `bwrap` or `process`: printed, and kept in the run's record."""
    isolates: bool
    """False where a check could reach the host."""
    weaknesses: tuple[str, ...]
    """What this backend does not guarantee, one short sentence each."""

    async def provide(self, dependencies: Sequence[str]) -> None:
        """Get these PEP 508 requirements, and start nothing. Called before the first exam.

        Raises:
            DependencyError: a requirement cannot be had.
            SandboxError: the backend failed.
        """
        ...

    async def prepare(self, dependencies: Sequence[str] = (), *, run_id: str = "") -> None:
        """Make a room with these PEP 508 requirements quick to open. Called before a conversation starts.

        `run_id` only names the run on what is started for it; any run may get the room.

        Raises:
            DependencyError: a requirement cannot be had.
            SandboxError: the backend cannot make a room at all.
        """
        ...

    async def open(
        self,
        workspace: Path | None,
        view: RunView,
        *,
        dependencies: Sequence[str] = (),
        run_id: str = "",
    ) -> Room:
        """Open a room on a copy of `workspace` (an empty one for none).

        Raises:
            SandboxError: no room can be had.
        """
        ...

    async def close(self) -> None:
        """Close what is still open and remove what is kept ready. Never raises."""
        ...

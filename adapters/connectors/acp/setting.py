"""What an agent that speaks the Agent Client Protocol is started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class AcpSetting:
    """The setting of one agent, the same for all of its runs."""

    command: tuple[str, ...]
    """The program and its arguments."""
    path: str
    """The program's file."""
    permissions: str | None = None
    """One of `permissions.POLICIES`; None means `allow`."""
    authenticate: str | None = None
    """The id of the method by which to authenticate before the session begins; None means not at all."""
    mode: str | None = None
    """The id of the mode that the session is put into; None means the agent's default."""
    options: Mapping[str, str | bool] = field(default_factory=dict)
    """Values of the session's options, by their ids, such as the model."""
    memory_mb: int | None = None
    folder: Path | None = None
    """The folder of the agent file; None for a short SPEC."""

    def __str__(self) -> str:
        return " ".join(self.command)

"""An MCP server that a case owns, as plain data. Viva starts it fresh for each run and records every call."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

CALL_SECONDS = 60.0
"""Maximum duration of a call, where the case says nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """One MCP server that speaks over its standard input and output."""

    name: str
    """The name that the agent sees; unique within the case."""
    module: str | None = None
    """A Python file of the case's folder, which Viva's own interpreter runs."""
    command: str | None = None
    """The program, if it is no Python file of the case: a name on PATH, or the path of one of `files`."""
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    """Names of the environment variables that it gets besides PATH, HOME and the like."""
    files: tuple[str, ...] = ()
    """Files and folders of the case's folder that it needs. The agent is not given them."""
    timeout: float | None = None
    """Maximum seconds of a call. Default: `CALL_SECONDS`."""

    @property
    def own_files(self) -> tuple[str, ...]:
        """Return the files and folders that are copied into its folder, by their paths in the case's folder."""
        return (*(() if self.module is None else (self.module,)), *self.files)

    @property
    def missing_command(self) -> str | None:
        """Return the command if it is not on this machine; one that is among the case's files is there."""
        command = self.command
        if command is None or (os.path.dirname(command) and not os.path.isabs(command)):
            return None
        return command if shutil.which(command) is None else None

    @property
    def call_seconds(self) -> float:
        """Return the maximum duration of a call in seconds."""
        return CALL_SECONDS if self.timeout is None else self.timeout

"""The keys of an agent file with `connector: acp`, and the setting that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from viva.adapters.connectors.agent_file import ConnectorKeys
from viva.adapters.connectors.command.command_line import CommandLine


class AcpKeys(ConnectorKeys):
    """The keys of an agent file with `connector: acp`."""

    command: str | list[str]
    """The agent's program and its arguments."""
    permissions: Literal["allow", "deny", "ask-case"] | None = None
    """The answer to the agent's requests for permission. `--permissions` overrides it."""
    authenticate: str | None = Field(default=None, min_length=1)
    """The id of the method by which to authenticate before the session begins. The agent names its methods."""
    mode: str | None = Field(default=None, min_length=1)
    """The id of the mode that each session is put into."""
    options: dict[str, str | bool] = Field(default_factory=dict)
    """Values of options of each session, such as `model`, by the ids that the agent gives them."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Variables to set; `${NAME}` stands for a variable of Viva's environment. Paths are relative to the file."""


@dataclass(frozen=True, slots=True)
class AcpSetting:
    """The setting of one agent, the same for all of its runs."""

    command: CommandLine
    keys: AcpKeys = field(repr=False)
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Environment variables to set for the agent's program."""
    memory_mb: int | None = None
    """Maximum address space of each of its processes, in MiB."""

"""Reads the environment variables that an agent file sets for its program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viva.adapters.connectors.agent_file import AgentFile
from viva.adapters.connectors.command.command_line import absolute

KEY = "environment"


def read_variables(file: AgentFile[Any], given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to set, with `${NAME}` replaced, and the paths of existing files and folders absolute.

    Args:
        file: The agent file.
        given: The values of its key `environment`.

    Raises:
        SetupError: a name cannot be one of a variable, a value has a NUL, or a variable that it names is not set.
    """
    for name, value in given.items():
        if not name or "=" in name or "\0" in name + value:
            raise file.mistake(f"{name!r} cannot be the name of a variable, or its value has a NUL.", KEY)
    return {name: absolute(file.expanded(value, KEY, name), file.folder) for name, value in given.items()}

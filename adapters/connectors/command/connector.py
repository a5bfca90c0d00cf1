"""The connector to programs: `cmd:COMMAND`, `cmd+plain:COMMAND`, or an agent file with `connector: cmd`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import ClassVar

from viva.adapters.connectors.agent_file import AgentFile, ConnectorKeys
from viva.adapters.connectors.command.command_line import CommandLine, read_command
from viva.adapters.connectors.command.json_lines import JsonLinesAgent
from viva.adapters.connectors.command.keys import JSON, JSON_KEYS, PLAIN, PLAIN_KEYS, CommandKeys
from viva.adapters.connectors.command.plain import TerminalAgent
from viva.adapters.connectors.command.program_agent import ProgramAgent, ProgramPlan
from viva.adapters.connectors.command.variables import read_variables
from viva.adapters.connectors.loaded_agent import LoadedAgent, file_digest
from viva.errors import SetupError

KIND = "cmd"


class CommandConnector:
    """Connects to a program that answers in JSON, one object per line, or, with `cmd+plain`, in text on a terminal."""

    keys: ClassVar[type[ConnectorKeys]] = CommandKeys

    def load(self, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Load `cmd:COMMAND` or `cmd+plain:COMMAND`.

        Raises:
            SetupError: the command has no words, its quotes do not match, or its program cannot be run.
        """
        name, _, command = spec.partition(":")
        if not command.strip():
            raise SetupError(f"{spec!r} names no program; write {name}:COMMAND, as in {name}:node my_agent.js.")
        keys = CommandKeys(command=command, mode=PLAIN if name.endswith("+plain") else JSON)
        return self.load_file(AgentFile.of_spec(spec, keys), isolate=isolate, memory_mb=memory_mb)

    def load_file(self, file: AgentFile[CommandKeys], *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
        """Make an agent of the keys.

        Raises:
            SetupError: the program cannot be run, or a key has a wrong value or belongs to the other mode.
        """
        if sys.platform == "win32":
            raise SetupError("an agent that is a program requires Linux or macOS.")
        keys = file.keys
        _check_mode(file)
        line = read_command(keys.command, file.folder, lambda words: file.mistake(f"{words}.", "command"))
        variables = read_variables(file, keys.environment)
        plan = ProgramPlan(line.program, line.words, keys, _folder(file), variables, memory_mb)
        kind: type[ProgramAgent] = TerminalAgent if keys.mode == PLAIN else JsonLinesAgent
        factory = type(kind.__name__, (kind,), {"plan": plan})
        return LoadedAgent(file.spec, _name(line), factory, kind=KIND, digest=file_digest(line.script))


def _check_mode(file: AgentFile[CommandKeys]) -> None:
    keys = file.keys
    for name in PLAIN_KEYS if keys.mode == JSON else JSON_KEYS:
        if name in keys.model_fields_set:
            other = PLAIN if keys.mode == JSON else JSON
            raise file.mistake(f"{name} belongs to mode {other}; this program has mode {keys.mode}.", name)
    if keys.prompt is not None:
        try:
            re.compile(keys.prompt)
        except re.error as error:
            raise file.mistake(f"prompt is not a regular expression: {error}.", "prompt") from None
        if re.search(f"(?:{keys.prompt})\\Z", "") is not None:
            raise file.mistake("prompt matches an empty text, so that every reply would end at once.", "prompt")


def _folder(file: AgentFile[CommandKeys]) -> str | None:
    if file.keys.folder is None:
        return None
    folder = os.path.abspath(file.folder / Path(file.keys.folder).expanduser())
    if not os.path.isdir(folder):
        raise file.mistake(f"there is no folder {file.keys.folder}.", "folder")
    return folder


def _name(line: CommandLine) -> str:
    """Return the name of the script, or else of the program."""
    return os.path.basename(line.script or line.words[0])

"""The connectors by name: how each is told to reach a player, and how each ends what players do wrong."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.environments import python_of
from viva.records.run_record import Outcome

PLAYERS = Path(__file__).with_name("players")
OPEN = """\
connector: http
api: json
url: {url}
open: {{path: /sessions, body: {{start: "{{{{ config_var.start | default('') }}}}"}}, session_id: id}}
request: {{path: "/sessions/{{{{ session_id }}}}", body: {{say: "{{{{ message }}}}"}}}}
reply: {{text: data.text, error: error.message}}
close: {{method: DELETE, path: "/sessions/{{{{ session_id }}}}"}}
"""
TERMINAL = "connector: cmd\nmode: plain\ncommand: {command}\nprompt: '^> '\n"
STREAMED = "connector: http\nurl: {url}/v1\nmodel: conformance\nstream: true\n"


@dataclass(frozen=True)
class Ending:
    """How runs with a fault end."""

    outcome: Outcome = Outcome.TARGET_ERROR
    timeout: bool = False
    words: bool = True
    """Whether the agent could say something, so that its own words must be kept."""


SCORED = Ending(Outcome.SCORED)
ERROR = Ending()
SILENT = Ending(words=False)
TIMEOUT = Ending(timeout=True)
SILENT_TIMEOUT = Ending(timeout=True, words=False)

STARTS = {"start-crash": ERROR, "start-hang": TIMEOUT, "start-slow": SCORED}
REPLIES = {
    "huge": SCORED,
    "hang": TIMEOUT,
    "die": ERROR,
    "garbage": ERROR,
    "bytes": ERROR,
    "alien": ERROR,
    "cut": ERROR,
    "flood": ERROR,
}
OF_CLASSES = {**STARTS, **REPLIES, "garbage": SILENT, "alien": SILENT}
"""What is wrong with a value that is no text, and with an exception that has no text, Viva says in its own words."""
IN_PROCESS = {**OF_CLASSES, "bytes": SILENT, "hang": SILENT_TIMEOUT, "start-hang": SILENT_TIMEOUT}
OF_PROCESSES = {**OF_CLASSES, "cut": TIMEOUT}
"""A process that closes its connection and lives is waited for."""
OF_PROGRAMS = {**STARTS, "start-garbage": ERROR, **REPLIES}
OF_ACP = {**OF_PROGRAMS, "start-garbage": SCORED, "garbage": SCORED, "start-version": SILENT}
"""A few lines that are no messages do no harm."""
OF_TERMINALS = {**STARTS, **REPLIES, **dict.fromkeys(("garbage", "bytes", "alien"), SCORED)}
"""Whatever is printed is a reply."""
OF_SERVERS = {**REPLIES, "slow": SCORED, "refuse": ERROR, "hang": SILENT_TIMEOUT, "die": SILENT}
OF_APIS = {**STARTS, "start-hang": SILENT_TIMEOUT, "start-garbage": ERROR, **OF_SERVERS, "alien": SILENT}
"""An answer in which the mapping finds no text is shown by its structure."""


@dataclass(frozen=True)
class Connection:
    """One way to reach an agent."""

    name: str
    player: str
    """A class as `file.py:Name`, or the kind of a program or server."""
    endings: Mapping[str, Ending]
    options: tuple[str, ...] = ()
    served: str = ""
    """The script of the server; none for a class or a program."""
    phases: tuple[str, ...] = ("open", "reply", "close", "judge")
    environment: str = ""
    """The environment of the server."""
    agent_file: str = ""

    @contextmanager
    def reached(self, folder: Path, venv: Path, variables: Mapping[str, str]) -> Iterator[list[str]]:
        """Start the server if there is one; yield the options of `viva suite` that name the agent."""
        if self.served:
            with _served(self, folder, variables) as address:
                yield ["--agent", self._spec(folder, address, url=address), *self.options]
        elif ".py:" in self.player:
            yield ["--agent", f"{PLAYERS / self.player}".replace("VENV", str(venv)), *self.options]
        else:
            connector, kind = self.player.split()
            command = f"{shlex.quote(sys.executable)} {shlex.quote(str(PLAYERS / 'faulty_program.py'))} {kind}"
            yield ["--agent", self._spec(folder, f"{connector}:{command}", command=command), *self.options]

    def _spec(self, folder: Path, spec: str, **values: str) -> str:
        if not self.agent_file:
            return spec
        file = folder / "agent.yaml"
        file.write_text(self.agent_file.format(**values))
        return str(file)


@contextmanager
def _served(connection: Connection, folder: Path, variables: Mapping[str, str]) -> Iterator[str]:
    python = str(python_of(connection.environment)) if connection.environment else sys.executable
    command = [python, str(PLAYERS / connection.served), *connection.player.split()]
    with (folder / "server.err").open("wb") as errors, subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, **variables}
    ) as server:  # fmt: skip
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()


HTTP = ("reply", "judge")
ASYNC = ("reply", "close", "judge")
"""A constructor on the loop that waits would block Viva."""
SERVER = "faulty_server.py"
CONNECTIONS = {
    each.name: each
    for each in (
        Connection("in-process", "faulty_classes.py:InProcess", IN_PROCESS),
        Connection("on-the-loop", "faulty_classes.py:OnTheLoop", {**IN_PROCESS, "start-hang": ERROR}, phases=ASYNC),
        Connection("ready-process", "faulty_classes.py:OwnProcess", OF_PROCESSES, ("--isolate",)),
        Connection("new-process", "not_forked.py:OwnProcess", OF_PROCESSES, ("--isolate",)),
        Connection("environment", "faulty_classes.py:OwnProcess@VENV", OF_PROCESSES),
        Connection("command", "cmd json_lines", OF_PROGRAMS),
        Connection("terminal", "cmd+plain terminal", OF_TERMINALS, agent_file=TERMINAL),
        Connection("acp", "acp acp_agent", OF_ACP),
        Connection("chat", "chat_server", OF_SERVERS, served=SERVER, phases=HTTP),
        Connection("streamed", "streamed", OF_SERVERS, served=SERVER, phases=HTTP, agent_file=STREAMED),
        Connection("responses", "responses_server", OF_SERVERS, served=SERVER, phases=HTTP),
        Connection("json-api", "json_api_server", OF_APIS, served=SERVER, agent_file=OPEN),
        Connection("a2a", "", OF_SERVERS, served="faulty_a2a.py", phases=HTTP, environment="a2a"),
    )
}

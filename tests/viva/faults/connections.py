"""The connectors by name: how each is told to reach a player, and how each ends what players do wrong."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.environments import python_of
from viva.records.run_record import Outcome

PLAYERS = Path(__file__).with_name("players")
OPEN = """\
connector: http
api: json
url: {url}
open: {{path: /sessions, body: {{start: "{{{{ config_var.start }}}}"}}, session_id: id}}
request: {{path: "/sessions/{{{{ session_id }}}}", body: {{say: "{{{{ message }}}}"}}}}
reply: {{text: data.text, error: error.message}}
close: {{method: DELETE, path: "/sessions/{{{{ session_id }}}}"}}
"""
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
OF_SERVERS = {**REPLIES, "slow": SCORED, "refuse": ERROR, "hang": SILENT_TIMEOUT, "die": SILENT}


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
            python = str(python_of(self.environment)) if self.environment else sys.executable
            command = [python, str(PLAYERS / self.served), *self.player.split()]
            environment = {**os.environ, **variables}
            with (folder / "server.err").open("wb") as errors, subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            ) as server:  # fmt: skip
                assert server.stdout is not None
                try:
                    yield ["--agent", self._spec(server.stdout.readline().strip(), folder), *self.options]
                finally:
                    server.kill()
        elif ".py:" in self.player:
            yield ["--agent", f"{PLAYERS / self.player}".replace("VENV", str(venv)), *self.options]
        else:
            connector, kind = self.player.split()
            program = f"{shlex.quote(sys.executable)} {shlex.quote(str(PLAYERS / 'faulty_program.py'))} {kind}"
            yield ["--agent", f"{connector}:{program}", *self.options]

    def _spec(self, printed: str, folder: Path) -> str:
        if not self.agent_file:
            return printed
        file = folder / "agent.yaml"
        file.write_text(self.agent_file.format(url=printed))
        return str(file)


OF_PROCESSES = {**STARTS, **REPLIES}
HTTP = ("reply", "judge")
CONNECTIONS = (
    Connection("in-process", "faulty_classes.py:InProcess", OF_PROCESSES),
    Connection("on-the-loop", "faulty_classes.py:OnTheLoop", OF_PROCESSES),
    Connection("ready-process", "faulty_classes.py:OwnProcess", OF_PROCESSES, ("--isolate",)),
    Connection("new-process", "not_forked.py:OwnProcess", OF_PROCESSES, ("--isolate",)),
    Connection("environment", "faulty_classes.py:OwnProcess@VENV", OF_PROCESSES),
    Connection("command", "cmd json_lines", OF_PROCESSES),
    Connection("terminal", "cmd+plain terminal", OF_PROCESSES),
    Connection("acp", "acp acp_agent", OF_PROCESSES),
    Connection("chat", "chat_server", OF_SERVERS, served="faulty_server.py", phases=HTTP),
    Connection("streamed", "streamed", OF_SERVERS, served="faulty_server.py", phases=HTTP, agent_file=STREAMED),
    Connection("responses", "responses_server", OF_SERVERS, served="faulty_server.py", phases=HTTP),
    Connection("json-api", "json_api_server", {**STARTS, **OF_SERVERS}, served="faulty_server.py", agent_file=OPEN),
    Connection("a2a", "", OF_SERVERS, served="faulty_a2a.py", phases=HTTP, environment="a2a"),
)

"""The client's side of a session: answers what the agent requests, within its workspace and the run's policy.

Viva records each request that it serves as an environment step.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from acp.exceptions import RequestError
from acp.meta import CLIENT_METHODS

from viva.adapters.connectors.acp.parameters import Params, command_in, count_in, variables_in
from viva.adapters.connectors.acp.permissions import Policy, choose_option
from viva.adapters.connectors.acp.terminals import CUT_OFF, OVER, Terminal, TerminalRefused, Terminals
from viva.adapters.connectors.acp.turn import TurnLog
from viva.adapters.connectors.acp.variables import RecordedVariables, recorded_variables
from viva.adapters.connectors.workspace_files import (
    CheckedFolder,
    FileRefused,
    folder_inside,
    read_text,
    write_text,
)
from viva.adapters.environment import EnvironmentLog
from viva.errors import MachineError
from viva.records.text import one_line
from viva.records.trajectory import CWD
from viva.records.transcript import Step, StepKind

UPDATE = CLIENT_METHODS["session_update"]
PERMISSION = CLIENT_METHODS["session_request_permission"]
READ, WRITE = CLIENT_METHODS["fs_read_text_file"], CLIENT_METHODS["fs_write_text_file"]
TERMINAL = CLIENT_METHODS["terminal_create"]
NO_ATTRIBUTES: Mapping[str, Any] = MappingProxyType({})
COMMAND_SHOWN = 200
"""Maximum number of characters by which further output names its command."""


class SessionClient:
    """Serves one session of an agent."""

    def __init__(self, workspace: Path, policy: Policy, log: TurnLog, environment: EnvironmentLog) -> None:
        """Args:
        workspace: The run's folder, absolute. No file outside of it is read or written.
        policy: What the agent may do.
        log: Takes what the agent reports.
        environment: Takes what Viva saw itself.
        """
        self.session: str | None = None
        """The session whose updates are noted; None if there is none, or while one is being loaded."""
        self.user_messages = 0
        """Number of the user's messages that were repeated while a session was being loaded."""
        self._repeated: object = None
        self._workspace = workspace
        self._policy = policy
        self._log = log
        self._environment = environment
        self._terminals = Terminals()
        self._variables = RecordedVariables()
        self._running: dict[str, _OpenCommand] = {}
        """The terminals whose ends were not recorded yet."""
        self._over = False
        """Whether the conversation has ended, so that nothing is served any more."""
        self._waiting: set[asyncio.Future[Any]] = set()
        self._served: dict[str, Callable[[Params], Awaitable[Any]]] = {
            PERMISSION: self._permit,
            READ: self._read,
            WRITE: self._write,
            TERMINAL: self._create,
            CLIENT_METHODS["terminal_output"]: self._output,
            CLIENT_METHODS["terminal_wait_for_exit"]: self._wait,
            CLIENT_METHODS["terminal_kill"]: self._kill,
            CLIENT_METHODS["terminal_release"]: self._release,
        }

    @property
    def capabilities(self) -> dict[str, Any]:
        """Return the capabilities that are offered to the agent: all that the policy does not deny."""
        files = {"readTextFile": self._policy.allows("read"), "writeTextFile": self._policy.allows("edit")}
        return {"fs": files, "terminal": self._policy.allows("execute")}

    async def handle(self, method: str, params: object, is_notification: bool) -> Any:
        """Process one message of the agent.

        Raises:
            RequestError: the agent gets this error as its answer.
        """
        given = params if isinstance(params, Mapping) else {}
        if method == UPDATE:
            return self._note(given)
        if is_notification:
            return None
        serve = self._served.get(method)
        if serve is None:
            raise RequestError.method_not_found(method)
        if self._over:
            raise RequestError.invalid_request({"details": OVER})
        if self.session is None or given.get("sessionId") != self.session:
            raise RequestError.invalid_params({"details": "there is no such session"})
        if not self._environment.has_room:
            full = "too much was served in this run to record more"
            raise RequestError.internal_error({"details": OVER if self._environment.ended else full})
        try:
            return await serve(given)
        except FileRefused as error:
            raise RequestError(-32002 if error.missing else -32602, str(error)) from error
        except TerminalRefused as error:
            raise RequestError(-32602, str(error)) from error
        except MachineError as error:
            raise RequestError.internal_error({"details": str(error)}) from error

    def note_running(self) -> None:
        """Record the commands that still run at the end of a turn, and what those that were recorded wrote since."""
        for name, running in self._running.items():
            if running.step is None or running.terminal.written > running.noted:
                self._record_terminal(name, running)

    def refuse(self) -> None:
        """Serve nothing from now on: the conversation has ended, and what is done now would be in no round."""
        self._over = True

    async def close(self) -> None:
        """End all terminals, and make none from now on. The connection to the agent has been closed before."""
        for name, running in self._running.items():
            if running.step is None:  # it began after the last turn, and is in no round yet
                self._record_terminal(name, running)
        self._running.clear()
        for waiting in self._waiting:
            waiting.cancel()
        await self._terminals.close()

    def _note(self, params: Params) -> None:
        update = params.get("update")
        if not isinstance(update, Mapping):
            return
        if self.session is None:
            self._count_repeated(update)
        elif params.get("sessionId") == self.session:
            self._log.note(update)

    def _count_repeated(self, update: Params) -> None:
        kind = update.get("sessionUpdate")
        same = kind == "user_message_chunk" and self._repeated == (kind, update.get("messageId"))
        if kind == "user_message_chunk" and not same:
            self.user_messages += 1
        self._repeated = (kind, update.get("messageId"))

    async def _permit(self, params: Params) -> Any:
        call = params.get("toolCall")
        call = call if isinstance(call, Mapping) else {}
        if call:  # it also tells more about the call
            self._log.note({**call, "sessionUpdate": "tool_call_update"})
        decision = self._policy.decide(call.get("kind") or self._log.kind_of(call.get("toolCallId")))
        chosen = choose_option(params.get("options"), decision)
        words = f"{decision}: the agent offered no such option" if chosen is None else f"{decision}: {chosen}"
        asked = {key: call[key] for key in ("toolCallId", "title", "kind", "rawInput") if call.get(key) is not None}
        self._record(PERMISSION, asked, time.time(), words)
        if chosen is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    async def _read(self, params: Params) -> Any:
        line, limit = count_in(params, "line"), count_in(params, "limit")
        asked = {key: params[key] for key in ("path", "line", "limit") if params.get(key) is not None}
        with _Recorded(self, READ, asked) as step:
            step.require(self._policy.allows("read"))
            step.result = await asyncio.to_thread(read_text, self._workspace, params.get("path"), line, limit)
        return {"content": step.result}

    async def _write(self, params: Params) -> Any:
        text = params.get("content")
        if not isinstance(text, str):
            raise RequestError.invalid_params({"details": "content is not text"})
        with _Recorded(self, WRITE, {"path": params.get("path"), "content": text}) as step:
            step.require(self._policy.allows("edit"))
            await asyncio.to_thread(write_text, self._workspace, params.get("path"), text)
        return {}

    async def _create(self, params: Params) -> Any:
        command, folder, variables = command_in(params), params.get("cwd"), variables_in(params)
        asked = {"command": shlex.join(command)}
        # Variables decide what is run, as the command does: PATH, or a text for the shell to evaluate.
        how = {**({} if folder is None else {CWD: folder}), **recorded_variables(variables, command)}
        with _Recorded(self, TERMINAL, asked, how, only_errors=True) as step:
            step.require(self._policy.allows("execute"))
            where = CheckedFolder(self._workspace) if folder is None else folder_inside(self._workspace, folder)
            most = count_in(params, "outputByteLimit")
            name, terminal = await self._terminals.create(command, where, variables, most)
        self._running[name] = _OpenCommand(terminal, asked, how, step.started)
        waiting = asyncio.ensure_future(self._record_end(name, terminal))
        self._waiting.add(waiting)
        waiting.add_done_callback(self._waiting.discard)
        return {"terminalId": name}

    async def _record_end(self, name: str, terminal: Terminal) -> None:
        await terminal.wait()
        if (running := self._running.pop(name, None)) is not None:
            self._record_terminal(name, running)

    def _record_terminal(self, name: str, running: _OpenCommand) -> None:
        terminal, status = running.terminal, running.terminal.exit_status
        output, cut = terminal.written_since(running.noted)
        running.noted = terminal.written
        facts = {"terminal": name, "truncated": cut, **({"running": True} if status is None else status)}
        if running.step is None:
            facts = {**running.how, **facts}
            running.step = self._record(TERMINAL, running.asked, running.started, output, facts)
            return
        # No second call: the rounds with the first step have been delivered, and this is what came since.
        words = f"further output of a command that began earlier: {one_line(running.asked['command'], COMMAND_SHOWN)}"
        self._record(None, None, time.time(), output, facts, parent_id=running.step, observation=words)

    async def _output(self, params: Params) -> Any:
        terminal = self._terminals.find(params.get("terminalId"))
        return {"output": terminal.output, "truncated": terminal.cut, "exitStatus": terminal.exit_status}

    async def _wait(self, params: Params) -> Any:
        terminal = self._terminals.find(params.get("terminalId"))
        await terminal.wait()
        return terminal.exit_status

    async def _kill(self, params: Params) -> Any:
        await self._terminals.find(params.get("terminalId")).kill()
        return {}

    async def _release(self, params: Params) -> Any:
        await self._terminals.release(params.get("terminalId"))
        return {}

    def _record(
        self,
        tool: str | None,
        asked: Any,
        started: float,
        result: str | None,
        attributes: Mapping[str, Any] = NO_ATTRIBUTES,
        **fields: Any,
    ) -> str:
        step = self._environment.record(
            Step(
                "",
                StepKind.ACTION,
                tool=tool,
                tool_input=asked,
                result=result,
                started=started,
                seconds=max(0.0, time.time() - started),
                attributes=self._variables.named_once(attributes),
                **fields,
            )
        )
        if tool == TERMINAL:
            self._variables.add(attributes, f"step {step}, {one_line(asked['command'], COMMAND_SHOWN)}")
        return step


@dataclass(slots=True)
class _OpenCommand:
    terminal: Terminal
    asked: dict[str, Any]
    how: dict[str, Any]
    """Its folder and its variables, as they are recorded."""
    started: float
    step: str | None = None
    """The id of the step with the call; None if it was not recorded yet."""
    noted: int = 0
    """How many bytes of its output were recorded."""


class _Recorded:
    """Records what is done in a block, also if it is refused."""

    def __init__(
        self,
        client: SessionClient,
        tool: str,
        asked: Any,
        attributes: Mapping[str, Any] = NO_ATTRIBUTES,
        *,
        only_errors: bool = False,
    ) -> None:
        self._client, self._tool, self._asked, self._only_errors = client, tool, asked, only_errors
        self._attributes = attributes
        self.started = time.time()
        self.result: str | None = None

    def require(self, allowed: bool) -> None:
        """Refuse what the policy denies.

        Raises:
            FileRefused: it denies this.
        """
        if not allowed:
            raise FileRefused("the permissions of this session deny it")

    def __enter__(self) -> _Recorded:
        return self

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if error is not None:
            words = CUT_OFF if isinstance(error, asyncio.CancelledError) else str(error)
            self._record(None, error=words)
        elif not self._only_errors:
            self._record(self.result)

    def _record(self, result: str | None, error: str | None = None) -> None:
        self._client._record(self._tool, self._asked, self.started, result, self._attributes, error=error)

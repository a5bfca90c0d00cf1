"""One agent in its own process: starts, constructs, closes and kills it, and exchanges messages with it."""

from __future__ import annotations

import asyncio
import base64
import json
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from viva.adapters.calls import in_words
from viva.adapters.connectors.child.location import Location, setup_words
from viva.adapters.connectors.child.process import ChildProcess
from viva.adapters.connectors.child.ready import ReadyProcesses, started_in
from viva.adapters.connectors.child.supervised import ChildEnded
from viva.adapters.contract import ConnectedAgent
from viva.adapters.machine import MORE_THREADS
from viva.adapters.observed import read_observed
from viva.adapters.printed import STREAMS, texts_of
from viva.adapters.time_limits import time_limit
from viva.errors import AgentError, AgentTimeout, MachineError, SetupError
from viva.records.bounded_json import parse
from viva.records.codec import decode
from viva.records.transcript import Reply

CLOSE_SECONDS = 15.0
"""Maximum duration of the agent's `close`, after which its processes are killed. Within `session.CLOSE_SECONDS`."""
HUNG_CLOSE_SECONDS = 5.0
"""The maximum for an agent that is still busy with a reply."""
SHORTAGE = re.compile(r"can't start new thread|Resource temporarily unavailable|Cannot allocate memory|MemoryError")
"""What an interpreter prints that the system gives no thread, process or memory."""
LOAD_SECONDS = 300.0
"""Maximum duration of the agent's first import."""


class ChildAgent(ConnectedAgent):
    """One agent in one process. It has the methods of a VirtualUser, and a subclass for each agent."""

    forwards_settings: ClassVar[bool] = True
    """Whether the constructor of the agent in the other process is given the settings of the SPEC."""
    location: ClassVar[Location]
    ready: ClassVar[ReadyProcesses]

    def __init__(
        self,
        task_description: str,
        app_dir: str | None = None,
        config_var: Mapping[str, Any] | None = None,
        workspace: Path | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._arguments: dict[str, Any] = {"task_description": task_description, "app_dir": app_dir}
        self._arguments["workspace"] = None if workspace is None else str(workspace)
        self._arguments["config_var"] = None if config_var is None else _pickled(config_var)
        if settings:
            self._arguments["settings"] = dict(settings)
        self._child: ChildProcess | None = None
        self._made = False
        self._told = False
        """Whether the end of its process has been reported."""
        self._stateful = False
        """Whether the agent offers its state."""
        self._tells = False
        """Whether the agent tells what it did for a message that it did not answer."""
        self.workspace: Path | None = None

    async def open(self, seconds: float) -> None:
        """Construct the agent in a ready process, or start one.

        Raises:
            SetupError: the interpreter does not exist.
            MachineError: the system has no process, thread, memory or file left for it.
            AgentTimeout: the import and the construction took longer than `seconds`; the wait for an interpreter, if
                many start at the same time, does not count.
            AgentError: the construction failed, or killed the process.
        """
        started = False
        try:
            self._child = await self.ready.take(self._start_ahead)
            is_ready = self._child is not None
            where = started_in()
            if not is_ready:
                await self.start()
            started = True
            async with time_limit(seconds):
                if not is_ready:
                    await self._load_here(where)
                made = await self._ask("make", **self._arguments)
                folder, self._stateful = made.get("workspace"), made.get("stateful") is True
                self._tells = made.get("tells") is True
            if not isinstance(folder, str | None):
                raise AgentError("its process sent a workspace that is not a path")
        except BaseException as error:
            await self._end()
            if isinstance(error, SetupError) and not isinstance(error, MachineError) and started:
                # The class was valid when Viva checked it. From here on, the agent's process may send anything.
                raise AgentError(f"its construction failed: {error}") from error
            if isinstance(error, TimeoutError):
                raise AgentTimeout(f"its construction did not end within {seconds:g} s") from None
            if isinstance(error, AgentError):
                raise AgentError(f"its construction failed: {error}") from error
            raise
        self._made = True
        self.workspace = None if folder is None else Path(folder)

    async def _load_here(self, where: dict[str, Any]) -> None:
        """Import the class in the new process, which is forked for this run and the next ones if it may be."""
        if not may_fork(await self.load()):
            self.ready.start_ahead(self._start_ahead)
            return
        if self.ready.can_fork or self._child is None:
            return
        self.ready.keep(self._child, forks=True, **where)
        self._child = await self.ready.take(self._start_ahead)
        if self._child is None:
            await self.start()
            await self.load()

    @classmethod
    async def _start_ahead(cls) -> None:
        """Start a process for a later run."""
        await cls("").stand_ready()

    async def stand_ready(self) -> dict[str, Any]:
        """Start a process, import the class there, and keep it for runs; return what `load` does.

        Raises:
            SetupError: as in `load`.
            AgentTimeout: the import did not end in time.
            AgentError: the import killed the process.
        """
        where = started_in()
        try:
            await self.start()
            async with time_limit(LOAD_SECONDS):
                found = await self.load()
            if self._child is not None and self._child.answers:
                self.ready.keep(self._child, forks=may_fork(found), **where)
                self._child = None
            return found
        except TimeoutError:
            words = f"importing {self.location.module} did not end within {LOAD_SECONDS:g} s"
            raise AgentTimeout(words) from None
        finally:
            await self._end()

    async def start(self) -> None:
        """Start the interpreter.

        Raises:
            SetupError: the interpreter does not exist.
            MachineError: the system has no process, thread, memory or file left for it.
        """
        self._child = await ChildProcess.start(self.location.python, self.location.memory_mb)

    async def load(self) -> dict[str, Any]:
        """Import the class in the process; return its `version`, its module `path`, its `prefix` and its `file`.

        Raises:
            SetupError: the class or its method does not exist.
            AgentError: the import killed the process.
        """
        module = self.location.module
        if module.endswith(".py"):
            module = str(Path(module).resolve())
        return await self._ask("load", module=module, name=self.location.name)

    async def get_reply_from_agent(self, message: str, verbose: bool = False) -> str | Reply:
        """Send the message to the agent and return its reply.

        Raises:
            AgentError: the agent raised an exception, its process died, or it did not return a reply.
        """
        return _read_reply(await self._ask("reply", message=message, verbose=verbose))

    async def reply_so_far(self) -> str | Reply | None:
        """Return what the agent tells of a message that it did not answer; None if it does not.

        Raises:
            AgentError: it failed, too, or its process has ended.
        """
        answer = await self._ask("reply_so_far") if self._tells else {}
        return _read_reply(answer) if answer.keys() & {"reply", "observed"} else None

    async def save_state(self) -> Any:
        """Return the agent's present state; None if it offers none.

        Raises:
            AgentError: its `save_state` failed, or returned what cannot be stored.
        """
        answer = await self._ask("save_state") if self._stateful else {}
        if (text := answer.get("state")) is None:
            return None
        try:
            return await parse(str(text).encode())
        except ValueError as error:
            raise AgentError(f"save_state returned something that cannot be stored: {error}") from error

    async def load_state(self, state: Any) -> None:
        """Have the agent continue from a state.

        Raises:
            NotImplementedError: the agent cannot load a state.
            AgentError: its `load_state` failed.
        """
        if not self._stateful or (await self._ask("load_state", state=json.dumps(state))).get("offered") is False:
            raise NotImplementedError

    async def load_conversation(self, messages: Any) -> None:
        """Give the agent the conversation that the case begins with.

        Raises:
            NotImplementedError: the agent takes none.
            AgentError: its `load_conversation` failed.
        """
        if (await self._ask("load_conversation", messages=json.dumps(messages))).get("offered") is False:
            raise NotImplementedError

    async def close(self) -> None:
        """Close the agent, then kill its process and everything that it left behind.

        Raises:
            AgentError: the agent's `close` raised an exception or took too long, or a process could not be killed.
        """
        trouble = None
        try:
            trouble = await self._close_agent()
        finally:
            left = await self._end()
        if trouble or left:
            raise AgentError("; ".join(words for words in (trouble, left) if words))

    async def _close_agent(self) -> str | None:
        if self._child is None or not self._made:
            return None
        self._made = False
        seconds = HUNG_CLOSE_SECONDS if self._child.busy else CLOSE_SECONDS
        try:
            async with time_limit(seconds):
                await self._ask("close")
        except TimeoutError:
            return f"it did not end within {seconds:g} s"
        except ChildEnded as error:
            return None if self._told else str(error)
        except AgentError as error:
            return str(error)
        return None

    async def _end(self) -> str | None:
        if self._child is None:
            return None
        # Continues even if nobody waits any longer, because processes would otherwise be left.
        child, self._child = self._child, None
        left = await asyncio.shield(asyncio.ensure_future(child.end()))
        self.printed = texts_of(dict(zip(STREAMS, child.printed, strict=True)), child.cut)
        return left

    async def _ask(self, do: str, **request: Any) -> dict[str, Any]:
        if self._child is None:
            raise AgentError("its process has ended")
        try:
            answer = await self._child.ask(do, **request)
        except ChildEnded as error:
            self._told = self._told or do != "close"
            if not self._child.begun:
                short = f". {MORE_THREADS}" if SHORTAGE.search(str(error)) else ""
                raise MachineError(f"the agent's process ended before the agent's code ran: {error}{short}") from error
            raise
        if (setup := answer.get("setup")) is not None:
            raise SetupError(setup_words(self.location, setup))
        if (kind := answer.get("error")) is not None:
            text, at = answer.get("text"), answer.get("at")
            raise AgentError(in_words(str(kind), None if text is None else str(text), None if at is None else str(at)))
        if (words := answer.get("words")) is not None:
            raise AgentError(str(words))
        return answer


def _read_reply(answer: Mapping[str, Any]) -> str | Reply:
    text = answer.get("text")
    if isinstance(text, str):
        return text
    if "observed" in answer:
        return read_observed(answer["observed"])
    try:
        return decode(Reply, answer.get("reply"))
    except ValueError as error:
        raise AgentError(f"get_reply_from_agent returned a Reply that cannot be read: {error}") from error


def child_class(location: Location) -> type[ChildAgent]:
    """Return the class of the agents at a location."""
    return type(location.name, (ChildAgent,), {"location": location, "ready": ReadyProcesses()})


def may_fork(loaded: dict[str, Any]) -> bool:
    """Return whether a process may be forked, from its answer to `load`."""
    return loaded.get("why_not_forked") == ""


def _pickled(config: Mapping[str, Any]) -> str:
    try:
        return base64.b64encode(pickle.dumps(dict(config), 4)).decode()
    except Exception as error:
        raise SetupError(f"config_var cannot be sent to another process: {error}.") from error

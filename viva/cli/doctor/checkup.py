"""Starts an agent, sends it one message, closes it, and notes what was seen: times, offers, and what failed and why.

It prints nothing, and stores nothing: the workspace is removed.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from viva.adapters.agent_state import offers_state, save_state
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.contract import ConnectedAgent
from viva.adapters.printed import keep_printed
from viva.adapters.session import AgentArguments, AgentSession, open_session
from viva.errors import AgentError, AgentTimeout, MachineError, SetupError, WorkspaceError
from viva.exam.options import Options
from viva.exam.resources import load_with
from viva.records.redact import redact
from viva.records.transcript import Reply

T = TypeVar("T")

MESSAGE = "Hello! Please answer in one short sentence."
TASK = "Say hello to the agent, and end the conversation after its first reply."
MOST_FILES = 10_000
"""Maximum number of files of the agent that are counted."""
NO_STATE = "not offered"


@dataclass(frozen=True, slots=True)
class CheckupFailure:
    """Where the exchange ended, why, and what to do."""

    at: str
    """`loading`, `opening`, `reply` or `closing`."""
    problem: str
    advice: str
    fault: str
    """`agent`, `setup` (the user must change something) or `machine`."""


@dataclass(slots=True)
class AgentCheckup:
    """The results of one exchange; None for what was not reached."""

    spec: str
    message: str
    connector: str | None = None
    runs: str | None = None
    """Where the agent's code runs."""
    version: str | None = None
    model: str | None = None
    facts: dict[str, str] = field(default_factory=dict)
    """What else its connector has found out."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Duration by phase: `loading`, `opening`, `reply`, `closing`."""
    reply: str | None = None
    steps: dict[str, int] | None = None
    """Number of steps by kind."""
    usage: dict[str, int | float] | None = None
    """What it reported; empty if nothing."""
    images: int | None = None
    files: list[str] | None = None
    """The files in its workspace after the reply."""
    state: str | None = None
    """Whether the agent's state can be saved and loaded."""
    printed: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    failures: list[CheckupFailure] = field(default_factory=list)

    @property
    def works(self) -> bool:
        """Return whether the agent can be examined; one that only closes badly can."""
        return all(failure.at == "closing" for failure in self.failures)

    @property
    def machine_failed(self) -> bool:
        """Return whether this machine, and not the agent, was the cause."""
        return any(failure.fault == "machine" for failure in self.failures)


async def check_up(spec: str, message: str, options: Options) -> AgentCheckup:
    """Have one exchange with an agent. Its failures are part of the result.

    Args:
        spec: The agent.
        message: What it is sent.
        options: Of these, those of the agent: time limit, isolation, memory, `app_dir`.
    """
    found = AgentCheckup(spec, message)
    phase = _Phase(found)
    try:
        agent = await phase.take("loading", lambda: asyncio.to_thread(load_with, options, spec))
        _note_agent(agent, found)
        if agent.look is not None:
            await agent.look()
        with TemporaryDirectory(prefix="viva-doctor-", ignore_cleanup_errors=True) as folder, keep_printed() as printed:
            try:
                await _converse(agent, Path(folder).resolve() / "workspace", phase, options)
            finally:
                found.printed = found.printed or printed.texts()
    except (AgentError, SetupError) as error:
        found.failures.insert(0, _failure(phase.name, error, options.reply_seconds, found))
    return found


async def _converse(agent: LoadedAgent, workspace: Path, phase: _Phase, options: Options) -> None:
    found, limit = phase.found, options.reply_seconds
    arguments = AgentArguments(TASK, options.app_dir, None, workspace)
    session = await phase.take("opening", lambda: open_session(agent.factory, arguments, limit, agent.home))
    try:
        found.runs = _where(agent, session)
        if isinstance(session.agent, ConnectedAgent):
            found.facts = dict(session.agent.facts())
        reply = await phase.take("reply", lambda: session.reply(found.message, limit))
        _note_reply(reply, found)
        found.files = await asyncio.to_thread(_files, session.workspace)
        found.state = await _state(session)
    finally:
        began = time.monotonic()
        trouble = await session.close()
        found.seconds["closing"] = time.monotonic() - began
        found.printed = dict(session.printed)
        if trouble is not None:
            advice = "The exam is judged, with a note. Look at what the agent does when it is closed."
            found.failures.append(CheckupFailure("closing", redact(f"the agent's {trouble}"), advice, "agent"))


class _Phase:
    """The phase that is being measured."""

    def __init__(self, found: AgentCheckup) -> None:
        self.found = found
        self.name = "loading"

    async def take(self, name: str, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work of a phase, and note how long it takes."""
        self.name = name
        began = time.monotonic()
        try:
            return await work()
        finally:
            self.found.seconds[name] = time.monotonic() - began


def _note_agent(agent: LoadedAgent, found: AgentCheckup) -> None:
    found.connector, found.version, found.model = agent.kind, agent.version, agent.model
    found.notices = list(agent.notices)


def _where(agent: LoadedAgent, session: AgentSession) -> str:
    if isinstance(session.agent, ConnectedAgent):
        return f"in a process of its own{f' ({agent.python})' if agent.python else ''}"
    if agent.python is not None:
        return "in Viva's process (--isolate gives it one of its own)"
    return {"replay": "nowhere: stored replies are repeated"}.get(agent.kind, "elsewhere: its connector reaches it")


def _note_reply(reply: Reply, found: AgentCheckup) -> None:
    found.reply, found.images, found.steps = reply.text, len(reply.images), {}
    for step in reply.steps:
        found.steps[str(step.kind)] = found.steps.get(str(step.kind), 0) + 1
    usage = reply.usage
    found.usage = {}
    if usage.known:
        tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "calls": usage.calls}
        found.usage = {**tokens, **({} if usage.cost is None else {"cost": usage.cost})}


async def _state(session: AgentSession) -> str:
    if not offers_state(session.agent):
        return NO_STATE
    try:
        state = await save_state(session)
    except AgentError as error:
        return f"offered, but {redact(str(error))}"
    return NO_STATE if state is None else f"offered ({len(state):,} bytes after this exchange)"


def _files(workspace: Path | None) -> list[str]:
    """Return the paths of the files in a folder; no link is followed."""
    names: list[str] = []
    for folder, _, files in os.walk(workspace or ""):
        names += [os.path.relpath(os.path.join(folder, file), workspace) for file in files]
        if len(names) > MOST_FILES:
            break
    return sorted(names)


def _failure(at: str, error: AgentError | SetupError, seconds: float, found: AgentCheckup) -> CheckupFailure:
    problem = redact(str(error))
    if isinstance(error, MachineError):
        return CheckupFailure(at, problem, "This says nothing about the agent. Try again with more room.", "machine")
    if isinstance(error, SetupError):
        folder = "Make room in the folder for temporary files (TMPDIR)." if isinstance(error, WorkspaceError) else ""
        return CheckupFailure(at, problem, folder, "setup")
    advice = _advice(at, error, seconds)
    if found.connector == "cmd" and found.facts.get("mode") == "json" and at == "reply":
        advice = f"{advice} {FOR_PEOPLE}"
    return CheckupFailure(at, problem, advice, "agent")


def _advice(at: str, error: AgentError, seconds: float) -> str:
    if error.unavailable:
        return "Check that the agent is running, and its address, key and model."
    if isinstance(error, AgentTimeout):
        slow = "It may need longer: --reply-timeout sets the limit"
        return f"{slow} ({seconds:g} s now). {WAITS[at]}"
    return ADVICE[at]


FOR_PEOPLE = "A program that is made for people, and does not read JSON, is examined with cmd+plain:COMMAND."
WAITS: Mapping[str, str] = {
    "opening": "Or it waits for something, such as a model that does not answer, or input that nobody gives.",
    "reply": "Or it waits for something; --message TEXT sends it another message.",
}
ADVICE: Mapping[str, str] = {
    "opening": "Repair what its start requires. What it printed, if anything, is shown.",
    "reply": "Repair the agent, or try another message with --message TEXT. What it printed, if anything, is shown.",
}

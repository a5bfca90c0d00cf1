"""What an agent meets beside the examiner in one run: what `pre_command` prepares, and the MCP servers of the case."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.contract import AgentArguments
from viva.adapters.environment import EnvironmentLog
from viva.adapters.mcp_servers.offered import OfferedServers, servers_of
from viva.cases import Case
from viva.cases.mcp_servers.reader import OFFER
from viva.exam.attempt.exam_run import ExamRun
from viva.exam.pre_commands import run_pre_commands
from viva.records.copies import changed
from viva.records.redact import redacted_line
from viva.records.trajectory import is_further_output
from viva.records.transcript import SERVERS, Step, Transcript


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """What one run's agent is constructed with, and what the harness sees of it beside its replies."""

    case: Case
    arguments: AgentArguments
    """The arguments of the agent, which name the MCP servers."""
    log: EnvironmentLog
    """Takes the steps that the harness sees itself."""
    servers: OfferedServers

    def end(self) -> None:
        """Refuse calls from now on: the conversation has ended, and what the agent does later is in no round."""
        self.servers.end()
        self.log.end()

    def described(self, transcript: Transcript) -> Transcript:
        """Return the transcript with the tools of the servers and the notes on them, which are complete at their end.

        A note also names steps that no round can take: of an exam without rounds, or recorded after its end.

        Args:
            transcript: The conversation, as it ended.
        """
        # A transcript without rounds has no last one for its late steps.
        late = (*(() if transcript.rounds else transcript.late_steps), *self.log.take_now())
        if late := tuple(step for step in late if not is_further_output(step)):
            transcript = changed(transcript, notes=(*transcript.notes, _late_words(late)))
        if not self.case.mcp:
            return transcript
        servers = self.servers
        return changed(
            transcript,
            attributes={**transcript.attributes, SERVERS: {name: list(tools) for name, tools in servers.names.items()}},
            tools=(*transcript.tools, *servers.tools),
            notes=(*transcript.notes, *servers.notes),
        )


def _late_words(steps: Sequence[Step]) -> str:
    names = Counter(step.tool or "a step without a tool" for step in steps)
    words = ", ".join(f"{name} ({number})" for name, number in names.items())
    return f"the agent took steps that are in no round: {redacted_line(words, 300)}"


def environment_of(
    run: ExamRun, agent: LoadedAgent, workspace: Path
) -> contextlib.AbstractAsyncContextManager[RunEnvironment]:
    """Run the case's `pre_command` and start its MCP servers; they end with the context.

    Args:
        run: The run; it must have a case.
        agent: The agent that is to meet them.
        workspace: The folder for the agent's files.

    Raises:
        SetupError: a command failed, or a server did not start; nothing has been said to the agent.
    """
    case = run.case
    assert case is not None
    if case.pre_command or case.mcp:
        return _prepared(run, agent, case, workspace)
    return contextlib.nullcontext(_environment(run, agent, case, workspace, EnvironmentLog(), OfferedServers()))


@contextlib.asynccontextmanager
async def _prepared(run: ExamRun, agent: LoadedAgent, case: Case, workspace: Path) -> AsyncIterator[RunEnvironment]:
    await run_pre_commands(case, agent.python, run.resources.options.pre_command_seconds)
    log = EnvironmentLog()
    async with servers_of(case, log) as servers:
        yield _environment(run, agent, case, workspace, log, servers)


def _environment(
    run: ExamRun, agent: LoadedAgent, case: Case, workspace: Path, log: EnvironmentLog, servers: OfferedServers
) -> RunEnvironment:
    given = case.agent_config
    config = {**(given or {}), OFFER: list(servers.config)} if servers.config else given
    app_dir = run.resources.options.app_dir or case.app_dir
    arguments = AgentArguments(case.task_description, app_dir, config, workspace, case.verbose, agent.settings)
    return RunEnvironment(case, arguments, log, servers)

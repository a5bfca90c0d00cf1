"""Builds what exams require from the user's options, and reports every mistake before the first message.

What judging requires is built by `viva.exam.judging.resources`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.connectors.table import load_agent
from viva.adapters.mcp_servers.offered import check_servers
from viva.cases import Case
from viva.errors import SetupError
from viva.exam.agent_health import AgentHealth
from viva.exam.empty_folders import EmptyFolders
from viva.exam.examiners import (
    SCRIPT,
    ChosenExaminer,
    ExaminerFactory,
    choose_examiner,
    library_hashes,
    notices_about_goals,
)
from viva.exam.given import NOTHING, Given
from viva.exam.judging.resources import JudgeResources, build_judge
from viva.exam.options import Options
from viva.exam.requirements.begun_conversations import untaken_conversation
from viva.exam.requirements.check_notices import notices_about_checks
from viva.exam.requirements.dependencies import missing_for_agent
from viva.exam.requirements.descriptors import raise_file_limit
from viva.exam.requirements.threads import check_threads
from viva.examiner import ConversationLimits, Examiner, ExaminerError
from viva.examiner.conversation import DEFAULT_MAX_ROUNDS
from viva.models.roles import NO_ROLE_LIMITS, RoleLimits, parse_role_limits
from viva.records.run_record import Setting

if TYPE_CHECKING:
    from viva.models.client import ModelClient

DEFAULT_AGENT = "example:careful"


@dataclass(slots=True, kw_only=True)
class Resources:
    """Everything that the runs of one worker share. Close it after the last run."""

    options: Options
    judge: JudgeResources
    agents: Mapping[str, LoadedAgent] = field(default_factory=dict)
    """The agents by SPEC; empty if conversations are only judged."""
    cases: Sequence[Case] = ()
    """All cases of the runs."""
    healths: dict[str, AgentHealth] = field(default_factory=dict)
    make_examiner: ExaminerFactory | None = None
    """None if each run brings its own questions."""
    examiner_name: str = "replay"
    examiner_model: ModelClient | None = None
    prefers_scripts: bool = False
    """Whether the script examines the cases that have one."""
    notices: Sequence[str] = ()
    """What the user should know before the exam begins."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    role_limits: RoleLimits = NO_ROLE_LIMITS
    """The limits of models' answers that the user gave."""
    node: str | None = None
    """The name of the cluster's node on which the runs are conducted; None without a cluster."""
    empty_folders: EmptyFolders = field(default_factory=EmptyFolders)
    _limits: tuple[Case, ConversationLimits] | None = field(default=None, init=False, repr=False, compare=False)
    """The case whose limits were asked for last, and these limits."""
    settings: dict[Any, tuple[Case, object, Setting]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """What the settings of trials have in common, with the case and the evaluators for which it was made."""

    def health(self, spec: str) -> AgentHealth:
        """Return the record of how the construction and the runs of an agent went so far."""
        found = self.healths.get(spec)
        if found is None:
            found = self.healths[spec] = AgentHealth(spec)
        return found

    def limits(self, case: Case) -> ConversationLimits:
        """Return the limits of a case's conversation, from the command line, or else the case, or else the defaults."""
        known = self._limits
        if known is None or known[0] is not case:  # each run asks several times
            options = self.options
            limits = ConversationLimits(
                options.max_rounds or case.max_rounds or DEFAULT_MAX_ROUNDS,
                options.reply_seconds,
                options.run_seconds or case.timeout,
            )
            known = self._limits = case, limits
        return known[1]

    def examiner(self, case: Case, persona: str = "", strategy: str = "") -> Examiner:
        """Return a new examiner for one conversation.

        Args:
            case: The case.
            persona: The bundled persona that replaces the case's own; empty for the case's.
            strategy: The bundled strategy that replaces the case's own; empty for the case's.

        Raises:
            ExaminerError: the run should have brought its own questions, and did not.
        """
        if self.make_examiner is None:
            raise ExaminerError(f"no examiner was given for {case.name!r}")
        return self.make_examiner(case, persona, strategy)

    def played_by(self, case: Case, persona: str = "", strategy: str = "") -> tuple[str, str]:
        """Return the names of the bundled persona and strategy that the examiner of a case plays; empty for none."""
        if self.examiner_model is None or (self.prefers_scripts and case.script):
            return "", ""
        from viva.examiner.role import named_persona, named_strategy  # after the model, which requires more

        return persona or named_persona(case), strategy or named_strategy(case)

    def examiner_of(self, case: Case) -> str:
        """Return the name of a case's examiner."""
        return SCRIPT if self.prefers_scripts and case.script else self.examiner_name

    def judges_exam_of(self, case: Case | None) -> bool:
        """Return whether the evaluator `exam` judges the exams of a case, although no option names it."""
        return self.judge.exam is not None and case is not None and self.examiner_of(case) != SCRIPT

    def prompts_of(self, case: Case, persona: str = "", strategy: str = "") -> Mapping[str, str]:
        """Return the hashes of the prompts of a case's examiner, with those of its library, and of the judge."""
        if not (self.prefers_scripts and case.script):
            return {**self.prompts, **library_hashes(*self.played_by(case, persona, strategy))}
        return {name: digest for name, digest in self.prompts.items() if name != "examiner"}

    async def look_at_agents(self) -> None:
        """Check that the agents with an address can be reached.

        Raises:
            SetupError: one of them cannot be reached.
        """
        await all_looked_at(agent.look for agent in self.agents.values() if agent.look is not None)

    async def look_at_models(self) -> None:
        """Check that the models of examiner and judge can be used, as far as that is known without a question.

        Raises:
            SetupError: one of them cannot be used.
        """
        models = (self.examiner_model, *self.judge.models)
        await all_looked_at(model.look for model in dict.fromkeys(each for each in models if each is not None))

    async def close(self) -> None:
        """Release the sandbox, connections, and the agents' ready processes."""
        await self.judge.close()
        for agent in self.agents.values():
            if agent.release is not None:
                await asyncio.to_thread(agent.release)
        examiner = self.examiner_model
        if examiner is not None and examiner not in self.judge.models:
            await examiner.close()


async def all_looked_at(looks: Iterable[Callable[[], Awaitable[None]]]) -> None:
    """Look at all servers at once, because each may take seconds, and raise the first error in their order."""
    for found in await asyncio.gather(*(look() for look in looks), return_exceptions=True):
        if isinstance(found, BaseException):
            raise found


async def build_resources(
    options: Options,
    cases: Sequence[Case | None],
    agents: Sequence[str] = (),
    *,
    asks: bool = True,
    given: Given = NOTHING,
) -> Resources:
    """Build what runs of these cases require.

    Args:
        options: The user's options.
        cases: The cases that are examined or judged; None stands for runs without a case.
        agents: SPECs of the agents under test; empty if conversations are only judged.
        asks: Whether an examiner provides the questions; otherwise each run brings its own.
        given: Agents and evaluators that need not be looked up by name.

    Raises:
        SetupError: the user must change something.
        SandboxUnavailable: the requested sandbox is not available.
        SandboxError: the sandbox failed.
    """
    papers = [case for case in cases if case is not None]
    loaded = {spec: given.agent(spec) or load_with(options, spec) for spec in agents}
    if (refused := untaken_conversation(papers, loaded.values())) is not None:
        raise SetupError(refused)
    examiner = choose_examiner(options, papers) if asks and agents else ChosenExaminer(None)
    notices: list[str] = []
    if loaded:
        _check_commands(papers, options)
    for agent in loaded.values():
        notices += agent.notices
        notices += [notice for case in papers for notice in missing_for_agent(case, agent)]
    judge = await build_judge(options, cases, examiner.model, given)
    try:
        if judge.sandbox is not None:
            notices += await notices_about_checks(judge.sandbox, papers, refuse=bool(loaded))
        raise_file_limit(options, loaded.values(), sandbox=judge.sandbox is not None)
        check_threads(options, loaded.values(), sandbox=judge.sandbox is not None)
    except BaseException:
        await judge.close()
        raise
    return Resources(
        options=options,
        judge=judge,
        agents=loaded,
        cases=papers,
        make_examiner=examiner.make,
        examiner_name=examiner.name,
        examiner_model=examiner.model,
        prefers_scripts=examiner.prefers_scripts,
        notices=[*notices, *notices_about_goals(options, papers), *judge.notices],
        prompts={**examiner.prompts, **judge.prompts},
        role_limits=parse_role_limits(options.max_output_tokens, options.model_seconds),
    )


def load_with(options: Options, spec: str) -> LoadedAgent:
    """Load the agent that `spec` names, as the options say.

    Raises:
        SetupError: as `load_agent`.
    """
    return load_agent(spec, isolate=options.isolate, memory_mb=options.agent_memory_mb, permissions=options.permissions)


def _check_commands(cases: Sequence[Case], options: Options) -> None:
    """Check that no case runs commands on this machine without permission, and that its MCP servers can be started."""
    for case in cases:
        if case.commands and not options.allow_pre_command:
            raise SetupError(
                f"the case {case.name!r} wants to run commands on this machine: {'; '.join(case.commands)}. "
                "If you trust it, add --allow-pre-command."
            )
        check_servers(case)

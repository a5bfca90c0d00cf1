"""Builds what exams require from the user's options, and reports every mistake before the first message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.connectors.replay import stored_run
from viva.adapters.connectors.table import load_agent
from viva.cases import Case, CheckLimits
from viva.errors import SetupError
from viva.exam.agent_health import AgentHealth
from viva.exam.given import NOTHING, Given
from viva.exam.options import JudgeKind, Options
from viva.exam.references import References, load_references
from viva.exam.requirements.check_notices import notices_about_checks
from viva.exam.requirements.dependencies import missing_for_agent, provide_dependencies
from viva.exam.requirements.descriptors import raise_file_limit
from viva.exam.requirements.threads import check_threads
from viva.examiner import ConversationLimits, Examiner, ExaminerError, ReplayedExaminer, ScriptedExaminer
from viva.examiner.conversation import DEFAULT_MAX_ROUNDS
from viva.judge.loaded_evaluator import LoadedEvaluator
from viva.judge.registry import DEFAULT, NamedEvaluator, Need, find_evaluators, read_spec
from viva.judge.scoring_points.scoring import case_needs_model
from viva.models.prices import parse_prices
from viva.plugins.parameters import parameters_in_words
from viva.records.text import counted
from viva.sandbox import Sandbox
from viva.sandbox.choice import choose
from viva.sandbox.limits import largest, limits_for

if TYPE_CHECKING:
    from viva.models.client import ModelClient

ExaminerFactory = Callable[[Case], Examiner]
DEFAULT_AGENT = "example:careful"


@dataclass(slots=True)
class JudgeResources:
    """Everything that judging requires. Close it after the last judgement."""

    kind: JudgeKind
    evaluators: Mapping[str, LoadedEvaluator]
    """By their names in the options, the primary first."""
    sandbox: Sandbox | None = None
    model: ModelClient | None = None
    backup_model: ModelClient | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    """The hash of each prompt, by name."""
    references: References | None = None
    """Reference trajectories; None if none were given."""
    notices: Sequence[str] = ()
    """What the user should know before the exam begins."""

    async def close(self) -> None:
        """Release the sandbox and connections."""
        if self.sandbox is not None:
            await self.sandbox.close()
        for model in (self.model, self.backup_model):
            if model is not None:
                await model.close()


@dataclass(slots=True, kw_only=True)
class Resources:
    """Everything that the runs of one worker share. Close it after the last run."""

    options: Options
    judge: JudgeResources
    agents: Mapping[str, LoadedAgent] = field(default_factory=dict)
    """By SPEC; empty if conversations are only judged."""
    cases: Sequence[Case] = ()
    """All cases of the runs."""
    healths: dict[str, AgentHealth] = field(default_factory=dict)
    make_examiner: ExaminerFactory | None = None
    """None if each run brings its own questions."""
    examiner_name: str = "replay"
    examiner_model: ModelClient | None = None
    notices: Sequence[str] = ()
    """What the user should know before the exam begins."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    node: str | None = None
    """The name of the cluster's node on which the runs are conducted; None without a cluster."""

    def health(self, spec: str) -> AgentHealth:
        """Return the record of how the construction and the runs of an agent went so far."""
        return self.healths.setdefault(spec, AgentHealth(spec))

    def limits(self, case: Case) -> ConversationLimits:
        """Return the limits of a case's conversation, from the command line, or else the case, or else the defaults."""
        options = self.options
        return ConversationLimits(
            options.max_rounds or case.max_rounds or DEFAULT_MAX_ROUNDS,
            options.reply_seconds,
            options.run_seconds or case.timeout,
        )

    def examiner(self, case: Case) -> Examiner:
        """Return a new examiner for one conversation.

        Raises:
            ExaminerError: the run should have brought its own questions, and did not.
        """
        if self.make_examiner is None:
            raise ExaminerError(f"no examiner was given for {case.name!r}")
        return self.make_examiner(case)

    async def look_at_agents(self) -> None:
        """Check that the agents with an address can be reached.

        Raises:
            SetupError: one of them cannot be reached.
        """
        for agent in self.agents.values():
            if agent.look is not None:
                await agent.look()

    async def close(self) -> None:
        """Release the sandbox and connections."""
        await self.judge.close()
        if self.examiner_model is not None and self.examiner_model is not self.judge.model:
            await self.examiner_model.close()


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
    loaded = {
        spec: given.agents.get(spec) or load_agent(spec, isolate=options.isolate, memory_mb=options.agent_memory_mb)
        for spec in agents
    }
    make_examiner, examiner_name, examiner_model, prompts = (
        _examiner(options, papers) if asks and agents else (None, "replay", None, {})
    )
    notices: list[str] = []
    if loaded:
        _check_pre_commands(papers, options)
    for agent in loaded.values():
        notices += agent.notices
        notices += [notice for case in papers for notice in missing_for_agent(case, agent)]
    judge = await build_judge(options, cases, examiner_model, given)
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
        make_examiner=make_examiner,
        examiner_name=examiner_name,
        examiner_model=examiner_model,
        notices=[*notices, *judge.notices],
        prompts={**prompts, **judge.prompts},
    )


def _examiner(options: Options, cases: list[Case]) -> tuple[ExaminerFactory, str, ModelClient | None, dict[str, str]]:
    spec = options.examiner_model or options.model
    kind = options.examiner or ("model" if spec else "script")
    if kind.startswith("replay:"):
        stored = stored_run(kind.removeprefix("replay:"))
        of = stored.setting.case
        for case in cases:
            # The stored run may be a recording, which names no case.
            if of and case.name != of:
                raise SetupError(
                    f"the questions of {kind} belong to the case {of!r} and cannot be used for {case.name!r}."
                )
        return (lambda case: ReplayedExaminer(stored.transcript)), "replay", None, {}
    if kind == "script":
        for case in cases:
            if not case.script:
                raise SetupError(
                    f"the case {case.name!r} has no script, so a model must examine: add --model openai:NAME "
                    "(or write a script into the case; see `viva docs write-a-case`)."
                )
        return (lambda case: ScriptedExaminer(case.script)), "script", None, {}
    if kind != "model":
        raise SetupError(f"--examiner takes script, model or replay:JOURNAL, not {kind!r}.")
    if not spec:
        raise SetupError("--examiner model requires a model: add --model openai:NAME or --examiner-model openai:NAME.")
    # Imported here, because only a model requires AutoGen.
    from viva.examiner.model import PROMPT, ModelExaminer
    from viva.models.factory import make_model
    from viva.models.prompts import digest

    model = make_model(spec, calls=options.model_calls, prices=parse_prices(options.prices))
    prompts = {"examiner": digest(PROMPT)}
    return (lambda case: ModelExaminer(model, case.task_description)), model.name, model, prompts


async def build_judge(
    options: Options,
    cases: Sequence[Case | None],
    examiner_model: ModelClient | None = None,
    given: Given = NOTHING,
) -> JudgeResources:
    """Build what judging runs of these cases requires.

    Args:
        options: The user's options.
        cases: The cases of the runs; None stands for runs without a case.
        examiner_model: The examiner's model; the judge uses the same client if both models have the same name.
        given: Evaluators that need not be looked up by name.

    Raises:
        SetupError: an evaluator requires something that was not given, or a case's dependencies cannot be installed.
        SandboxUnavailable: the requested sandbox is not available.
        SandboxError: the sandbox failed.
    """
    kind: JudgeKind = options.judge or "code"
    named = find_evaluators(options.evaluators or (DEFAULT,), given.evaluators)
    needs = {each.spec: each.needs(cases, kind) for each in named}
    papers = [case for case in cases if case is not None]
    spec = options.judge_model or options.model
    references = None if options.reference is None else load_references(options.reference)
    _check_needs(needs, cases, spec, kind, reference=references is not None)
    prices = parse_prices(options.prices)
    model = backup = None
    if spec and any(Need.MODEL in each for each in needs.values()):
        from viva.models.factory import make_model

        same = examiner_model is not None and spec == (options.examiner_model or options.model)
        model = examiner_model if same else make_model(spec, calls=options.model_calls, prices=prices)
        if options.backup_model:
            backup = make_model(options.backup_model, calls=options.model_calls, prices=prices)
    sandbox: Sandbox | None = None
    notices: list[str] = []
    if any(Need.SANDBOX in each for each in needs.values()):
        sandbox, notices = await _sandbox(options, papers)
    try:
        evaluators = {each.spec: each.make(_offered(options, kind, sandbox, model, backup)) for each in named}
        _check_names(evaluators)
    except BaseException:
        if sandbox is not None:
            await sandbox.close()
        raise
    prompts = {name: digest for each in evaluators.values() for name, digest in each.prompts.items()}
    return JudgeResources(kind, evaluators, sandbox, model, backup, prompts, references, notices)


def _offered(
    options: Options, kind: JudgeKind, sandbox: Sandbox | None, model: ModelClient | None, backup: ModelClient | None
) -> dict[str, object]:
    return {
        "kind": kind,
        "sandbox": sandbox,
        "model": model,
        "backup_model": backup,
        "level": options.level,
        "screenshots": options.screenshots,
        "apis": options.apis,
        "session_config": options.session_config,
        "sandboxes": options.sandboxes,
        "asked_limits": _asked_limits(options),
        "match_arguments": options.match_arguments,
    }


def _asked_limits(options: Options) -> CheckLimits:
    return CheckLimits(seconds=options.check_seconds, memory_mb=options.check_memory_mb)


async def _sandbox(options: Options, cases: Sequence[Case]) -> tuple[Sandbox, list[str]]:
    at_once = min(options.concurrency, options.sandboxes)
    # The sandbox must fit the largest limits of all checks.
    checked = [case for case in cases if any(point.eval_code for point in case.scoring_points)]
    limits = largest(limits_for(case.check_limits, _asked_limits(options)) for case in checked)
    allow = options.allow_source_dependencies
    fresh = options.sandbox_fresh
    choice = await choose(options.sandbox, concurrency=at_once, limits=limits, allow_source=allow, fresh=fresh)
    try:
        await provide_dependencies(choice.sandbox, cases, at_once)
    except BaseException:
        await choice.sandbox.close()
        raise
    return choice.sandbox, [choice.note] if choice.note else []


def refuse_evaluators(named: Sequence[NamedEvaluator]) -> None:
    """Refuse evaluators that cannot judge runs without a case; what else they lack is told when they are built.

    Raises:
        SetupError: one requires a case, declares an unknown requirement, or has a wrong signature.
    """
    offered = _offered(Options(), "code", None, None, None)
    for each in named:
        each.check(offered)
        if Need.CASE in each.needs((None,), "code"):
            raise _no_case(each.spec)


def _no_case(evaluator: str) -> SetupError:
    return SetupError(
        f"the evaluator {evaluator!r} requires a case, and recorded runs have none: "
        "name other evaluators with --evaluators."
    )


def _check_needs(
    needs: Mapping[str, frozenset[Need]],
    cases: Sequence[Case | None],
    model: str | None,
    kind: JudgeKind,
    *,
    reference: bool,
) -> None:
    for evaluator, each in needs.items():
        if Need.CASE in each and any(case is None for case in cases):
            raise _no_case(evaluator)
        if Need.RECORDING in each and cases and all(case is not None for case in cases):
            raise SetupError(
                f"the evaluator {evaluator!r} requires recorded runs, and these are exams: "
                "name others with --evaluators."
            )
        if Need.REFERENCE in each and not reference:
            words = f"the evaluator {evaluator!r} requires a reference trajectory, and none was given"
            raise SetupError(f"{words}: add --reference FILE.")
        if Need.MODEL in each and not model:
            raise SetupError(_no_judge(evaluator, [case for case in cases if case is not None], kind))


def _check_names(evaluators: Mapping[str, LoadedEvaluator]) -> None:
    taken: dict[str, str] = {}
    for spec, evaluator in evaluators.items():
        if evaluator.name in taken:
            both = f"the evaluators {taken[evaluator.name]!r} and {spec!r} are both called {evaluator.name!r}"
            raise SetupError(f"{both}: give one another name, as in {_renamed(spec)}.")
        taken[evaluator.name] = spec


def _renamed(spec: str) -> str:
    part, parameters = read_spec(spec)
    return f"{part}({parameters_in_words({**parameters, 'name': 'other'})})"


def _no_judge(evaluator: str, cases: Iterable[Case], kind: JudgeKind) -> str:
    if evaluator != DEFAULT:
        return f"the evaluator {evaluator!r} requires a model: add --model openai:NAME or --judge-model openai:NAME."
    if kind != "code":
        return f"--judge {kind} requires a model: add --model openai:NAME or --judge-model openai:NAME."
    case = next(case for case in cases if case_needs_model(case, kind))
    points = counted(len(case_needs_model(case, kind)), "scoring point")
    return f"the case {case.name!r} requires a model to judge {points} without eval_code: add --model openai:NAME."


def _check_pre_commands(cases: Sequence[Case], options: Options) -> None:
    """Check that no case runs commands on this machine without permission."""
    for case in cases:
        if case.pre_command and not options.allow_pre_command:
            raise SetupError(
                f"the case {case.name!r} wants to run commands on this machine: {'; '.join(case.pre_command)}. "
                "If you trust it, add --allow-pre-command."
            )

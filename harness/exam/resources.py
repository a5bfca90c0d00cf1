"""Puts an exam's resources together from what the user asked for, and finds every mistake before the first message."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.connectors.python import LoadedAgent, load_agent
from adapters.errors import SetupError
from cases import Case
from examiner import ConversationLimits, Examiner, ExaminerError, ReplayedExaminer, ScriptedExaminer
from examiner.conversation import DEFAULT_MAX_ROUNDS
from harness.exam.dependencies import missing_for_agent, provide_dependencies
from harness.exam.options import Options
from judge.scoring_points.scoring import JudgeKind, ScoringPointsEvaluator, case_needs_model
from records.evaluator import Evaluator
from records.journal_reader import StoredRun, read_runs, split_reference
from sandbox import Sandbox
from sandbox.choice import choose

if TYPE_CHECKING:
    from adapters.models.client import Model

ExaminerFactory = Callable[[Case], Examiner]


@dataclass(slots=True)
class JudgeResources:
    """Everything that judging needs. Close it when the last is over."""

    kind: JudgeKind
    evaluator: Evaluator
    sandbox: Sandbox | None
    model: Model | None
    prompts: Mapping[str, str]
    notices: list[str]
    """What the user should know before the exam begins."""

    async def close(self) -> None:
        """Release sandbox and connections."""
        if self.sandbox is not None:
            await self.sandbox.close()
        if self.model is not None:
            await self.model.close()


@dataclass(slots=True)
class Resources:
    """Everything that exams of one agent share. Close it when the last is over."""

    options: Options
    agent: LoadedAgent
    make_examiner: ExaminerFactory
    examiner_name: str
    examiner_model: Model | None
    judge: JudgeResources
    notices: list[str]
    """What the user should know before the exam begins."""
    prompts: Mapping[str, str]

    def limits(self, case: Case) -> ConversationLimits:
        """The limits of one case's conversation: the command line, else the case, else 15 rounds."""
        options = self.options
        return ConversationLimits(
            options.max_rounds or case.max_rounds or DEFAULT_MAX_ROUNDS,
            options.reply_seconds,
            options.run_seconds or case.timeout,
        )

    async def close(self) -> None:
        """Release sandbox and connections."""
        await self.judge.close()
        if self.examiner_model is not None and self.examiner_model is not self.judge.model:
            await self.examiner_model.close()


DEFAULT_AGENT = "example:careful"


def agent_for(spec: str | None, options: Options) -> LoadedAgent:
    """Load an agent; `example:NAME` is one of those that come with Viva, None the careful one.

    Raises:
        SetupError: there is no such agent, or it cannot be examined.
    """
    kind, _, name = (spec or DEFAULT_AGENT).partition(":")
    if kind != "example":
        return load_agent(spec or DEFAULT_AGENT, isolate=options.isolate, memory_mb=options.agent_memory_mb)
    here = Path(__file__).resolve().parents[1]
    folders = [folder for folder in (here.parent / "examples" / "agents", here / "example_agents") if folder.is_dir()]
    names = sorted(file.stem for file in folders[0].glob("*.py")) if folders else []
    if name not in names:
        raise SetupError(f"there is no example agent {name!r}; there are {', '.join(names)}.")
    file = f"{folders[0] / name}.py:{name.title().replace('_', '')}Agent"
    agent = load_agent(file, isolate=options.isolate, memory_mb=options.agent_memory_mb)
    # The SPEC in records must not tell where Viva is installed.
    return replace(agent, spec=f"example:{name}")


async def build_resources(options: Options, cases: list[Case]) -> Resources:
    """Make the resources for exams of these cases.

    Raises:
        SetupError: something the user must change.
        SandboxUnavailable: the sandbox that was asked for is not there.
    """
    notices: list[str] = []
    if options.agent is None:
        notices.append("no --agent given: examining the bundled careful agent")
    agent = agent_for(options.agent, options)
    make_examiner, examiner_name, examiner_model, prompts = _examiner(options, cases)
    notices += _check_cases(cases, agent, options)
    judge = await build_judge(options, cases, examiner_model)
    return Resources(
        options,
        agent,
        make_examiner,
        examiner_name,
        examiner_model,
        judge,
        [*notices, *judge.notices],
        {**prompts, **judge.prompts},
    )


async def build_resources_without_examiner(options: Options, cases: list[Case], examiner: str) -> Resources:
    """Make the resources for exams whose examiners are given with each run.

    Raises:
        SetupError: something the user must change.
        SandboxUnavailable: the sandbox that was asked for is not there.
    """

    def none(case: Case) -> Examiner:
        raise ExaminerError(f"no examiner was given for {case.name!r}")

    agent = agent_for(options.agent, options)
    notices = _check_cases(cases, agent, options)
    judge = await build_judge(options, cases)
    return Resources(options, agent, none, examiner, None, judge, [*notices, *judge.notices], judge.prompts)


def _examiner(options: Options, cases: list[Case]) -> tuple[ExaminerFactory, str, Model | None, dict[str, str]]:
    spec = options.examiner_model or options.model
    kind = options.examiner or ("model" if spec else "script")
    if kind.startswith("replay:"):
        stored = stored_run(kind.removeprefix("replay:"))
        held = stored.setting.case
        for case in cases:
            # A recording may name no case.
            if held and case.name != held:
                raise SetupError(
                    f"the questions of {kind} are of the case {held!r}, and were never meant for {case.name!r}."
                )
        return (lambda case: ReplayedExaminer(stored.transcript)), "replay", None, {}
    if kind == "script":
        for case in cases:
            if not case.script:
                raise SetupError(
                    f"the case {case.name!r} has no script, so a model must examine: add --model openai:NAME "
                    "(or write a script into the case; see docs/write-a-case.md)."
                )
        return (lambda case: ScriptedExaminer(case.script)), "script", None, {}
    if kind != "model":
        raise SetupError(f"--examiner takes script, model or replay:JOURNAL, not {kind!r}.")
    if not spec:
        raise SetupError("--examiner model needs a model: add --model openai:NAME or --examiner-model openai:NAME.")
    # AutoGen is loaded only where a model is used.
    from adapters.models.factory import make_model
    from adapters.models.prompts import digest
    from examiner.model import PROMPT, ModelExaminer

    model = make_model(spec, calls=options.model_calls)
    prompts = {"examiner": digest(PROMPT)}
    return (lambda case: ModelExaminer(model, case.task_description)), model.name, model, prompts


async def build_judge(options: Options, cases: list[Case], examiner_model: Model | None = None) -> JudgeResources:
    """Make the resources that judge these cases.

    Raises:
        SetupError: a model is needed and none was given, or what a case depends on cannot be had.
        SandboxUnavailable: the sandbox that was asked for is not there.
        SandboxError: it failed.
    """
    kind: JudgeKind = options.judge or "code"
    spec = options.judge_model or options.model
    model, prompts = None, {}
    asked = [case for case in cases if case_needs_model(case, kind)]
    if asked and not spec:
        raise SetupError(_no_judge(asked[0], kind))
    if asked and spec:
        from adapters.models.factory import make_model
        from adapters.models.prompts import digest
        from judge.scoring_points.by_model import QUESTION_PROMPT, SYSTEM_PROMPT

        same = examiner_model is not None and spec == (options.examiner_model or options.model)
        model = examiner_model if same else make_model(spec, calls=options.model_calls)
        prompts = {"judge": digest(SYSTEM_PROMPT), "scoring_point": digest(QUESTION_PROMPT)}
    sandbox, notices = None, []
    if kind != "model" and any(point.eval_code for case in cases for point in case.scoring_points):
        choice = await choose(options.sandbox, concurrency=min(options.concurrency, options.rooms))
        sandbox = choice.sandbox
        try:
            await provide_dependencies(sandbox, cases, min(options.concurrency, options.rooms))
        except BaseException:
            await sandbox.close()
            raise
        if choice.note:
            notices.append(choice.note)
    return JudgeResources(
        kind, ScoringPointsEvaluator(kind, sandbox, model, options.rooms), sandbox, model, prompts, notices
    )


def _no_judge(case: Case, kind: JudgeKind) -> str:
    if kind == "code":
        number, total = len(case_needs_model(case, kind)), len(case.scoring_points)
        which = f"{number} of {total} scoring points of {case.name!r} have no eval_code"
        return f"{which}, so a model must judge them: add --model openai:NAME."
    return f"--judge {kind} needs a model: add --model openai:NAME or --judge-model openai:NAME."


def stored_run(reference: str) -> StoredRun:
    """One run out of a journal: `FOLDER#RUN-ID`, or `FOLDER` if it holds one.

    Raises:
        JournalError: there is no such journal or run.
        SetupError: the journal holds several runs.
    """
    folder, run = split_reference(reference)
    runs = read_runs(folder, run)
    first = next(runs, None)
    if first is None:
        raise SetupError(f"{folder} holds no run.")
    if next(runs, None) is not None:
        raise SetupError(f"{folder} holds several runs; name one: '{folder}#{first.id}'.")
    return first


def _check_cases(cases: list[Case], agent: LoadedAgent, options: Options) -> list[str]:
    """See that no case runs anything on this machine without leave; gives what the user should know of the others."""
    for case in cases:
        if case.pre_command and not options.allow_pre_command:
            raise SetupError(
                f"the case {case.name!r} wants to run on this machine: {'; '.join(case.pre_command)}. "
                "If you trust it, add --allow-pre-command."
            )
    return [notice for case in cases for notice in missing_for_agent(case, agent)]


@cache
def versions() -> dict[str, str]:
    """What runs here."""
    found = {"python": platform.python_version()}
    for name in ("autogen-agentchat", "openai", "docker"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def viva_version() -> str:
    """Viva's own version."""
    try:
        return metadata.version("vivavoce")
    except metadata.PackageNotFoundError:
        return os.environ.get("VIVA_VERSION", "unknown")

"""`run_suite`: runs many cases with several agents and trials concurrently, and can be resumed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from viva.api.asked import check_count, check_seconds, options_from
from viva.api.blocking import blocking
from viva.api.given_cases import CaseLike, as_paths, listed
from viva.api.given_parts import AgentLike, EvaluatorLike, SubscriberLike, find_agents
from viva.api.journals import SuiteResult, refuse_used
from viva.api.surroundings import surroundings
from viva.errors import SetupError
from viva.exam.given import Given
from viva.exam.options import Options
from viva.journal.paths import new_journal_folder
from viva.journal.reader import read_records
from viva.judge.registry import name_evaluators
from viva.records.sink import Sink
from viva.statistics.summary import summarize
from viva.suites import suite
from viva.suites.engines import LOCAL, EngineChoice
from viva.suites.plan import FILE as PLAN_FILE
from viva.suites.plan import Plan, load_plan
from viva.suites.suite import Request

MAY_CHANGE = ("concurrency", "sandboxes", "model_calls", "attempts", "judgings")
"""Options that do not change the exams, so that a suite can be resumed with other values."""


async def run_suite_async(
    cases: CaseLike | Iterable[CaseLike],
    agents: AgentLike | Iterable[AgentLike] | Mapping[str, AgentLike],
    *,
    trials: int = 1,
    evaluators: EvaluatorLike | Iterable[EvaluatorLike] = (),
    sinks: str | Sink | Iterable[str | Sink] = (),
    subscribers: SubscriberLike | Iterable[SubscriberLike] = (),
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    retry_errors: bool = False,
    names: Iterable[str] = (),
    tags: Iterable[str] = (),
    max_cost: float | None = None,
    max_tokens: int | None = None,
    max_seconds: float | None = None,
    threshold: float = 1.0,
    engine: str = LOCAL,
    ray_address: str | None = None,
    ray_workers: int | None = None,
    **options: Any,
) -> SuiteResult:
    """Test every agent with every case.

    Args:
        cases: Cases, paths of cases or of folders of cases, or names of bundled cases; one or several.
        agents: SPECs, VirtualUser classes, or functions that return an object with their methods; one or several, or a
            mapping with their names in records.
        trials: Number of runs for each case and agent.
        evaluators: The primary evaluator, which alone decides the score, comes first. Default: `scoring_points`.
        sinks: They also receive completed runs; Viva closes them.
        subscribers: They are notified of starts, rounds and ends, and of the end of the suite.
        out: The journal's folder. Default: a new one under `runs/`.
        resume: Continue the suite in the folder, if there is one: a repeated call continues where it was stopped.
        retry_errors: When resuming, repeat runs that ended with an error of the examiner, judge or infrastructure.
        names: Select cases whose names match one of these shell patterns.
        tags: Select cases with one of these tags.
        max_cost: Start no further run after this cost, in US dollars.
        max_tokens: Start no further run after this number of tokens.
        max_seconds: Stop after this time.
        threshold: A run passes if the low bound of its score is at least this.
        engine: `local` (this process), or `ray`: agents and evaluators are then import strings, see docs/cluster.md.
        ray_address: `HOST:PORT` of the cluster's head, or `auto`. Default: RAY_ADDRESS, else a cluster of this machine.
        ray_workers: Maximum number of workers. Default: the CPUs of the cluster.
        options: Fields of `Options`; the default of `concurrency` is 4.

    Returns:
        The journal's folder, the statistics, and how many runs were left out because of a limit.

    Raises:
        SetupError: you must change something first; nothing was run.
        CaseError: a case is invalid.
        SandboxError: the requested sandbox is not available.
        JournalError: the journal cannot be written; the suite can be resumed.
    """
    asked = options_from(run_suite_async, options, concurrency=4, sandboxes=max(2, os.cpu_count() or 2))
    where = EngineChoice(engine, ray_address, ray_workers)
    _check_limits(trials, max_cost, max_tokens, max_seconds)
    paths, made_cases = as_paths(listed(cases))
    if not paths:
        raise SetupError("there is no case to examine: name one, such as 'echo', or a folder of cases.")
    specs, made_agents = find_agents(agents, isolate=asked.isolate)
    evaluator_names, made_evaluators = name_evaluators(evaluators)
    # Absolute: an agent may change the working directory.
    folder = new_journal_folder(None if out is None else Path(out), "suite").absolute()
    asked = replace(asked, evaluators=evaluator_names)
    plan, resumed = _plan_for(folder, Plan(paths, specs, trials, tuple(names), tuple(tags), asked), resume=resume)
    request = Request(
        folder,
        plan,
        resumed=resumed,
        retry_errors=retry_errors,
        max_cost=max_cost,
        max_tokens=max_tokens,
        max_seconds=max_seconds,
        cases=made_cases,
    )
    around = surroundings(sinks, subscribers, Given(agents=made_agents, evaluators=made_evaluators), where)
    end = await suite.run_suite(request, around)
    figures = summarize(read_records(folder), threshold)
    return SuiteResult(folder=folder, figures=figures, ended=end.ended, left_out=end.left_out, reason=end.reason)


run_suite = blocking(run_suite_async)


def _check_limits(trials: object, max_cost: object, max_tokens: object, max_seconds: object) -> None:
    check_count("trials", trials)
    if max_tokens is not None:
        check_count("max_tokens", max_tokens)
    for name, value in (("max_cost", max_cost), ("max_seconds", max_seconds)):
        if value is not None:
            check_seconds(name, value)


def _plan_for(folder: Path, asked: Plan, *, resume: bool) -> tuple[Plan, bool]:
    """Return the plan of a suite, and whether it resumes a suite in the folder.

    Raises:
        SetupError: the folder holds a different suite, or any suite if the call does not resume one.
    """
    if resume and (folder / PLAN_FILE).exists():
        return _resumed(folder, asked), True
    refuse_used(folder)
    return asked, False


def _resumed(folder: Path, asked: Plan) -> Plan:
    """Return the stored plan with the present values of options that do not change the exams.

    Raises:
        SetupError: the folder holds a different suite.
    """
    stored = load_plan(folder)
    parts = {
        "cases": (_absolute(stored.paths, stored.folder), _absolute(asked.paths, os.getcwd())),
        "agents": (stored.agents, asked.agents),
        "trials": (stored.trials, asked.trials),
        "names": (stored.names, asked.names),
        "tags": (stored.tags, asked.tags),
        "options": (_fixed(stored.options), _fixed(asked.options)),
    }
    differ = [name for name, (before, now) in parts.items() if before != now]
    if differ:
        raise SetupError(f"{folder} holds a different suite: it differs in {', '.join(differ)}. Pass another out.")
    return replace(asked, cases=stored.cases, folder=stored.folder)


def _fixed(options: Options) -> Options:
    default = Options()
    return replace(options, **{name: getattr(default, name) for name in MAY_CHANGE})


def _absolute(paths: tuple[str, ...], folder: str) -> tuple[str, ...]:
    """Return absolute paths; names of cases stay unchanged."""
    joined = (Path(folder, path) for path in paths)
    return tuple(str(full) if full.exists() else path for path, full in zip(paths, joined, strict=True))

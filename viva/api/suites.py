"""`run_suite`: runs many cases with several agents and trials concurrently, and can be resumed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

from viva.adapters.connectors.settings import varied_texts
from viva.api.arguments import Amount, Count, Share, checked
from viva.api.asked import options_from
from viva.api.blocking import blocking
from viva.api.given_cases import CaseLike, as_paths, listed
from viva.api.given_parts import AgentLike, EvaluatorLike, SubscriberLike, find_agents
from viva.api.journals import SuiteResult, begin_or_resume
from viva.api.surroundings import surroundings
from viva.errors import SetupError
from viva.exam.examiners import with_chosen_names
from viva.exam.given import Given
from viva.journal.paths import new_journal_folder
from viva.journal.reader import read_records
from viva.judge.registry import name_evaluators
from viva.records.sink import Sink
from viva.statistics.adaptive.until import Until, parse_until
from viva.statistics.summary import summarize
from viva.suites import suite
from viva.suites.adaptive.decisions import decisions_in
from viva.suites.engine import Budget
from viva.suites.engines import LOCAL, EngineChoice
from viva.suites.request import FromFile, SuiteRequest

ORIGIN: ContextVar[FromFile | None] = ContextVar("ORIGIN", default=None)
"""What the present call was taken from, if `viva.suite` makes it."""


@checked
async def run_suite_async(
    cases: CaseLike | Iterable[CaseLike],
    agents: AgentLike | Iterable[AgentLike] | Mapping[str, AgentLike],
    *,
    vary: Mapping[str, Iterable[object]] | str | Iterable[str] = (),
    trials: Count = 1,
    until: str | None = None,
    margin: Share | None = None,
    evaluators: EvaluatorLike | Iterable[EvaluatorLike] = (),
    sinks: str | Sink | Iterable[str | Sink] = (),
    subscribers: SubscriberLike | Iterable[SubscriberLike] = (),
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    retry_errors: bool = False,
    names: str | Iterable[str] = (),
    tags: str | Iterable[str] = (),
    max_cost: Amount | None = None,
    max_tokens: Count | None = None,
    max_runs: Count | None = None,
    max_seconds: Amount | None = None,
    threshold: Share = 1.0,
    engine: str = LOCAL,
    ray_address: str | None = None,
    ray_workers: Count | None = None,
    **options: Any,
) -> SuiteResult:
    """Test every agent with every case.

    Args:
        cases: Cases, paths of cases or of folders of cases, or names of bundled cases; one or several.
        agents: SPECs, VirtualUser classes, or functions that return an object with their methods; one or several, or a
            mapping with their names in records.
        vary: The values of settings of the agents, by name, as in `{"temperature": [0, 0.7]}`; or texts as `--vary`
            takes them. Each agent is tested with each combination.
        trials: Number of runs for each case and agent.
        until: Add trials until a decision is made: `ci=HALF-WIDTH`, `compare` or `gate=SCORE`.
        margin: With `until`: a difference in score that does not matter. Default: 0.05.
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
        max_runs: Start no further run once the journal has this many.
        max_seconds: Stop after this time.
        threshold: A run passes if the low bound of its score is at least this.
        engine: `local` (this process), or `ray`: agents and evaluators are import strings (`viva docs cluster`).
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
    asked = with_chosen_names(asked)
    where = EngineChoice(engine, ray_address, ray_workers)
    paths, made_cases = as_paths(listed(cases))
    if not paths:
        raise SetupError("there is no case to examine: name one, such as 'echo', or a folder of cases.")
    specs, made_agents = find_agents(agents, isolate=asked.isolate)
    evaluator_names, made_evaluators = name_evaluators(evaluators)
    # Absolute: an agent may change the working directory.
    folder = new_journal_folder(None if out is None else Path(out), "suite").absolute()
    request = SuiteRequest(
        command="suite",
        paths=paths,
        agents=specs,
        vary=varied_texts(vary),
        trials=trials,
        until=_until(until, margin),
        names=(names,) if isinstance(names, str) else tuple(names),
        tags=(tags,) if isinstance(tags, str) else tuple(tags),
        options=replace(asked, evaluators=evaluator_names),
        from_file=ORIGIN.get(),
    )
    request, resumed = begin_or_resume(folder, request, resume=resume)
    end = await suite.run_suite(
        request,
        folder,
        surroundings(sinks, subscribers, Given(agents=made_agents, evaluators=made_evaluators), where),
        resumed=resumed,
        retry_errors=retry_errors,
        budget=Budget(max_cost=max_cost, max_tokens=max_tokens, max_runs=max_runs, max_seconds=max_seconds),
        given=made_cases,
    )
    figures = summarize(read_records(folder, quick=True), threshold)
    return SuiteResult(
        folder=folder,
        figures=figures,
        ended=end.ended,
        left_out=end.left_out,
        reason=end.reasons,
        decisions=tuple(decisions_in(folder, request)),
    )


def _until(text: str | None, margin: float | None) -> Until | None:
    if text is None and margin is not None:
        raise SetupError("margin requires until='compare' or until='gate=SCORE'.")
    return None if text is None else parse_until(text, margin)


run_suite = blocking(run_suite_async)

"""`examine`: one exam, as a suite of one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from viva.api.arguments import checked
from viva.api.asked import options_from
from viva.api.blocking import blocking
from viva.api.given_cases import CaseLike, as_one
from viva.api.given_parts import AgentLike, EvaluatorLike, SubscriberLike, find_agents
from viva.api.surroundings import surroundings
from viva.exam.examiners import with_chosen_names
from viva.exam.given import Given
from viva.journal.paths import new_journal_folder
from viva.journal.reader import StoredRun, read_runs
from viva.judge.registry import name_evaluators
from viva.records.sink import Sink
from viva.suites.plan import planned_runs
from viva.suites.request import SuiteRequest
from viva.suites.suite import holds_single_runs, run_suite


@checked
async def examine_async(
    case: CaseLike,
    agent: AgentLike,
    *,
    evaluators: EvaluatorLike | Iterable[EvaluatorLike] = (),
    sinks: str | Sink | Iterable[str | Sink] = (),
    subscribers: SubscriberLike | Iterable[SubscriberLike] = (),
    out: str | os.PathLike[str] | None = None,
    **options: Any,
) -> StoredRun:
    """Run an exam: test an agent with a case, and judge it.

    Args:
        case: A Case, the path of a case, or the name of a bundled case.
        agent: A SPEC, a VirtualUser class, or a function that returns an object with its methods.
        evaluators: The primary evaluator, which alone decides the score, comes first. Default: `scoring_points`.
        sinks: They also receive the completed run; Viva closes them.
        subscribers: They are notified of the start, of each round, and of the end.
        out: The journal's folder. Default: a new one under `runs/`.
        options: Fields of `Options`: `model`, `judge`, `sandbox`, `max_rounds`, `reply_seconds`…

    Returns:
        The run as stored in its journal: `score`, `outcome`, `record`, `transcript`, `insights`. Failures of the agent,
        the examiner, the judge or the infrastructure are not raised: they are the outcome, with `record.error`.

    Raises:
        SetupError: you must change something first: an agent, an option, a key.
        CaseError: the case is invalid.
        SandboxError: the requested sandbox is not available.
        JournalError: the journal cannot be written.
    """
    asked = with_chosen_names(options_from(examine_async, options), several=False)
    exam, paths, cases = as_one(case)
    (spec,), agents = find_agents([agent], isolate=asked.isolate)
    names, made = name_evaluators(evaluators)
    request = SuiteRequest(command="run", paths=paths, agents=(spec,), options=replace(asked, evaluators=names))
    around = surroundings(sinks, subscribers, Given(agents=agents, evaluators=made))
    # Absolute: an agent may change the working directory.
    folder = new_journal_folder(None if out is None else Path(out), exam.name).absolute()
    resumed = holds_single_runs(folder, exam)
    await run_suite(request, folder, around, resumed=resumed, fresh=resumed, given=cases)
    ((header, _),) = planned_runs(request, [exam])
    return next(read_runs(folder, header.id))


examine = blocking(examine_async)

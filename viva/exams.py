"""`examine`: one exam, as a suite of one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.exam.given import Given
from harness.exam.journal_paths import new_journal_folder
from harness.suites.plan import Plan
from harness.suites.suite import run_suite, single_run
from records.journal import run_id
from records.journal_reader import StoredRun, read_runs
from records.sink import Sink
from viva.asked import options_from
from viva.blocking import blocking
from viva.given_cases import CaseLike, as_one
from viva.given_parts import AgentLike, EvaluatorLike, SubscriberLike, find_agents, find_evaluators
from viva.surroundings import surroundings


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
    """Examine an agent with a case, and judge it.

    Args:
        case: A Case, the path of one, or the name of a bundled one.
        agent: A SPEC, a VirtualUser class, or a function that makes an object with its methods.
        evaluators: The primary first, which alone decides the score; none is `scoring_points`.
        sinks: Where the completed run is sent, too; Viva closes them.
        subscribers: Who is told when the run starts, after each round, and when it has ended.
        out: The journal's folder; None is a new one under `runs/`.
        options: Fields of `Options`: `model`, `judge`, `sandbox`, `max_rounds`, `reply_seconds`…

    Returns:
        The run as its journal has it: `score`, `outcome`, `record`, `transcript`, `insights`. What agent, examiner,
        judge or infrastructure failed at is an outcome, with `record.error`; it is not raised.

    Raises:
        SetupError: something must be changed first: an agent, an option, a key.
        CaseError: the case is not sound.
        SandboxError: the sandbox that was asked for cannot be had.
        JournalError: the journal cannot be written.
    """
    asked = options_from(examine_async, options)
    exam, paths, cases = as_one(case)
    (spec,), agents = find_agents([agent], isolate=asked.isolate)
    names, made = find_evaluators(evaluators)
    plan = Plan(paths, (spec,), options=replace(asked, evaluators=names))
    around = surroundings(sinks, subscribers, Given(agents=agents, evaluators=made))
    # Absolute: an agent may change the working directory.
    folder = new_journal_folder(None if out is None else Path(out), exam.name).absolute()
    await run_suite(replace(single_run(folder, plan, exam), cases=cases), around)
    return next(read_runs(folder, run_id(exam.name, spec)))


examine = blocking(examine_async)

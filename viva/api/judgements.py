"""`judge`: scores stored conversations again, with the same judge or another; it requires no agent."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from viva.api.arguments import Count, Share, checked
from viva.api.asked import JUDGING, options_from
from viva.api.blocking import blocking
from viva.api.given_cases import CaseLike, as_one
from viva.api.given_parts import EvaluatorLike, SubscriberLike
from viva.api.journals import JournalLike, SuiteResult, begin_or_resume, references_of
from viva.api.surroundings import surroundings
from viva.cases import load_rubric
from viva.exam.given import Given
from viva.journal.paths import derived_name, new_journal_folder
from viva.journal.reader import read_records
from viva.judge.registry import name_evaluators
from viva.records.sink import Sink
from viva.statistics.summary import summarize
from viva.suites.chosen.journal_parts import noting_parts
from viva.suites.engines import LOCAL, EngineChoice
from viva.suites.judging import judge_journals
from viva.suites.request import journals_request


@checked
async def judge_async(
    journals: JournalLike | Iterable[JournalLike],
    *,
    evaluators: EvaluatorLike | Iterable[EvaluatorLike] = (),
    case: CaseLike | None = None,
    rubric: str | os.PathLike[str] | None = None,
    sinks: str | Sink | Iterable[str | Sink] = (),
    subscribers: SubscriberLike | Iterable[SubscriberLike] = (),
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    retry_errors: bool = False,
    threshold: Share = 1.0,
    engine: str = LOCAL,
    ray_address: str | None = None,
    ray_workers: Count | None = None,
    **options: Any,
) -> SuiteResult:
    """Judge stored conversations again, and write the results to a new journal.

    Args:
        journals: One or several folders of journals, `FOLDER#RUN-ID`, runs from `examine` or `read_journal`, or results
            of `run_suite`.
        evaluators: The primary evaluator, which alone decides the score, comes first. Default: as stored.
        case: Replaces the stored case of the same name; recordings are judged by its points: those whose subject is its
            name or, if there is none, all.
        rubric: A file with scoring points by which recordings are judged (`viva docs recordings`).
        sinks: They also receive the judged runs; Viva closes them.
        subscribers: They are notified of starts and ends.
        out: The new journal's folder. Default: a new one under `runs/`.
        resume: Continue the work in the folder, if there is some: a repeated call continues where it was stopped.
        retry_errors: When resuming, also judge again what could not be judged before.
        threshold: A run passes if the low bound of its score is at least this.
        engine: `local` (this process), or `ray`: agents and evaluators are import strings (`viva docs cluster`).
        ray_address: `HOST:PORT` of the cluster's head, or `auto`. Default: RAY_ADDRESS, else a cluster of this machine.
        ray_workers: Maximum number of workers. Default: the CPUs of the cluster.
        options: Fields of `Options` that concern judging: `judge`, `model`, `judge_model`, `sandbox`, `check_seconds`,
            `check_memory_mb`, `concurrency` (default: 4)…

    Returns:
        The new journal's folder, the statistics, and how many conversations were left out because they had not ended or
        rounds are missing.

    Raises:
        SetupError: there is nothing to judge, or you must change something first.
        CaseError: the case or the rubric is invalid.
        SandboxError: the requested sandbox is not available.
        JournalError: a journal cannot be read or written.
    """
    asked = options_from(judge_async, options, JUDGING, concurrency=4)
    where = EngineChoice(engine, ray_address, ray_workers)
    references = references_of(journals)
    replacement = None if case is None else as_one(case)[0]
    points = None if rubric is None else load_rubric(Path(rubric))
    names, made = name_evaluators(evaluators)
    folder = new_journal_folder(None if out is None else Path(out), derived_name(references[0][0], "judged")).absolute()
    request = journals_request("judge", references, replace(asked, evaluators=names), replacement, points)
    request = noting_parts(request)
    request, resumed = begin_or_resume(folder, request, resume=resume)
    around = surroundings(sinks, subscribers, Given(evaluators=made), where)
    end = (await judge_journals(request, folder, around, resumed=resumed, retry_errors=retry_errors)).end
    return SuiteResult(
        folder=folder,
        figures=summarize(read_records(folder, quick=True), threshold),
        ended=end.ended,
        left_out=end.left_out_in_all,
        reason=end.reasons,
    )


judge = blocking(judge_async)

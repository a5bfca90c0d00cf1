"""`trace`: imports recorded conversations and traces into a journal, and judges them there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from viva.api.arguments import Count, Share, checked
from viva.api.asked import JUDGING, options_from
from viva.api.blocking import blocking
from viva.api.given_parts import EvaluatorLike, SubscriberLike
from viva.api.journals import SuiteResult, refuse_used
from viva.api.surroundings import surroundings
from viva.cases import load_rubric
from viva.exam.given import Given
from viva.journal.paths import new_journal_folder
from viva.journal.reader import read_records
from viva.judge.registry import name_evaluators
from viva.records.sink import Sink
from viva.statistics.summary import summarize
from viva.suites.engines import LOCAL, EngineChoice
from viva.suites.request import RecordingsRequest
from viva.suites.tracing import trace_recordings


@checked
async def trace_async(
    recordings: str | Iterable[str],
    *,
    evaluators: EvaluatorLike | Iterable[EvaluatorLike] = (),
    limit: Count | None = None,
    since: datetime | None = None,
    mapping: str | os.PathLike[str] | None = None,
    rubric: str | os.PathLike[str] | None = None,
    sinks: str | Sink | Iterable[str | Sink] = (),
    subscribers: SubscriberLike | Iterable[SubscriberLike] = (),
    out: str | os.PathLike[str] | None = None,
    threshold: Share = 1.0,
    engine: str = LOCAL,
    ray_address: str | None = None,
    ray_workers: Count | None = None,
    **options: Any,
) -> SuiteResult:
    """Import recordings into a new journal, and judge them.

    Args:
        recordings: One or several sources, as `viva trace` takes them: `chat:FILE`, `otlp:FILE`, `ufo:FOLDER`…
        evaluators: The primary evaluator, which alone decides the score, comes first. Default: those of the reader.
        limit: The maximum number of recordings. Default: all.
        since: Recordings that began before are left out; a time without a zone is local.
        mapping: A file that says how the recordings name things, for readers that take one.
        rubric: A file with scoring points by which the recordings are judged (`viva docs recordings`).
        sinks: They also receive the judged runs; Viva closes them.
        subscribers: They are notified of starts and ends.
        out: The new journal's folder. Default: a new one under `runs/`.
        threshold: A run passes if the low bound of its score is at least this.
        engine: `local` (this process), or `ray`: agents and evaluators are import strings (`viva docs cluster`).
        ray_address: `HOST:PORT` of the cluster's head, or `auto`. Default: RAY_ADDRESS, else a cluster of this machine.
        ray_workers: Maximum number of workers. Default: the CPUs of the cluster.
        options: Fields of `Options` that concern judging: `judge_model`, `reference`, `concurrency` (default: 4)…

    Returns:
        The new journal's folder, the statistics, and how much was left out because it could not be read.

    Raises:
        SetupError: a recording cannot be read, there is none, or you must change something first.
        CaseError: the rubric is invalid.
        SandboxError: the requested sandbox is not available.
        JournalError: the journal cannot be written.
    """
    asked = options_from(trace_async, options, JUDGING, concurrency=4)
    where = EngineChoice(engine, ray_address, ray_workers)
    names, made = name_evaluators(evaluators)
    folder = new_journal_folder(None if out is None else Path(out), "trace").absolute()
    refuse_used(folder)
    request = RecordingsRequest(
        command="trace",
        recordings=(recordings,) if isinstance(recordings, str) else tuple(recordings),
        limit=limit,
        since=None if since is None else since.timestamp(),
        mapping=None if mapping is None else os.fspath(mapping),
        rubric=None if rubric is None else load_rubric(Path(rubric)),
        options=replace(asked, evaluators=names),
        folder=os.getcwd(),
    )
    around = surroundings(sinks, subscribers, Given(evaluators=made), where)
    found = await trace_recordings(request, folder, around)
    return SuiteResult(
        folder=folder,
        figures=summarize(read_records(folder, quick=True), threshold),
        ended=found.end.ended,
        left_out=found.left_out,
        reason=found.reason,
    )


trace = blocking(trace_async)

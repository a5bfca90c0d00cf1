"""`judge`: stored conversations are scored again, by the same judge or another; no agent is needed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters.errors import SetupError
from harness.exam.given import Given
from harness.exam.journal_paths import derived_name, new_journal_folder
from harness.statistics.summary import summarize
from harness.suites.judging import judge_sources
from harness.suites.sources import FILE as SOURCES_FILE
from harness.suites.sources import Sources, load_sources, sources_of
from harness.wording import counted
from records.journal_reader import read_records
from records.sink import Sink
from viva.asked import JUDGING, options_from
from viva.blocking import blocking
from viva.given_cases import CaseLike, as_one
from viva.given_parts import EvaluatorLike, SubscriberLike, find_evaluators
from viva.journals import JournalLike, SuiteResult, places_of, refuse_used
from viva.surroundings import surroundings


async def judge_async(
    journals: JournalLike | Iterable[JournalLike],
    *,
    evaluators: EvaluatorLike | Iterable[EvaluatorLike] = (),
    case: CaseLike | None = None,
    sinks: str | Sink | Iterable[str | Sink] = (),
    subscribers: SubscriberLike | Iterable[SubscriberLike] = (),
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    retry_errors: bool = False,
    threshold: float = 1.0,
    **options: Any,
) -> SuiteResult:
    """Judge stored conversations again, into a journal of their own.

    Args:
        journals: Folders of journals, `FOLDER#RUN-ID`, runs that `examine` or `read_journal` gave, or what `run_suite`
            gave; one or several.
        evaluators: The primary first, which alone decides the score; none stands for those that judged before.
        case: Replaces the stored case of the same name.
        sinks: Where the judged runs are sent, too; Viva closes them.
        subscribers: Who is told of starts and ends.
        out: The new journal's folder; None is a new one under `runs/`.
        resume: Go on with what the folder holds, if it holds some: the same call goes on where it was stopped.
        retry_errors: When resuming, also judge again what could not be judged then.
        threshold: The score from which a run passes.
        options: Fields of `Options` that are about judging: `judge`, `model`, `judge_model`, `sandbox`,
            `check_seconds`, `check_memory_mb`, `concurrency` (4 unless it is given)…

    Returns:
        The new journal's folder, the figures, and how many conversations were left out because they had not ended.

    Raises:
        SetupError: there is nothing to judge, or something must be changed first.
        CaseError: the case is not sound.
        SandboxError: the sandbox that was asked for cannot be had.
        JournalError: a journal cannot be read or written.
    """
    asked = options_from(judge_async, options, JUDGING, concurrency=4)
    places = places_of(journals)
    replacement = None if case is None else as_one(case)[0]
    names, made = find_evaluators(evaluators)
    folder = new_journal_folder(None if out is None else Path(out), derived_name(places[0][0], "judged")).absolute()
    sources = sources_of("judge", places, replace(asked, evaluators=names), replacement)
    resumed = resume and (folder / SOURCES_FILE).exists()
    if resumed:
        _see_same(folder, sources)
    else:
        refuse_used(folder)
    around = surroundings(sinks, subscribers, Given(evaluators=made))
    judging = await judge_sources(sources, folder, around, resumed=resumed, retry_errors=retry_errors)
    open_ended = len(judging.not_ended)
    reason = f"{counted(open_ended, 'conversation')} did not end" if open_ended else judging.end.reason
    return SuiteResult(
        folder=folder,
        figures=summarize(read_records(folder), threshold),
        ended=judging.end.ended,
        left_out=judging.end.left_out + open_ended,
        reason=reason,
    )


judge = blocking(judge_async)


def _see_same(folder: Path, asked: Sources) -> None:
    """See that what was begun in a folder is what is asked for now.

    Raises:
        SetupError: it is not.
    """
    stored = load_sources(folder, "judge")
    parts = {
        "journals": (stored.references, asked.references),
        "case": (stored.replacement and stored.replacement.hash, asked.replacement and asked.replacement.hash),
        "options": (replace(stored.options, concurrency=4), replace(asked.options, concurrency=4)),
    }
    differ = [name for name, (before, now) in parts.items() if before != now]
    if differ:
        words = ", ".join(differ)
        raise SetupError(f"another judging was begun in {folder}: it differs in {words}. Name another out.")

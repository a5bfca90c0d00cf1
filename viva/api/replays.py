"""`replay`: asks an agent the questions of stored conversations, or has it continue them from the middle."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from viva.api.arguments import Count, Share, checked
from viva.api.asked import ALL, options_from
from viva.api.blocking import blocking
from viva.api.given_parts import AgentLike, EvaluatorLike, SubscriberLike, find_agents
from viva.api.journals import JournalLike, SuiteResult, begin_or_resume, reference_of
from viva.api.surroundings import surroundings
from viva.errors import SetupError
from viva.exam.forking.fork import Edits, Means
from viva.exam.given import Given
from viva.journal.paths import derived_name, new_journal_folder
from viva.journal.reader import read_records
from viva.judge.registry import name_evaluators
from viva.records.sink import Sink
from viva.statistics.summary import summarize
from viva.suites.chosen.journal_parts import noting_parts
from viva.suites.replaying import ask_again
from viva.suites.request import journals_request


@checked
async def replay_async(
    journal: JournalLike,
    agent: AgentLike,
    *,
    fork_at: Count | None = None,
    fork_by: Means | None = None,
    reply: str | None = None,
    message: str | None = None,
    evaluators: EvaluatorLike | Iterable[EvaluatorLike] = (),
    sinks: str | Sink | Iterable[str | Sink] = (),
    subscribers: SubscriberLike | Iterable[SubscriberLike] = (),
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    retry_errors: bool = False,
    threshold: Share = 1.0,
    **options: Any,
) -> SuiteResult:
    """Ask an agent the questions of stored conversations, and judge it by the cases in the journal.

    Args:
        journal: The folder of a journal, `FOLDER#RUN-ID`, a run, or the result of `run_suite`.
        agent: A SPEC, a VirtualUser class, or a function that returns an object with its methods.
        fork_at: Keep the rounds up to this one, and have the agent continue the conversation from there.
        fork_by: With `fork_at`: how the agent gets there. Default: by the stored state, else by replaying.
        reply: With `fork_at`: replaces the agent's reply in that round; the agent is given the conversation.
        message: With `fork_at`: replaces the examiner's message in the round after it.
        evaluators: The primary evaluator, which alone decides the score, comes first. Default: `scoring_points`.
        sinks: They also receive completed runs; Viva closes them.
        subscribers: They are notified of starts, rounds and ends.
        out: The new journal's folder. Default: a new one under `runs/`.
        resume: Continue the work in the folder, if there is some: a repeated call continues where it was stopped.
        retry_errors: When resuming, repeat runs that ended with an error of the examiner, judge or infrastructure.
        threshold: A run passes if the low bound of its score is at least this.
        options: Fields of `Options`: `judge`, `sandbox`, `cases`…; with `fork_at` also `examiner`, `examiner_model`.

    Returns:
        The new journal's folder, the statistics, and how many conversations were left out: rounds are missing, they
        broke off before every question was asked, or the agent could no longer be reached.

    Raises:
        SetupError: there is nothing to ask, or you must change something first.
        SandboxError: the requested sandbox is not available.
        JournalError: a journal cannot be read or written.
    """
    if fork_at is None:
        for name, value in (
            ("fork_by", fork_by),
            ("reply", reply),
            ("message", message),
            *((each, options.get(each)) for each in ("examiner", "examiner_model")),
        ):
            if value is not None:
                raise SetupError(f"{name} requires fork_at: without it, the stored questions are asked.")
    asked = options_from(replay_async, options, ALL | {"cases"}, concurrency=4)
    stored, run = reference_of(journal)
    (spec,), agents = find_agents([agent], isolate=asked.isolate)
    names, made = name_evaluators(evaluators)
    name = derived_name(stored, f"fork-{fork_at}" if fork_at else "against")
    folder = new_journal_folder(None if out is None else Path(out), name).absolute()
    request = journals_request("replay", [(stored, run)], replace(asked, agent=spec, evaluators=names))
    request = noting_parts(replace(request, fork_at=fork_at or 0, fork_by=fork_by, edits=Edits(reply, message)))
    request, resumed = begin_or_resume(folder, request, resume=resume)
    around = surroundings(sinks, subscribers, Given(agents=agents, evaluators=made))
    end = await ask_again(request, folder, around, resumed=resumed, retry_errors=retry_errors)
    return SuiteResult(
        folder=folder,
        figures=summarize(read_records(folder, quick=True), threshold),
        ended=end.ended,
        left_out=end.left_out_in_all,
        reason=end.reasons,
    )


replay = blocking(replay_async)

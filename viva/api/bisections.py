"""`bisect`: finds the round after which a failed conversation no longer succeeds."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from viva.api.arguments import Amount, Bounds, Count, Share, checked
from viva.api.asked import ALL, options_from
from viva.api.blocking import blocking
from viva.api.given_parts import AgentLike, EvaluatorLike, SubscriberLike, find_agents
from viva.api.journals import JournalLike, begin_or_resume, reference_of
from viva.api.surroundings import surroundings
from viva.errors import SetupError
from viva.exam.forking.fork import Means
from viva.exam.given import Given
from viva.journal.paths import derived_name, new_journal_folder
from viva.judge.registry import name_evaluators
from viva.records.sink import Sink
from viva.reports.bisection.words import lead_of
from viva.statistics.bisection.plan import MOST_RUNS, Bisection, read_bisection
from viva.statistics.bisection.search import SearchRules
from viva.suites.bisecting.bisect import bisect as run_bisection
from viva.suites.bisecting.request import bisect_request
from viva.suites.engine import Budget

Confidence = Annotated[float, Bounds("a number from 0.5 to 0.9999", lambda value: 0.5 <= value <= 0.9999)]
Runs = Annotated[int, Bounds(f"a whole number from 1 to {MOST_RUNS}", lambda value: 1 <= value <= MOST_RUNS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectionResult:
    """What `bisect` found; the forks are runs in its journal."""

    folder: Path
    """The absolute folder of the journal of the forks."""
    finding: str
    """`round` (one decided), `last` (only the last one), `start` (the agent fails from the start), `not_decided`."""
    round: int | None
    """The decisive round; None if none was found."""
    probability: float
    """The probability of the most probable round."""
    credible: tuple[int, ...]
    """The rounds that have the wanted confidence together; 0 stands for a failure from the start."""
    words: str
    """The finding in one sentence."""
    last_good: str | None
    """The recorded reply before the decisive round."""
    first_bad: str | None
    """The recorded reply of the decisive round."""
    details: Bisection
    """The forks, and the probability of each round."""
    reason: str | None = None
    """Why the search was stopped, such as a budget."""


@checked
async def bisect_async(
    journal: JournalLike,
    agent: AgentLike | None = None,
    *,
    trials: Runs = 3,
    confidence: Confidence = 0.95,
    max_runs: Runs = 120,
    max_cost: Amount | None = None,
    max_tokens: Count | None = None,
    point: str | None = None,
    threshold: Share = 1.0,
    fork_by: Means | None = None,
    evaluators: EvaluatorLike | Iterable[EvaluatorLike] = (),
    sinks: str | Sink | Iterable[str | Sink] = (),
    subscribers: SubscriberLike | Iterable[SubscriberLike] = (),
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    retry_errors: bool = False,
    **options: Any,
) -> BisectionResult:
    """Find the round after which a failed conversation no longer succeeds, by forking it.

    Args:
        journal: `FOLDER#RUN-ID`, a run, or a journal with one run.
        agent: A SPEC, a VirtualUser class, or a function that returns an object with its methods. Default: the agent of
            the run, if you made the journal.
        trials: Number of forks after one round at a time.
        confidence: The probability that the decisive round must reach.
        max_runs: Maximum number of forks.
        max_cost: Start no further fork after this cost, in US dollars.
        max_tokens: Start no further fork after this number of tokens.
        point: A fork succeeds if the scoring point with this id is hit. Default: if its score reaches the threshold.
        threshold: What the low bound of a fork's score must reach, unless its case has a threshold of its own.
        fork_by: How the agent gets to the forks. Default: by the stored state, else by being given the conversation so
            far, else by replaying.
        evaluators: The primary evaluator, which alone decides the score, comes first. Default: `scoring_points`.
        sinks: They also receive completed forks; Viva closes them.
        subscribers: They are notified of starts, rounds and ends.
        out: The journal of the forks. Default: a new one under `runs/`.
        resume: Continue the work in the folder, if there is some: a repeated call continues where it was stopped.
        retry_errors: When resuming, repeat forks that could not be scored.
        options: Fields of `Options`: `judge`, `sandbox`, `examiner`, `examiner_model`, `cases`…

    Returns:
        The decisive round, with its probability.

    Raises:
        SetupError: the conversation did not fail, or cannot be continued.
        SandboxError: the requested sandbox is not available.
        JournalError: a journal cannot be read or written.
    """
    asked = options_from(bisect_async, options, ALL | {"cases"}, concurrency=4)
    stored, run = reference_of(journal)
    specs, agents = ((), {}) if agent is None else find_agents([agent], isolate=asked.isolate)
    names, made = name_evaluators(evaluators)
    folder = new_journal_folder(None if out is None else Path(out), derived_name(stored, "bisect")).absolute()
    request = bisect_request(
        stored,
        run,
        replace(asked, agent=specs[0] if specs else None, evaluators=names),
        SearchRules(1, trials, confidence, max_runs),
        threshold=threshold,
        point=point or "",
        fork_by=fork_by,
    )
    request, resumed = begin_or_resume(folder, request, resume=resume)
    around = surroundings(sinks, subscribers, Given(agents=agents, evaluators=made))
    budget = Budget(max_cost=max_cost, max_tokens=max_tokens)
    end = await run_bisection(request, folder, around, resumed=resumed, retry_errors=retry_errors, budget=budget)
    found = read_bisection(folder)
    if found is None:
        raise SetupError(f"{folder} holds no forks: {end.reason or 'its request cannot be read'}.")
    round_, recorded = found.round, found.plan.recorded
    return BisectionResult(
        folder=folder,
        finding=found.finding.value,
        round=round_,
        probability=found.state.confidence,
        credible=found.credible,
        words=lead_of(found),
        last_good=recorded[round_ - 2].reply if round_ is not None and round_ > 1 else None,
        first_bad=recorded[round_ - 1].reply if round_ is not None else None,
        details=found,
        reason=end.reason,
    )


bisect = blocking(bisect_async)

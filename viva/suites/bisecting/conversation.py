"""Finds the conversation that a bisection is about, and makes its plan."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from viva.errors import SetupError
from viva.journal.reader import StoredRun, read_runs
from viva.records.text import one_line, storable
from viva.records.transcript import LIVE
from viva.records.wording import counted
from viva.statistics.bisection.plan import MOST_ROUNDS, BisectionPlan, RecordedRound
from viva.statistics.bisection.search import SearchRules
from viva.statistics.scores import primary_insight, score_of, threshold_of

SHOWN = 5
MOST_SHOWN = 4000
"""Maximum length of a message or reply that is kept in the plan."""


def conversation_of(folder: Path, run: str | None) -> StoredRun:
    """Return the conversation that was named; without a run, the only one of a journal.

    Raises:
        JournalError: there is no such journal or run.
        SetupError: the journal holds several.
    """
    found = list(islice(read_runs(folder, run), SHOWN + 1))
    if not found:
        raise SetupError(f"{folder} holds no run.")
    if len(found) > 1:
        names = ", ".join(each.id for each in found[:SHOWN]) + (", …" if len(found) > SHOWN else "")
        raise SetupError(f"{folder} holds several runs. Name one of them, {folder}#RUN-ID: {names}")
    return found[0]


def plan_for(stored: StoredRun, rules: SearchRules, threshold: float, point: str) -> BisectionPlan:
    """Return the plan of a bisection.

    Args:
        stored: The conversation.
        rules: The rules of the search; their number of rounds is replaced by that of the conversation.
        threshold: What the low bound of a score must reach.
        point: The id of the scoring point that must be hit; empty for the score.

    Raises:
        SetupError: there is nothing to find in this conversation.
    """
    where, record = f"{stored.id} in {stored.folder}", stored.record
    if stored.transcript.source != LIVE:
        raise SetupError(
            f"{where} is a recording. It has no case by which forks could be judged, and no agent that could continue "
            "it: have the task tested as a case first (viva run)."
        )
    if record is None:
        raise SetupError(f"{where} has not ended. Resume it first, or name a run that failed.")
    if stored.gap is not None:
        raise SetupError(f"{where} cannot be forked: {stored.gap}.")
    rounds = stored.transcript.rounds
    if not rounds:
        raise SetupError(f"{where} has no round: the agent did not get as far as a first reply.")
    if len(rounds) > MOST_ROUNDS:
        raise SetupError(f"{where} has {counted(len(rounds), 'round')}; at most {MOST_ROUNDS:,} can be searched.")
    for number, each in enumerate(rounds, 1):
        if each.number != number or each.examiner is None:
            raise SetupError(f"round {number} of {where} is missing, so the conversation cannot be forked.")
    rules = SearchRules(len(rounds), rules.trials, rules.confidence, rules.max_runs)
    recorded = tuple(
        RecordedRound(_cut(each.examiner or ""), _cut(each.agent if each.error is None else f"(error) {each.error}"))
        for each in rounds
    )
    plan = BisectionPlan(stored.id, rules, threshold, point, recorded)
    if point:
        _check_point(stored, point)
    succeeded = plan.succeeded(record)
    if succeeded is None:
        why = record.error or record.outcome.value.replace("_", " ")
        raise SetupError(f"{where} could not be scored ({one_line(why, 200)}), so there is no failure to explain.")
    if succeeded:
        raise SetupError(f"{where} succeeded{_success_words(stored, plan)}: there is no round at which it failed.")
    return plan


def _cut(text: str | None) -> str:
    text = storable(text or "")
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}… ({len(text):,} characters)"


def _check_point(stored: StoredRun, point: str) -> None:
    """Check that there is such a scoring point.

    Raises:
        SetupError: there is none.
    """
    assert stored.record is not None
    insight = primary_insight(stored.record)
    points = [] if insight is None else [verdict.criterion for verdict in insight.verdicts]
    if point not in points:
        names = ", ".join(one_line(each, 60) for each in points[:20]) or "none"
        raise SetupError(f"{stored.id} has no scoring point {point!r:.80}. Its points: {names}.")


def _success_words(stored: StoredRun, plan: BisectionPlan) -> str:
    assert stored.record is not None
    if plan.point:
        return f" at {one_line(plan.point, 60)}"
    scored = score_of(stored.record)
    least = threshold_of(stored.record, plan.threshold)
    return "" if scored is None else f" (score {scored.low:.2f}, threshold {least:g})"

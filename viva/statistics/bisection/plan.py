"""What a bisection was asked to find, and its result, read from its journal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from viva.journal.kept_files import read_kept
from viva.journal.reader import read_records
from viva.records.codec import decode
from viva.records.run_record import RunRecord
from viva.records.verdict import Label
from viva.statistics.bisection.search import ForkResult, ForkTrial, SearchRules, SearchState, search
from viva.statistics.scores import primary_insight, run_passes

MOST_ROUNDS = 100_000
MOST_RUNS = 999
"""Maximum number of forks, and so of trials after one round."""


@dataclass(frozen=True, slots=True)
class RecordedRound:
    """One round of the conversation that failed, for readers of the result."""

    message: str = ""
    reply: str = ""
    """The agent's reply, or the error with which it failed."""


@dataclass(frozen=True, slots=True)
class BisectionPlan:
    """What a bisection was asked to find."""

    run: str = ""
    """The id of the conversation that failed."""
    rules: SearchRules = field(default_factory=lambda: SearchRules(1))
    threshold: float = 1.0
    """What the low bound of a fork's score must reach, unless its case has a threshold of its own."""
    point: str = ""
    """The id of the scoring point that must be hit instead; empty for the score."""
    recorded: tuple[RecordedRound, ...] = ()

    def limited_to(self, max_runs: int) -> BisectionPlan:
        """Return this plan with another maximum number of forks, which what they tell does not depend on."""
        return replace(self, rules=replace(self.rules, max_runs=max_runs))

    def succeeded(self, record: RunRecord) -> bool | None:
        """Return whether a run succeeds; None if it could not be scored."""
        if not record.outcome.counts:
            return None
        if not self.point:
            return run_passes(record, self.threshold)
        insight = primary_insight(record)
        verdicts = () if insight is None else insight.verdicts
        label = next((each.label for each in verdicts if each.criterion == self.point), None)
        return label == Label.HIT if label in (Label.HIT, Label.MISS) else None

    def result(self, record: RunRecord, kept: int) -> ForkResult:
        """Return what came of a fork.

        Args:
            record: The record of the forked run.
            kept: The last round that it was to keep.
        """
        origin = record.setting.forked_from
        by = origin.get("by", "")
        if not by:  # the agent could not be made, or did not get there: nothing is known of the fork
            return ForkResult(None, kept, record.error or "the agent did not get there")
        first = origin.get("first_differing", "")
        reached = min(kept, int(first) - 1) if first.isdecimal() else kept
        succeeded = self.succeeded(record)
        return ForkResult(succeeded, reached, "" if succeeded is not None else record.error or record.outcome.value)


class BisectionFinding(StrEnum):
    """What a bisection found."""

    ROUND = "round"
    """One round decided."""
    START = "start"
    """The conversation does not succeed from the start either."""
    LAST = "last"
    """Forks succeed up to the last round, so nothing before the ending decided."""
    NOT_DECIDED = "not_decided"


@dataclass(frozen=True, slots=True)
class Bisection:
    """What the forks in a journal tell."""

    plan: BisectionPlan
    state: SearchState
    results: Mapping[ForkTrial, ForkResult]
    runs: Mapping[ForkTrial, str]
    """The id of each run, by its fork."""
    by: Mapping[str, int]
    """The number of forks by how their agents got there."""
    agent: str = ""

    @property
    def finding(self) -> BisectionFinding:
        """Return what was found."""
        if self.state.confidence < self.plan.rules.confidence:
            return BisectionFinding.NOT_DECIDED
        if self.state.best == 0:
            return BisectionFinding.START
        return BisectionFinding.LAST if self.state.best == self.plan.rules.rounds else BisectionFinding.ROUND

    @property
    def round(self) -> int | None:
        """Return the decisive round; None if none was found."""
        return self.state.best if self.finding in (BisectionFinding.ROUND, BisectionFinding.LAST) else None

    @property
    def credible(self) -> tuple[int, ...]:
        """Return the rounds that have the wanted probability together; 0 stands for the start."""
        return self.state.credible(self.plan.rules.confidence)

    def success_before(self, round_: int) -> str | None:
        """Return the id of a run that was forked before a round and succeeded, of those the nearest to it."""
        found = [trial for trial, each in self.results.items() if each.succeeded and each.kept == trial.kept < round_]
        return self.runs[max(found, key=lambda each: (each.kept, -each.number))] if found else None


def fork_id(base: str, trial: ForkTrial) -> str:
    """Return the id of the run that is a fork; `base` is the id of the agent's first run of the case."""
    return f"{base}-after-{trial.kept}-{trial.number}"


def trial_of(run: str) -> ForkTrial | None:
    """Return which fork a run is, by its id; None if it is none."""
    head, _, number = run.rpartition("-")
    _, mark, kept = head.rpartition("-after-")
    if not mark or not (kept.isdecimal() and number.isdecimal()) or len(kept) > 6 or len(number) > 6:
        return None
    return ForkTrial(int(kept), int(number))


def read_bisection(folder: Path) -> Bisection | None:
    """Return what the forks in a journal tell; None if it is not the journal of a bisection.

    Raises:
        JournalError: the journal cannot be read.
    """
    plan = read_plan(folder)
    return None if plan is None else bisection_of(plan, read_records(folder))


def read_plan(folder: Path) -> BisectionPlan | None:
    """Return the plan in a journal's folder, which may be a stranger's; None if there is none."""
    content = read_kept(folder, "request.json")
    if content is None or b'"bisect"' not in content:
        return None
    try:
        data = json.loads(content)
        if not isinstance(data, dict) or data.get("command") != "bisect":
            return None
        plan = decode(BisectionPlan, data.get("plan"))
    except (ValueError, RecursionError):
        return None
    rules = plan.rules
    if not (1 <= rules.rounds <= MOST_ROUNDS and 1 <= rules.trials <= MOST_RUNS and 1 <= rules.max_runs <= MOST_RUNS):
        return None
    return plan if len(plan.recorded) == rules.rounds and 0 < rules.confidence < 1 else None


def bisection_of(plan: BisectionPlan, records: Iterable[RunRecord]) -> Bisection:
    """Return what these forks tell."""
    results: dict[ForkTrial, ForkResult] = {}
    runs: dict[ForkTrial, str] = {}
    by: dict[str, int] = {}
    agent = ""
    for record in records:
        trial = trial_of(record.id)
        if trial is None or trial.kept >= plan.rules.rounds:
            continue
        results[trial], runs[trial] = plan.result(record, trial.kept), record.id
        agent = record.agent
        if way := record.setting.forked_from.get("by"):
            by[way] = by.get(way, 0) + 1
    if len(results) > plan.rules.max_runs:  # the limit was raised when the search was resumed
        plan = plan.limited_to(min(len(results), MOST_RUNS))
    return Bisection(plan, search(plan.rules, results), results, runs, by, agent)

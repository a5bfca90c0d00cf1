"""What an adaptive suite has decided, computed from its batches and records alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from statistics import fmean

from viva.adapters.connectors.spec import agent_label
from viva.errors import SetupError
from viva.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED
from viva.journal.reader import read_records
from viva.records.run_record import RunRecord
from viva.records.text import one_line
from viva.statistics.adaptive.evidence import BatchEvidence, Strata, evidence
from viva.statistics.adaptive.until import Aim, Until
from viva.statistics.intervals import Interval
from viva.statistics.scores import score_of
from viva.suites.adaptive.batches import StoredBatch, StratumKey, gathered, read_batches
from viva.suites.request import SuiteRequest
from viva.suites.resuming.stored_request import load_request

MOST_NAMED = 5
"""Agents that a message names."""
Scores = Mapping[str, float | None]
"""The score of each run that has a record, or its low bound for a gate, by its id; None if it does not count."""


class Answer(StrEnum):
    """What was decided."""

    PRECISE = "precise"
    """The interval is as narrow as was asked for."""
    ABOVE = "above"
    BELOW = "below"
    FIRST = "first"
    """The first agent has the higher score."""
    SECOND = "second"
    EQUIVALENT = "equivalent"
    """The scores differ by less than the margin."""
    OPEN = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveDecision:
    """What is known of one question: an agent's score, or the difference between two agents."""

    until: str
    """The decision that was asked for, such as `ci=0.05`."""
    agents: tuple[str, ...]
    """The agent, or both."""
    answer: Answer
    margin: float | None = None
    estimate: float | None = None
    """The mean over cases of the scores, of their low bounds for a gate, or the second agent's mean minus the first's;
    None before the first batch is complete."""
    interval: Interval | None = None
    """95 %, valid although the suite stopped because of its results."""
    runs: int = 0
    """Runs that the decision rests on."""
    excluded: int = 0
    """Runs of its batches that do not count."""
    batches: int = 0
    cases: int = 0
    fixed_runs: int = 0
    """Runs of a suite with a fixed number of trials and the same error, planned without knowing how scores vary."""
    fixed_runs_knowing: int | None = None
    """The same, planned with the variance that was seen here."""
    bounds: Interval | None = None
    """The estimate if every excluded run scored 0, or 1, whichever is lower and higher; None if none was excluded."""
    due: bool = False
    """Whether all information is in, so that no further batch is planned."""
    missing: tuple[str, ...] = ()
    """Cases without a run that counts in the last batch: nothing can be decided without them."""
    seen: BatchEvidence | None = None
    """Of complete batches; None if there is none. Not in files."""

    @property
    def ended(self) -> bool:
        """Return whether no further batch is to be planned."""
        return self.answer is not Answer.OPEN or self.due or bool(self.missing)

    def plain(self) -> dict[str, object]:
        """Return what files contain."""
        ends = None if self.interval is None else [self.interval.low, self.interval.high]
        bounds = None if self.bounds is None else [self.bounds.low, self.bounds.high]
        return {
            "until": self.until, "agents": list(self.agents), "answer": self.answer.value, "margin": self.margin,
            "estimate": self.estimate, "interval": ends, "runs": self.runs, "excluded": self.excluded,
            "batches": self.batches, "cases": self.cases, "fixed_runs": self.fixed_runs,
            "fixed_runs_knowing": self.fixed_runs_knowing, "bounds": bounds, "missing": list(self.missing),
        }  # fmt: skip


def score_for_decision(record: RunRecord, until: Until) -> float | None:
    """Return what a decision takes of a run that counts; None for an excluded one.

    A gate compares the low bound, as all gates do: what could not be judged counts as missed, and a run in which the
    agent failed as 0. An agent is therefore surely above a gate if it is so whatever the open verdicts are, and surely
    below if its low bound is, for which `--fail-under` ends with the same exit code. Both decisions are about one
    figure, which the words name, so that the error of the suite is that of one sequential test.

    `ci` and `compare` decide nothing about an agent's passing: they tell the mean score and its differences, as
    reports and `viva compare` show them, and stay with the score.
    """
    found = score_of(record)
    if found is None:
        return None
    return found.low if until.aim is Aim.GATE else found.score


def scores_in(folder: Path, until: Until) -> dict[str, float | None]:
    """Return what a decision takes of the runs in a journal, by id."""
    return {record.id: score_for_decision(record, until) for record in read_records(folder, quick=True)}


def questions(until: Until, agents: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the agents of each question: both at once for a comparison, each by itself otherwise."""
    return [tuple(agents)] if until.aim is Aim.COMPARE else [(agent,) for agent in agents]


def decide(until: Until, agents: tuple[str, ...], batches: Sequence[StoredBatch], scores: Scores) -> AdaptiveDecision:
    """Return what complete batches say about one question.

    A batch is complete when each of its strata has as many scores as were planned. The first runs that count, by trial,
    are used: those that stand in for excluded ones come last, and nothing that is added later changes the number.
    """
    keys = _strata(agents, batches)
    found = [batch for batch in gathered(batches) if any(key in batch for key in keys)]
    complete: list[list[list[float]]] = []
    used, excluded = 0, Counter[StratumKey]()
    trials = Counter[StratumKey]()
    missing: list[str] = []
    for batch in found:
        taken: list[list[float]] = []
        for key in keys:
            wanted, runs = batch.get(key, (0, []))
            counted = [score for run in runs if (score := scores.get(run)) is not None]
            excluded[key] += sum(run in scores and scores[run] is None for run in runs)
            taken.append(counted[:wanted])
            if not counted and all(run in scores for run in runs):
                missing.append(key.case)
        if not all(taken) or not all(run in scores for key in keys for run in batch[key][1]):
            break
        complete.append(taken)
        trials.update({key: len(each) for key, each in zip(keys, taken, strict=True)})
        used += sum(map(len, taken))
    cases = len(keys) // len(agents)
    base = AdaptiveDecision(
        until=str(until),
        agents=agents,
        answer=Answer.OPEN,
        margin=None if until.aim is Aim.CI else until.margin,
        excluded=excluded.total(),
        runs=used,
        batches=len(complete),
        cases=cases,
        fixed_runs=until.fixed_trials(cases) * len(keys) if cases else 0,
        missing=tuple(dict.fromkeys(missing)),
    )
    if not complete:
        return base
    strata = Strata.of(cases, compared=until.aim is Aim.COMPARE)
    seen = evidence(until, strata, complete)
    # However the excluded runs would have scored, the mean of a case moves by at most their share of its runs.
    moved = sum(excluded[key] / (excluded[key] + trials[key]) for key in keys) / cases
    return _with(base, until, seen, moved, len(keys))


def _with(base: AdaptiveDecision, until: Until, seen: BatchEvidence, moved: float, strata: int) -> AdaptiveDecision:
    knowing = until.fixed_trials(base.cases, fmean(seen.spread)) * strata
    bounds = None
    if moved:
        low, high = seen.estimate - moved, seen.estimate + moved
        bounds = Interval(max(-1.0 if until.aim is Aim.COMPARE else 0.0, low), min(1.0, high))
    return replace(
        base,
        answer=Answer(seen.verdict) if seen.verdict else Answer.OPEN,
        estimate=seen.estimate,
        interval=seen.interval,
        fixed_runs_knowing=knowing,
        bounds=bounds,
        due=seen.due,
        seen=seen,
    )


def _strata(agents: tuple[str, ...], batches: Sequence[StoredBatch]) -> list[StratumKey]:
    """Return the strata of a question: those of the first agent, then those of the second, in the same order."""
    keys = dict.fromkeys(row.key for batch in batches[:1] for row in batch.rows)
    return [key for agent in agents for key in keys if key.agent == agent]


def decisions_in(folder: Path, request: SuiteRequest | None = None) -> list[AdaptiveDecision]:
    """Return what the suite of a journal has decided so far; nothing if it is not adaptive.

    Raises:
        SetupError: what is stored of it cannot be read.
        JournalError: there is no journal.
    """
    found = request if request is not None else load_request(folder)
    if not isinstance(found, SuiteRequest) or found.until is None:
        return []
    batches = read_batches(folder)
    agents = tuple(dict.fromkeys(row.agent for batch in batches[:1] for row in batch.rows))
    if not agents:
        return []
    scores = scores_in(folder, found.until)
    return [decide(found.until, each, batches, scores) for each in questions(found.until, agents)]


def exit_code(decisions: Sequence[AdaptiveDecision]) -> int:
    """Return 0 if all is decided, 1 if an agent is surely below the gate, and 3 if something is undecided."""
    if any(each.answer is Answer.BELOW for each in decisions):
        return EXIT_BELOW
    return EXIT_NOT_SCORED if not decisions or any(each.answer is Answer.OPEN for each in decisions) else EXIT_DONE


def refuse_impossible(until: Until, agents: Sequence[str]) -> None:
    """Check that a decision is possible with these agents.

    Raises:
        SetupError: it is not.
    """
    if until.aim is Aim.COMPARE and len(agents) != 2:
        if len(agents) < 2:
            raise SetupError("--until compare requires two agents, and 1 is given: name both with --agent.")
        names = ", ".join(one_line(agent_label(each), 80) for each in agents[:MOST_NAMED])
        more = f" and {len(agents) - MOST_NAMED} more" if agents[MOST_NAMED:] else ""
        raise SetupError(
            f"--until compare requires two agents, and {len(agents)} are given: {names}{more}. Each combination of "
            "--vary is an agent. Name the two to compare, each as one --agent with its settings (--agent "
            "'SPEC[NAME=VALUE]'); --until ci=WIDTH tells the score of each instead."
        )

"""The corrected scores of a suite, by agent, or why there are none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from viva.records.run_record import Outcome, RunRecord
from viva.records.verdict import Insight, Label
from viva.records.wording import SCORING_POINTS, counted
from viva.statistics.agreement.chance import NOT_SHOWN
from viva.statistics.cells import natural
from viva.statistics.corrected.clusters import CaseSums, nothing_completed
from viva.statistics.corrected.prediction_powered import prediction_powered
from viva.statistics.corrected.rogan_gladen import accuracy_of, rogan_gladen, too_few
from viva.statistics.corrected.truths import Truths
from viva.statistics.scores import primary_insight, score_of

FEWEST_LABELLED = 20
"""Minimum number of labelled cases: with fewer, the intervals are not what they claim to be."""
_DOUBLED = "several journals here have runs with these ids: correct the score of one journal at a time, by its labels"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedScore:
    """Holds one agent's mean score as the judge gave it, and as people would have given it."""

    agent: str
    raw: float
    """The mean of the scores by the judge, over the runs that count. A run in which the agent failed counts as 0, as it
    does in the corrected score."""
    runs: int
    cases: int
    labelled_cases: int
    """Cases with a point that people labelled hit or miss."""
    labels: int
    """Points that people labelled hit or miss."""
    value: float | None = None
    """The mean by prediction-powered inference; None if `refused` says why there is none."""
    low: float | None = None
    high: float | None = None
    """The ends of its 95 % interval."""
    trust: float | None = None
    """How much the judge counts beside the labels, between 0 (not at all) and 1: the lambda of PPI++."""
    sensitivity: float | None = None
    """The share of hits, by people, that the judge calls hits; weighted as the points are."""
    specificity: float | None = None
    """The share of misses, by people, that the judge calls misses."""
    labelled_hits: int = 0
    """Labelled points that people call hits: what `sensitivity` is measured on."""
    labelled_misses: int = 0
    """Labelled points that people call misses: what `specificity` is measured on."""
    binary: float | None = None
    """The mean by Rogan and Gladen's correction; None if `binary_refused` says why there is none."""
    binary_low: float | None = None
    binary_high: float | None = None
    binary_refused: str = ""
    """Why there is no `binary`, in words: too few cases have a hit or a miss, or the judge is not shown to be better
    than chance. Empty also if people labelled no hit, or no miss."""
    refused: str = ""
    """Why nothing is corrected, in words."""
    notes: tuple[str, ...] = ()
    """Labels and runs that could not be used, in words."""
    failed: int = 0
    """Runs in which the agent failed. They count as 0, whatever was judged: these scores are compared with gates."""
    measured_in: str = ""
    """The journal whose labelled runs told the judge's accuracy, by which `value` is corrected (Rogan and Gladen);
    empty if points of these runs are labelled."""


def failed_words(score: CorrectedScore) -> str:
    """Return in words that runs in which the agent failed count as 0; empty if there are none."""
    if not score.failed:
        return ""
    verb = "counts" if score.failed == 1 else "count"
    return f" (the agent failed in {counted(score.failed, 'run')}, which {verb} as 0)"


class CorrectedTallies:
    """Adds up what corrected scores are reckoned from, by agent and case."""

    def __init__(self, truths: Truths | None = None) -> None:
        """Begin with what people say; without it, nothing is corrected."""
        self._truths = truths
        self._agents: dict[str, _AgentSums] = {}
        self._seen: set[str] = set()
        self._twice = 0
        self._matched = 0
        self._of_failed = 0

    def add(self, record: RunRecord) -> None:
        """Add one run; one that does not count is in no average, corrected or not."""
        if self._truths is None:
            return
        labelled = self._truths.points.get(record.id, {})
        if labelled:
            self._twice += record.id in self._seen
            self._seen.add(record.id)
        scored = score_of(record)
        if scored is None:
            return
        sums = self._agents.setdefault(record.agent, _AgentSums())
        case = sums.cases.setdefault(record.subject, CaseSums())
        sums.runs += 1
        if record.outcome is Outcome.TARGET_ERROR:
            case.add_failed(1.0)
            sums.failed += 1
            self._of_failed += len(labelled)
            return
        insight = primary_insight(record)
        shares = None if insight is None else shares_of(insight, scored.score)
        sums.raw += scored.score
        if insight is None or shares is None:
            sums.whole += bool(insight is not None and insight.verdicts)
            case.add_other(1.0, scored.score)
            return
        for verdict, share in zip(insight.verdicts, shares, strict=True):
            judged = float(verdict.label == Label.HIT)
            truth = labelled.get(verdict.criterion)
            if truth is None:
                case.add_other(share, judged)
                continue
            case.add_labelled(share, truth=float(truth), judged=judged)
            sums.labels += 1
            self._matched += 1

    def by_agent(self) -> tuple[CorrectedScore, ...]:
        """Return the corrected score of each agent in natural order; none without labels."""
        if self._truths is None:
            return ()
        notes = tuple(self._notes(self._truths))
        return tuple(
            _corrected(agent, self._agents[agent], notes, self._truths, doubled=self._twice > 0)
            for agent in sorted(self._agents, key=natural)
        )

    def labelled_cases(self) -> tuple[CaseSums, ...]:
        """Return the sums of each case that people labelled a point of, over all agents."""
        found: dict[str, CaseSums] = {}
        for sums in self._agents.values():
            for name, case in sums.cases.items():
                if case.weight > 0:
                    found.setdefault(name, CaseSums()).add(case)
        return tuple(found.values())

    def _notes(self, truths: Truths) -> list[str]:
        unused = sum(len(points) for points in truths.points.values()) - self._matched - self._of_failed
        words = [f"{counted(unused, 'labelled point')} that no counted run here has: not used"] if unused > 0 else []
        if self._of_failed:
            of = "runs in which the agent failed: not used, because such a run counts as 0"
            words.append(f"{counted(self._of_failed, 'labelled point')} of {of}")
        return [*words, *truths.notes()]


class _AgentSums:
    __slots__ = ("cases", "failed", "labels", "raw", "runs", "whole")

    def __init__(self) -> None:
        self.cases: dict[str, CaseSums] = {}
        self.runs = self.failed = self.labels = self.whole = 0
        """`whole`: runs whose score is not the weighted share of its hits."""
        self.raw = 0.0


def shares_of(insight: Insight, score: float) -> Sequence[float] | None:
    """Return the share of each point in its run's score; None if the score is not the sum of the shares that were hit.

    Args:
        insight: The primary evaluator's.
        score: The score of the run.
    """
    total = math.fsum(verdict.weight for verdict in insight.verdicts)
    if insight.evaluator != SCORING_POINTS or total <= 0:
        return None
    shares = [verdict.weight / total for verdict in insight.verdicts]
    hit = math.fsum(
        share for share, verdict in zip(shares, insight.verdicts, strict=True) if verdict.label == Label.HIT
    )
    return shares if abs(hit - score) < 1e-6 else None


def _corrected(
    agent: str, sums: _AgentSums, notes: tuple[str, ...], truths: Truths, *, doubled: bool
) -> CorrectedScore:
    cases = list(sums.cases.values())
    labelled = sum(case.weight > 0 for case in cases)
    if sums.whole:
        notes = (*notes, f"runs whose score is not the weighted share of their hits: {sums.whole}, as judged")
    found = CorrectedScore(
        agent=agent,
        raw=sums.raw / sums.runs,
        runs=sums.runs,
        cases=len(cases),
        labelled_cases=labelled,
        labels=sums.labels,
        refused=_DOUBLED if doubled else truths.refusal(labelled, FEWEST_LABELLED),
        notes=notes,
        failed=sums.failed,
    )
    if not doubled and (nothing := nothing_completed(cases)) is not None:
        return replace(found, value=nothing.value, low=nothing.low, high=nothing.high, refused="")
    if found.refused:
        return found
    mean, binary, accuracy = prediction_powered(cases), rogan_gladen(cases), accuracy_of(cases)
    found = replace(found, value=mean.value, low=mean.low, high=mean.high, trust=mean.trust)
    if accuracy is None:
        return found
    found = replace(
        found,
        sensitivity=accuracy.sensitivity,
        specificity=accuracy.specificity,
        labelled_hits=sum(case.hits for case in cases),
        labelled_misses=sum(case.misses for case in cases),
    )
    if binary is None:
        return replace(found, binary_refused=too_few(cases) or f"it is {NOT_SHOWN}: label more points")
    return replace(found, binary=binary.value, binary_low=binary.low, binary_high=binary.high)

"""Sums the findings of the evaluator `exam`: a few numbers for each agent and case, however many runs there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from viva.judge.exam.kinds import EXAM, REVIEW, REVIEWED, SKIPPED, ExamFault
from viva.records.fault import Fault
from viva.records.run_record import Outcome, RunRecord
from viva.records.unfair_attempts import BROKE_OFF, UnfairAttempt, earlier_attempts
from viva.records.verdict import Insight, Label
from viva.statistics.cells import natural
from viva.statistics.clustered import clustered_mean_interval, clustered_wilson
from viva.statistics.exams.figures import ExaminerFigures
from viva.statistics.intervals import Interval, mean_interval, wilson
from viva.statistics.scores import insight_of, primary_evaluator, score_of

KINDS = frozenset({*(kind.value for kind in ExamFault), BROKE_OFF})
UNJUDGED = frozenset({SKIPPED, Label.ERROR, "no-reply"})
"""Labels of exams that were not judged, and therefore do not count as fair."""
OTHER = "other"
"""Name for every kind that this version does not know: an untrusted journal may have any number of them."""


class ExaminerTallies:
    """Sums records by agent and case."""

    def __init__(self) -> None:
        self._agents: dict[str, dict[str, _ExamTally]] = {}
        self._failed: Counter[str] = Counter()
        """Exams on which the evaluator failed, by agent."""

    def add(self, record: RunRecord) -> None:
        """Add one run; a run whose examiner was not to be judged is ignored."""
        insight = insight_of(record.insights, EXAM, record.id) if record.insights else None
        if insight is None and (EXAM not in record.setting.evaluators or record.outcome is not Outcome.EXAMINER_ERROR):
            return
        if insight is not None and insight.label in UNJUDGED:
            if insight.label == Label.ERROR:
                self._failed[record.agent] += 1
            if not earlier_attempts(insight.details):
                return
        cases = self._agents.setdefault(record.agent, {})
        tally = cases.get(record.subject)
        if tally is None:
            tally = cases[record.subject] = _ExamTally()
        tally.add(record, insight)

    def overall(self) -> ExaminerFigures | None:
        """Return the figures of all runs; None if no examiner was judged and none was to be judged."""
        clusters: dict[str, list[_ExamTally]] = {}
        for cases in self._agents.values():
            for case, tally in cases.items():
                clusters.setdefault(case, []).append(tally)
        agents = self._names()
        if not agents:
            return None
        return _figures(None, list(clusters.values()), self._failed.total(), alone=len(agents) == 1)

    def _names(self) -> set[str]:
        """Return the agents with an exam that was judged, or on which the evaluator failed."""
        return self._agents.keys() | self._failed.keys()

    def by_agent(self) -> Iterator[ExaminerFigures]:
        """Yield the figures of each agent, in natural order."""
        for agent in sorted(self._names(), key=natural):
            tallies = [[tally] for tally in self._agents.get(agent, {}).values()]
            yield _figures(agent, tallies, self._failed[agent], alone=True)


class _ExamTally:
    """Holds the sums of the exams of one agent with one case."""

    __slots__ = ("exams", "fair", "kinds", "noted", "open", "raw", "reviewed", "unfair", "unreviewed")

    def __init__(self) -> None:
        self.exams = self.unfair = self.reviewed = self.unreviewed = self.open = 0
        self.kinds: Counter[str] = Counter()
        self.noted: Counter[str] = Counter()
        self.raw: list[float] = []
        self.fair: list[float] = []

    def add(self, record: RunRecord, insight: Insight | None) -> None:
        earlier = earlier_attempts(insight.details) if insight is not None else ()
        for attempt in earlier:
            self._add_unfair(attempt.kinds)
        if insight is not None and insight.label in UNJUDGED:
            return  # nobody knows whether the last attempt was fair
        self.exams += 1
        broke_off = insight is None or insight.label == BROKE_OFF
        verdicts = () if insight is None else insight.verdicts
        unfair = [verdict.criterion for verdict in verdicts if verdict.fault == Fault.EXAMINER]
        if unfair or broke_off:
            self.exams -= 1
        if unfair or (broke_off and record.outcome is Outcome.EXAMINER_ERROR):
            self._add_unfair(tuple(unfair) or (BROKE_OFF,))
        self.noted.update(_known(verdict.criterion for verdict in verdicts if verdict.fault != Fault.EXAMINER))
        review = None if insight is None else insight.details.get(REVIEW)
        self.reviewed += review == REVIEWED
        unreviewed = review is not None and review != REVIEWED
        self.unreviewed += unreviewed
        self.open += unreviewed and not unfair and not broke_off
        self._add_scores(record, earlier)

    def _add_unfair(self, kinds: Sequence[str]) -> None:
        self.exams += 1
        self.unfair += 1
        self.kinds.update(_known(kinds))

    def _add_scores(self, record: RunRecord, earlier: Sequence[UnfairAttempt]) -> None:
        if primary_evaluator(record.setting, record.insights) == EXAM:
            return  # then the score of the run is that of the exam, not of the agent
        scored = score_of(record)
        if scored is not None:
            self.fair.append(scored.score)
        first = next((attempt.score for attempt in earlier if attempt.score is not None), None)
        if first is None:
            first = record.score if scored is None and record.outcome is Outcome.EXAMINER_ERROR else None
            first = scored.score if scored is not None else first
        if first is not None:
            self.raw.append(first)


def _known(kinds: Iterable[str]) -> set[str]:
    return {kind if kind in KINDS else OTHER for kind in kinds}


def _figures(
    agent: str | None, clusters: Sequence[Sequence[_ExamTally]], failed: int, *, alone: bool
) -> ExaminerFigures:
    """Return the figures of some cases; each cluster holds the tallies of one case."""
    tallies = [tally for cluster in clusters for tally in cluster]
    rates = [(sum(each.unfair for each in cluster), sum(each.exams for each in cluster)) for cluster in clusters]
    exams, unfair = sum(n for _, n in rates), sum(k for k, _ in rates)
    raw = [[score for each in cluster for score in each.raw] for cluster in clusters]
    fair = [[score for each in cluster for score in each.fair] for cluster in clusters]
    return ExaminerFigures(
        agent=agent,
        exams=exams,
        unfair=unfair,
        rate=unfair / exams if exams else None,
        rate_interval=None if not exams else clustered_wilson(rates) if len(rates) > 1 else wilson(unfair, exams),
        kinds=_summed(tally.kinds for tally in tallies),
        noted=_summed(tally.noted for tally in tallies),
        reviewed=sum(tally.reviewed for tally in tallies),
        unreviewed=sum(tally.unreviewed for tally in tallies),
        open=sum(tally.open for tally in tallies) + failed,
        failed=failed,
        raw=_mean(raw),
        raw_interval=_interval(raw) if alone else None,
        fair=_mean(fair),
        fair_interval=_interval(fair) if alone else None,
        runs=sum(map(len, fair)),
        runs_raw=sum(map(len, raw)),
    )


def _summed(counts: Iterable[Counter[str]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(sorted(total.items(), key=lambda pair: (-pair[1], pair[0])))


def _mean(scores: Sequence[Sequence[float]]) -> float | None:
    number = sum(map(len, scores))
    return sum(map(sum, scores)) / number if number else None


def _interval(scores: Sequence[Sequence[float]]) -> Interval | None:
    counted = [each for each in scores if each]
    if not counted:
        return None
    if len(counted) > 1:
        return clustered_mean_interval([(sum(each), len(each)) for each in counted])
    return mean_interval(counted[0])

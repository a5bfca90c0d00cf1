"""The figures of trajectories: accuracies over steps and traces, both combined ones, and how each tool was used.

The figures, and what they are called on the console, are those of the GitHub Agent Evaluation Framework. What could not
be judged is in no rate, and is counted beside it. Gates compare low bounds, in which a run that the agent did not
complete earns nothing, as elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from viva.judge.reward import RewardEvaluator
from viva.judge.trajectory import (
    ALIGNMENT,
    MATCHES,
    NO_TOOL,
    QUERY_TO_THOUGHT,
    RUN_EVALUATORS,
    SEQUENCE,
    SKIPPED,
    STEP_EVALUATORS,
    THOUGHT_TO_TOOL,
    TOOL_SUCCESS,
    TRAJECTORY_EVALUATORS,
)
from viva.records.run_record import Outcome, RunRecord
from viva.records.verdict import Insight, Label, Verdict
from viva.statistics.cells import natural
from viva.statistics.scores import insight_of
from viva.statistics.trajectory_figures import (
    COMBINED_STEPS,
    COMBINED_TRACES,
    RATES,
    Agreement,
    Rate,
    ToolUse,
    TrajectoryFigures,
)

MOST_TOOLS = 1000
"""Tools that are told apart: a journal may be untrusted."""
OTHER_TOOLS = "(other tools)"
REWARD = RewardEvaluator.name
COMPARED_WITH_REWARD = (SEQUENCE, ALIGNMENT, *MATCHES)


class TrajectoryTally:
    """Adds up the records of one group of runs; a few numbers are kept, however many there are."""

    def __init__(self) -> None:
        self._runs = 0
        self._rates: dict[str, _Counts] = {}
        self._tools: dict[str, _Use] = {}
        self._rewards: dict[str, Counter[tuple[bool, bool]]] = {}

    def add(self, record: RunRecord) -> None:
        """Add one run; one that was no exam, or has no insight of a trajectory evaluator, changes nothing."""
        found = insights_of(record)
        if record.outcome is Outcome.EXAMINER_ERROR or not found:
            return
        self._runs += 1
        failed = record.outcome is Outcome.TARGET_ERROR
        for name in (name for name in TRAJECTORY_EVALUATORS if name in found):
            counts = _Counts()
            for verdict in found[name].verdicts:
                # A run without a single step to judge is no step.
                if verdict.label != SKIPPED or verdict.subject != record.id or name in RUN_EVALUATORS:
                    counts.add(verdict)
            self._add(name, counts, failed)
        if THOUGHT_TO_TOOL in found and QUERY_TO_THOUGHT in found:
            self._combine(record.id, found, failed)
        self._use_tools(record, found)
        self._compare(record, found)

    def figures(self, agent: str | None = None) -> TrajectoryFigures:
        """Return the sums."""
        ordered = sorted(self._rates, key=RATES.index)
        tools = sorted(self._tools.items(), key=lambda item: (-item[1].uses, natural(item[0])))
        return TrajectoryFigures(
            agent=agent,
            runs=self._runs,
            rates=tuple(self._rates[name].rate(name) for name in ordered),
            tools=tuple(use.figures(tool) for tool, use in tools),
            agreements=tuple(_agreement(name, counts) for name, counts in self._rewards.items()),
        )

    def _add(self, name: str, run: _Counts, failed: bool) -> None:
        """Add what was counted in one run to the rate of this name."""
        self._rates.setdefault(name, _Counts()).add_run(run, failed)

    def _combine(self, run: str, found: Mapping[str, Insight], failed: bool) -> None:
        by_tool, by_query = _by_subject(found[THOUGHT_TO_TOOL]), _by_subject(found[QUERY_TO_THOUGHT])
        steps = _Counts()
        for step in _paired(by_tool, by_query, run):
            if any(verdict.label == SKIPPED for verdict in step):
                steps.skipped += 1
            else:
                steps.add_all(step)
        self._add(COMBINED_STEPS, steps, failed)
        if SEQUENCE not in found:
            return
        traces, path = _Counts(), found[SEQUENCE].verdicts
        every = [*by_tool.values(), *by_query.values()]
        judged = [verdict for verdict in every if verdict.label != SKIPPED]
        if not judged or not path or path[0].label == SKIPPED:
            traces.skipped += 1
        else:
            traces.add_all((*judged, path[0]))
        self._add(COMBINED_TRACES, traces, failed)

    def _compare(self, record: RunRecord, found: Mapping[str, Insight]) -> None:
        reward = insight_of(record.insights, REWARD, record.id)
        if reward is None or reward.score is None:
            return
        for name in (name for name in COMPARED_WITH_REWARD if name in found):
            if len(found[name].verdicts) == 1 and (score := found[name].verdicts[0].score) is not None:
                self._rewards.setdefault(name, Counter())[score >= 1, reward.score >= 1] += 1

    def _use_tools(self, record: RunRecord, found: Mapping[str, Insight]) -> None:
        insight = next((found[name] for name in (TOOL_SUCCESS, *STEP_EVALUATORS) if name in found), None)
        if insight is None:
            return
        for verdict in insight.verdicts:
            if verdict.subject == record.id or verdict.statement in ("", NO_TOOL):
                continue
            known = verdict.statement in self._tools or len(self._tools) < MOST_TOOLS
            use = self._tools.setdefault(verdict.statement if known else OTHER_TOOLS, _Use())
            use.add(verdict if insight.evaluator == TOOL_SUCCESS else None)


class TrajectoryTallies:
    """Adds records up over all runs and by agent."""

    def __init__(self) -> None:
        self._all = TrajectoryTally()
        self._agents: dict[str, TrajectoryTally] = {}

    def add(self, record: RunRecord) -> None:
        """Add one run."""
        if not insights_of(record):
            return
        self._all.add(record)
        if record.agent not in self._agents:
            self._agents[record.agent] = TrajectoryTally()
        self._agents[record.agent].add(record)

    def overall(self) -> TrajectoryFigures | None:
        """Return the figures of all runs; None if no trajectory evaluator judged any."""
        figures = self._all.figures()
        return figures if figures.runs else None

    def by_agent(self) -> Iterator[TrajectoryFigures]:
        """Yield those of each agent, in natural order."""
        for agent in sorted(self._agents, key=natural):
            if (figures := self._agents[agent].figures(agent)).runs:
                yield figures


def insights_of(record: RunRecord) -> dict[str, Insight]:
    """Return the insight of each trajectory evaluator about the run as a whole."""
    found: dict[str, Insight] = {}
    for insight in record.insights:
        if insight.evaluator in _NAMES and insight.subject == record.id:
            found.setdefault(insight.evaluator, insight)
    return found


_NAMES = frozenset(TRAJECTORY_EVALUATORS)


def _agreement(name: str, counts: Counter[tuple[bool, bool]]) -> Agreement:
    return Agreement(
        name=name,
        both_right=counts[True, True],
        both_wrong=counts[False, False],
        evaluator_alone=counts[True, False],
        reward_alone=counts[False, True],
    )


def _by_subject(insight: Insight) -> dict[str, Verdict]:
    return {verdict.subject: verdict for verdict in islice(insight.verdicts, 1_000_000)}


def _paired(by_tool: Mapping[str, Verdict], by_query: Mapping[str, Verdict], run: str) -> list[tuple[Verdict, ...]]:
    """Return both verdicts on each step; an evaluator that failed for the whole run left every step open."""
    whole = (by_tool.get(run), by_query.get(run))
    tool, query = (each if each is not None and each.label == Label.ERROR else None for each in whole)
    steps = dict.fromkeys(step for step in (*by_tool, *by_query) if step != run)
    both = ((by_tool.get(step, tool), by_query.get(step, query)) for step in steps)
    pairs: list[tuple[Verdict, ...]] = [(one, other) for one, other in both if one is not None and other is not None]
    failures = tuple(each for each in (tool, query) if each is not None)
    return pairs or ([failures] if failures else [])


@dataclass(slots=True)
class _Counts:
    right: float = 0.0
    judged: int = 0
    unsure: int = 0
    errors: int = 0
    skipped: int = 0
    runs: int = 0
    failed: int = 0
    failed_right: float = 0.0
    failed_unjudged: int = 0

    def add(self, verdict: Verdict) -> None:
        if verdict.score is not None:
            self.right, self.judged = self.right + verdict.score, self.judged + 1
        elif verdict.label == Label.ERROR:
            self.errors += 1
        elif verdict.label == Label.UNSURE:
            self.unsure += 1
        else:
            self.skipped += 1

    def add_all(self, verdicts: Sequence[Verdict]) -> None:
        """Add one thing that is right where all verdicts are: one that is wrong decides, even if others are open."""
        wrong = any(verdict.score is not None and verdict.score < 1 for verdict in verdicts)
        if wrong or all(verdict.score is not None for verdict in verdicts):
            self.right, self.judged = self.right + (not wrong), self.judged + 1
        elif any(verdict.label == Label.ERROR for verdict in verdicts):
            self.errors += 1
        else:
            self.unsure += 1

    def add_run(self, run: _Counts, failed: bool) -> None:
        """Add what was counted in one run, and whether the agent failed in it."""
        self.runs += 1
        self.right += run.right
        self.judged += run.judged
        self.unsure += run.unsure
        self.errors += run.errors
        self.skipped += run.skipped
        if failed:
            self.failed += 1
            self.failed_right += run.right
            self.failed_unjudged += not (run.judged or run.unsure or run.errors)

    def rate(self, name: str) -> Rate:
        return Rate(
            name=name,
            runs=self.runs,
            right=self.right,
            judged=self.judged,
            unsure=self.unsure,
            errors=self.errors,
            skipped=self.skipped,
            failed=self.failed,
            failed_right=self.failed_right,
            failed_unjudged=self.failed_unjudged,
        )


@dataclass(slots=True)
class _Use:
    uses: int = 0
    succeeded: int = 0
    failed: int = 0

    def add(self, verdict: Verdict | None) -> None:
        self.uses += 1
        if verdict is not None and verdict.score is not None:
            if verdict.score >= 1:
                self.succeeded += 1
            else:
                self.failed += 1

    def figures(self, tool: str) -> ToolUse:
        return ToolUse(tool=tool, uses=self.uses, succeeded=self.succeeded, failed=self.failed)

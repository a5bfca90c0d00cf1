"""The statistics of a suite: scores, rates and their intervals by suite, agent, case, tag, cell and evaluator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Protocol

from viva.records.copies import make_quickly
from viva.records.run_record import RunRecord, Setting
from viva.records.text import one_line
from viva.records.transcript import Usage
from viva.records.wording import agent_words, judge_words, sandbox_words
from viva.statistics.calibration.uses import JudgeTallies, JudgeUse
from viva.statistics.causes.cause import Cause
from viva.statistics.causes.tally import CauseTally, Wording
from viva.statistics.cells import Cell, gather_cells, natural
from viva.statistics.corrected.elsewhere import MeasuredJudge, MeasuredTallies
from viva.statistics.corrected.figures import CorrectedScore, CorrectedTallies
from viva.statistics.corrected.truths import Truths
from viva.statistics.error_groups import ErrorGroup, ErrorGroups
from viva.statistics.evaluators import EvaluatorStatistics, EvaluatorTallies
from viva.statistics.exams.figures import ExaminerFigures
from viva.statistics.exams.tallies import ExaminerTallies
from viva.statistics.groups import Group, group_of
from viva.statistics.layers.figures import HitFigures, HitTallies
from viva.statistics.missing.bounds import MissingBounds, MissingTallies
from viva.statistics.missing.requeued import RequeuedGroup, RequeuedGroups
from viva.statistics.missing.skipped import SkippedGroup, SkippedGroups
from viva.statistics.trajectories import TrajectoryTallies
from viva.statistics.trajectory_figures import TrajectoryFigures
from viva.statistics.variants.figures import DimensionFigures, VariantTallies
from viva.statistics.votes import VoteFigures, VoteTallies

MOST_ERROR_GROUPS = 100
"""Kinds of errors that are kept of a suite."""
MOST_CONDITIONS = 1_000
"""Settings whose words are remembered."""
MOST_CAUSES = 100
"""Causes of misses that are kept of a suite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Says how some runs were held and judged, in words that are safe to show."""

    examiner: str
    judge: str
    sandbox: str
    """Says so where it does not isolate; empty if no check ran."""
    viva: str
    """Version."""
    agent: str = ""
    """`in-process` where the agents' code ran in Viva's own process."""
    suite: str = ""
    """The suite of `viva.yaml`, by name; empty if the runs belong to none."""
    runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Holds all statistics of a stream of records; the groups of each kind in natural order of their names."""

    threshold: float
    """A run passes when its low bound reaches this, or the threshold of its case if that has one."""
    suite: Group
    agents: tuple[Group, ...] = ()
    cases: tuple[Group, ...] = ()
    tags: tuple[Group, ...] = ()
    """One for each tag and agent, by tag, then agent."""
    cells: tuple[Group, ...] = ()
    """One for each case and agent, by case, then agent."""
    held: tuple[Conditions, ...] = ()
    """How all runs were held; the conditions of most runs come first."""
    troubles: tuple[ErrorGroup, ...] = ()
    """The distinct errors of the runs, at most `MOST_ERROR_GROUPS`; what kept runs out of the averages first."""
    misses: tuple[Cause, ...] = ()
    """What the runs that count and ended without an error missed, by cause, at most `MOST_CAUSES`; those of most runs
    first."""
    misses_all: int = 0
    """Number of causes."""
    misses_left_out: int = 0
    """Misses that belong to no cause, as there are too many different wordings."""
    cause_ids: Mapping[Wording, str] = field(default_factory=dict)
    """The id of the cause of each wording; not in files."""
    evaluator: str | None = None
    """The evaluator whose scores the groups use; None for each run's primary evaluator."""
    evaluators: tuple[EvaluatorStatistics, ...] = ()
    """One for each evaluator that the runs name or that left an insight, in the order of their first naming."""
    evaluator_agents: tuple[EvaluatorStatistics, ...] = ()
    """One for each evaluator and agent."""
    evaluator_cells: tuple[EvaluatorStatistics, ...] = ()
    """One for each evaluator, case and agent."""
    trajectories: TrajectoryFigures | None = None
    """Figures of all runs; None if no trajectory evaluator judged any."""
    trajectory_agents: tuple[TrajectoryFigures, ...] = ()
    """One for each agent."""
    examiner: ExaminerFigures | None = None
    """Figures of the examiner in all exams; None if it was not judged in any."""
    examiner_agents: tuple[ExaminerFigures, ...] = ()
    """Figures of the examiner in each agent's exams."""
    hit_layers: HitFigures | None = None
    """What the hits rest on; None if none of them rests on words alone or on a condition that never arose."""
    variants: tuple[DimensionFigures, ...] = ()
    """Figures by persona and by strategy, one entry for each agent with such runs; everywhere else, these runs count as
    trials of their case."""
    missing: tuple[MissingBounds, ...] = ()
    """Bounds of each agent's mean score over all runs, those without a score included; empty if none is missing."""

    corrected: tuple[CorrectedScore, ...] = ()
    """Each agent's score corrected for the judge's measured error; empty without labels by people."""
    judges: tuple[JudgeUse, ...] = ()
    """The models that judged scoring points; not in files, which have it in the settings of the runs."""

    votes: VoteFigures | None = None
    """Figures of the votes on scoring points; None if there were none."""
    own_thresholds: int = 0
    """Runs that count and pass by the threshold of their case, not by `threshold`."""
    requeued: tuple[RequeuedGroup, ...] = ()
    """Runs that the user had done again after an error, or alone after they had been scored, by their first outcome."""
    skipped: tuple[SkippedGroup, ...] = ()
    """Why runs were `skipped`; the reasons of most runs first."""

    @property
    def unused(self) -> frozenset[str]:
        """Return the empty fields that files leave out, so that such files are as older versions wrote them."""
        names = ("judges", "cause_ids", *(() if self.examiner is not None else ("examiner", "examiner_agents")))
        optional = (
            "hit_layers",
            "variants",
            "missing",
            "corrected",
            "votes",
            "skipped",
            "requeued",
            "own_thresholds",
            "misses_left_out",
        )
        return frozenset((*names, *(name for name in optional if not getattr(self, name))))


def summarize(
    records: Iterable[RunRecord],
    threshold: float = 1.0,
    evaluator: str | None = None,
    absent: Mapping[str, int] | None = None,
    truths: Truths | None = None,
    measured: MeasuredJudge | None = None,
) -> Figures:
    """Compute the statistics of a stream of records in one pass, keeping a few numbers of each run.

    Args:
        records: Any number, in any order; the newest attempt of each run only, as
            `viva.journal.reader.read_records` gives.
        threshold: A run passes when its low bound reaches this.
        evaluator: Whose scores the groups are of; None for each run's primary evaluator. `Figures.evaluators` has a
            summary of every evaluator in any case.
        absent: Agent to the number of its runs that began and have no record: they widen the bounds over what is
            missing.
        truths: What people say about points of these runs, for corrected scores.
        measured: The judge's accuracy on other runs, for corrected scores without labels of these.
    """
    make_quickly(Group, Usage, EvaluatorStatistics)
    held = _Held()
    errors, causes, tallies, trajectories = ErrorGroups(), CauseTally(), EvaluatorTallies(), TrajectoryTallies()
    examiners, variants, judges = ExaminerTallies(), VariantTallies(evaluator), JudgeTallies()
    missing, votes, hits, skipped = MissingTallies(evaluator, absent), VoteTallies(), HitTallies(), SkippedGroups()
    requeued = RequeuedGroups()
    corrected = CorrectedTallies(truths) if measured is None else MeasuredTallies(measured)
    watching = (
        errors,
        causes,
        tallies,
        trajectories,
        examiners,
        variants,
        missing,
        corrected,
        judges,
        votes,
        hits,
        skipped,
        requeued,
    )
    ordered = gather_cells(_watched(records, held, watching), evaluator)
    by_agent: dict[str, list[Cell]] = {}
    by_case: dict[str, list[Cell]] = {}
    by_tag: dict[tuple[str, str], list[Cell]] = {}
    for cell in ordered:
        by_agent.setdefault(cell.agent, []).append(cell)
        by_case.setdefault(cell.case, []).append(cell)
        for tag in cell.tags:
            by_tag.setdefault((tag, cell.agent), []).append(cell)
    tags = sorted(by_tag, key=lambda pair: (natural(pair[0]), natural(pair[1])))
    grouping = causes.grouping(MOST_CAUSES)
    return Figures(
        threshold=threshold,
        suite=group_of("suite", "", ordered, threshold),
        agents=tuple(group_of("agent", name, by_agent[name], threshold) for name in sorted(by_agent, key=natural)),
        cases=tuple(group_of("case", name, by_case[name], threshold) for name in sorted(by_case, key=natural)),
        tags=tuple(group_of("tag", tag, by_tag[tag, agent], threshold) for tag, agent in tags),
        cells=tuple(group_of("cell", f"{cell.case} · {cell.agent}", [cell], threshold) for cell in ordered),
        held=held.commonest(),
        troubles=tuple(errors.worst()[:MOST_ERROR_GROUPS]),
        misses=grouping.causes,
        misses_all=grouping.count,
        misses_left_out=grouping.left_out,
        cause_ids=grouping.ids,
        evaluator=evaluator,
        evaluators=tuple(tallies.overall()),
        evaluator_agents=tuple(tallies.by_agent()),
        evaluator_cells=tuple(tallies.by_cell()),
        trajectories=trajectories.overall(),
        trajectory_agents=tuple(trajectories.by_agent()),
        examiner=examiners.overall(),
        examiner_agents=tuple(examiners.by_agent()),
        hit_layers=hits.overall(),
        variants=variants.figures(threshold),
        missing=missing.by_agent(),
        corrected=corrected.by_agent(),
        judges=judges.uses(),
        votes=votes.figures(),
        skipped=skipped.commonest(),
        requeued=requeued.groups(),
        own_thresholds=sum(len(cell.thresholds) for cell in ordered),
    )


class Tallies(Protocol):
    """Something that keeps a few numbers of each run."""

    def add(self, record: RunRecord, /) -> object:
        """Add one run."""
        ...


def _watched(
    records: Iterable[RunRecord],
    held: _Held,
    tallies: Iterable[Tallies],
) -> Iterator[RunRecord]:
    for record in records:
        held.add(record.setting)
        for each in tallies:
            each.add(record)
        yield record


class _Held:
    """Counts the runs that were held under the same conditions."""

    def __init__(self) -> None:
        self._runs: list[int] = []
        self._places: dict[Conditions, int] = {}
        self._known: dict[tuple[object, ...], int] = {}

    def add(self, setting: Setting) -> None:
        """Count one run."""
        # What `_conditions` reads. Most runs of a suite have the same.
        key = _CONDITIONS(setting)
        place = self._known.get(key)
        if place is None:
            if len(self._known) >= MOST_CONDITIONS:
                self._known.clear()
            place = self._known[key] = self._places.setdefault(_conditions(setting), len(self._places))
            if place == len(self._runs):
                self._runs.append(0)
        self._runs[place] += 1

    def commonest(self) -> tuple[Conditions, ...]:
        """Return the conditions with their runs, those of most runs first."""
        found = (replace(each, runs=self._runs[place]) for each, place in self._places.items())
        return tuple(sorted(found, key=lambda each: -each.runs))


_CONDITIONS = attrgetter(
    *("examiner", "judge", "judge_model", "judge_votes", "evaluators", "sandbox", "sandbox_isolates"),
    *("viva", "in_process", "suite"),
)


def _conditions(setting: Setting) -> Conditions:
    return Conditions(
        examiner=one_line(setting.examiner, 80),
        judge=judge_words(setting),
        sandbox=sandbox_words(setting),
        viva=one_line(setting.viva, 20),
        agent=agent_words(setting),
        suite=one_line(setting.suite, 100),
    )

"""Corrects the scores of new runs by the accuracy that a judge had on other runs, which people labelled.

Labels are about conversations that have taken place, so a new suite has none. The same judge can be taken to err in it
as it did where people checked: with the same sensitivity and specificity. That is an assumption (other cases may be
harder to judge), which labels of these very runs do not need.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from viva.records.run_record import Outcome, RunRecord
from viva.records.verdict import is_by_rule, is_model
from viva.records.wording import SCORING_POINTS, counted
from viva.statistics.agreement.chance import NOT_SHOWN
from viva.statistics.cells import natural
from viva.statistics.corrected.clusters import CaseSums, nothing_completed
from viva.statistics.corrected.figures import FEWEST_LABELLED, CorrectedScore, CorrectedTallies
from viva.statistics.corrected.rogan_gladen import accuracy_of, rogan_gladen, too_few
from viva.statistics.corrected.truths import Truths
from viva.statistics.flips.points import EXAMINERS_PROMPTS, differences
from viva.statistics.groups import FEWEST_CASES
from viva.statistics.scores import primary_evaluator, primary_insight, score_of

JudgeSettings = dict[str, set[str]]
"""The name of a setting of the judge to its values."""


@dataclass(frozen=True, slots=True)
class MeasuredJudge:
    """Holds how a judge did on runs that people labelled."""

    source: str
    """The journal of these runs."""
    cases: tuple[CaseSums, ...]
    """One for each case, over all agents; only those with labels."""
    labels: int
    """Labelled points."""
    settings: Mapping[str, frozenset[str]]
    """How the judge was set: kind, model, and the hash of each prompt."""
    truths: Truths = field(default_factory=Truths)
    """What people say about them."""
    notes: tuple[str, ...] = ()
    """Labels that could not be used, in words."""
    kinds: frozenset[str] = frozenset()
    """Who judged the labelled points: `code`, `a model`."""

    @property
    def refused(self) -> str:
        """Return why nothing can be corrected, whatever the new runs are; empty if it can be."""
        return self.truths.refusal(len(self.cases), FEWEST_LABELLED) or too_few(self.cases)


def measure_judge(records: Iterable[RunRecord], truths: Truths, source: str) -> MeasuredJudge:
    """Compare the verdicts of some runs with what people say.

    Args:
        records: The runs that the labels are about.
        truths: What people say.
        source: The name of their journal.
    """
    tallies = CorrectedTallies(truths)
    settings: JudgeSettings = {}
    kinds: set[str] = set()
    for record in records:
        tallies.add(record)
        _add_settings(settings, record)
        if record.outcome is not Outcome.TARGET_ERROR:  # labels of a run that counts as 0 are not used
            kinds |= _kinds(record, truths.points.get(record.id, {}))
    found = tallies.by_agent()
    return MeasuredJudge(
        source,
        tallies.labelled_cases(),
        sum(each.labels for each in found),
        {name: frozenset(values) for name, values in settings.items()},
        truths,
        found[0].notes if found else (),
        frozenset(kinds),
    )


class MeasuredTallies:
    """Adds up the scores of new runs by agent and case, for the correction by a judge's accuracy elsewhere."""

    def __init__(self, judge: MeasuredJudge) -> None:
        """Begin with the judge's accuracy."""
        self._judge = judge
        self._settings: JudgeSettings = {}
        self._agents: dict[str, dict[str, CaseSums]] = {}
        self._others = 0
        self._kinds: set[str] = set()

    def add(self, record: RunRecord) -> None:
        """Add one run; one that does not count is in no average, corrected or not."""
        scored = score_of(record)
        if scored is None:
            return
        _add_settings(self._settings, record)
        self._kinds |= _kinds(record)
        self._others += primary_evaluator(record.setting, record.insights) not in (SCORING_POINTS, None)
        case = self._agents.setdefault(record.agent, {}).setdefault(record.subject, CaseSums())
        if record.outcome is Outcome.TARGET_ERROR:
            case.add_failed(1.0)
        else:
            case.add_other(1.0, scored.score)

    def by_agent(self) -> tuple[CorrectedScore, ...]:
        """Return the corrected score of each agent in natural order."""
        refused = self._refusal()
        return tuple(self._corrected(agent, refused) for agent in sorted(self._agents, key=natural))

    def _refusal(self) -> str:
        if self._judge.refused:
            return self._judge.refused
        if self._others:
            return "the scores of other evaluators than scoring points cannot be corrected"
        if unlabelled := sorted(self._kinds - self._judge.kinds):
            return f"no label is about a point that {unlabelled[0]} judged, and these runs have such points"
        measured = {name: set(values) for name, values in self._judge.settings.items()}
        different = differences(measured, self._settings)
        return f"the judge was measured with other settings: {'; '.join(different)}" if different else ""

    def _corrected(self, agent: str, refused: str) -> CorrectedScore:
        cases = list(self._agents[agent].values())
        runs = sum(case.whole for case in cases)
        mean = nothing_completed(cases)
        if mean is not None:
            refused = ""
        elif not refused and len(cases) < FEWEST_CASES:
            verb = "has" if len(cases) == 1 else "have"
            refused = f"only {counted(len(cases), 'case')} {verb} a score; a corrected score requires {FEWEST_CASES}"
        elif not refused:
            mean = rogan_gladen(cases, self._judge.cases)
        accuracy = accuracy_of(self._judge.cases)
        if mean is None and not refused:
            refused = f"by the labels, the judge is {NOT_SHOWN}"
        return CorrectedScore(
            agent=agent,
            raw=sum(case.other_judged for case in cases) / runs,
            runs=round(runs),
            cases=len(cases),
            labelled_cases=len(self._judge.cases),
            labels=self._judge.labels,
            value=None if mean is None else mean.value,
            low=None if mean is None else mean.low,
            high=None if mean is None else mean.high,
            sensitivity=None if accuracy is None else accuracy.sensitivity,
            specificity=None if accuracy is None else accuracy.specificity,
            labelled_hits=sum(case.hits for case in self._judge.cases),
            labelled_misses=sum(case.misses for case in self._judge.cases),
            refused=refused,
            notes=self._judge.notes,
            measured_in=self._judge.source,
            failed=round(sum(case.failed for case in cases)),
        )


def _kinds(record: RunRecord, labelled: Collection[str] | None = None) -> set[str]:
    """Return who judged the scoring points of a run, or those of them that are labelled."""
    insight = primary_insight(record)
    return {
        "a model" if is_model(verdict.by) else "code"
        for verdict in (() if insight is None else insight.verdicts)
        if not is_by_rule(verdict) and (labelled is None or verdict.criterion in labelled)
    }


def _add_settings(settings: JudgeSettings, record: RunRecord) -> None:
    for name, value in _judging(record):
        settings.setdefault(name, set()).add(value)


def _judging(record: RunRecord) -> Iterator[tuple[str, str]]:
    """Yield what makes two judges of scoring points the same; further evaluators do not matter."""
    setting = record.setting
    yield "judge", setting.judge
    yield "judge's model", setting.judge_model or ""
    yield "number of votes", str(setting.judge_votes)
    for name, digest in setting.prompts.items():
        if not name.startswith(EXAMINERS_PROMPTS):
            yield f"judge's prompt {name}", digest

"""The result of a suite of prompts: the run of each case, and the aggregates over all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viva.journal.reader import read_records, read_runs
from viva.records.eval_run_record import EvalRunRecord
from viva.records.run_record import Outcome
from viva.records.transcript import NO_USAGE, Usage
from viva.records.verdict import Insight
from viva.statistics.summary import Figures, summarize
from viva.suites.engine import SuiteEnd


@dataclass(frozen=True, slots=True)
class EvalCaseResult:
    """The result of one case."""

    case: Any
    """The `EvalCase`."""
    run: EvalRunRecord | None
    """None if the case was not run to its end."""

    @property
    def insight(self) -> Insight | None:
        """The insight of the primary evaluator."""
        return self.run.insights[0] if self.run is not None and self.run.insights else None

    @property
    def passed(self) -> bool | None:
        """Return whether the case passed: its success if that is known, otherwise whether the session ended normally.

        None if the run counts neither way, because something other than the agent failed, such as the predicate.
        """
        if self.run is None or not self.run.record.outcome.counts:
            return None
        if self.run.record.outcome is Outcome.TARGET_ERROR:
            return False
        if self.run.success is None and self.case.success is not None:
            return None
        return self.run.success is not False


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSuiteResult:
    """The result of a suite; the runs themselves are in its journal."""

    folder: Path
    """The absolute folder of the journal."""
    cases: tuple[EvalCaseResult, ...]
    """The cases, in the order of the dataset."""
    figures: Figures
    """Statistics of the runs, as `viva suite` shows them; the means of each evaluator's named scores are in
    `figures.evaluators`."""
    reason: str | None = None
    """Why some cases were not run."""

    @property
    def mean_overall_score(self) -> float | None:
        """The mean of the primary evaluator's scores, over the runs that count; None if there is none."""
        return self.figures.suite.mean

    def mean_scores(self) -> Mapping[str, float]:
        """Return the mean of each score that the primary evaluator names, over the runs that have it."""
        return next((each.scores for each in self.figures.evaluators if each.primary), {})

    @property
    def pass_count(self) -> int:
        """Number of cases that passed."""
        return sum(case.passed is True for case in self.cases)

    @property
    def fail_count(self) -> int:
        """Number of cases that failed."""
        return sum(case.passed is False for case in self.cases)

    def _usages(self) -> list[Usage]:
        return [case.run.metrics.usage for case in self.cases if case.run is not None]

    @property
    def total_tokens(self) -> int:
        """Input and output tokens of all runs, as far as they were reported."""
        return sum(self._usages(), NO_USAGE).tokens

    @property
    def total_cost(self) -> float | None:
        """US dollars of all runs; None if they are not known, as of Copilot's: see `total_billing`."""
        usages = self._usages()
        return sum(usages, NO_USAGE).cost if usages else None

    @property
    def total_billing(self) -> Mapping[str, float]:
        """The units that the provider bills by, by name: `copilot.cost` is the sum of its billing multipliers."""
        total: dict[str, float] = {}
        for case in self.cases:
            for name, amount in (case.run.metrics.billing_units if case.run is not None else {}).items():
                total[name] = total.get(name, 0.0) + amount
        return total


def result_of(folder: Path, cases: Sequence[Any], end: SuiteEnd) -> EvalSuiteResult:
    """Read the result of a suite from its journal."""
    runs = {run.record.subject: EvalRunRecord(run.record, run.transcript) for run in read_runs(folder) if run.record}
    return EvalSuiteResult(
        folder=folder,
        cases=tuple(EvalCaseResult(case, runs.get(case.name)) for case in cases),
        figures=summarize(read_records(folder, quick=True)),
        reason=end.reason,
    )

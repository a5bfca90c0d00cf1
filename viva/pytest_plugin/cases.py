"""Makes case files pytest collectors, and exams pytest items; formats their failures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import pytest

from viva.cases import Case, CaseError, load_cases
from viva.cases.find import cases_at
from viva.errors import SetupError
from viva.journal.writer import JournalError
from viva.models.autogen.silenced import filters_for_pytest
from viva.pytest_plugin.text import failure_text, headline
from viva.records.redact import redacted
from viva.records.run_record import RunRecord
from viva.records.text import one_line, printable
from viva.records.transcript import Round
from viva.sandbox import SandboxError
from viva.statistics.scores import run_passes

PLAIN = (CaseError, SetupError, JournalError, SandboxError)
"""Errors whose messages say what to do; a traceback would hide them."""


class ExamFailed(Exception):
    """The agent did not reach the threshold."""


class NotAnExam(Exception):
    """Something other than the agent failed, so the run says nothing about the agent."""


class ExamHost(Protocol):
    """Runs the exams of a session; `viva.pytest_plugin.exams` registers it as a plugin."""

    @property
    def shown_folder(self) -> Path:
        """Return the journal's folder, relative to the current folder if possible."""
        ...

    @property
    def labels(self) -> Mapping[str, str]:
        """Return the agents under test: a short name for each SPEC."""
        ...

    def examine(self, item: CaseItem) -> RunRecord:
        """Run one exam."""
        ...


def exam_host(config: pytest.Config) -> ExamHost:
    """Return what runs the exams of this session."""
    exams: ExamHost | None = config.pluginmanager.get_plugin("viva-exams")
    assert exams is not None
    return exams


class CaseFile(pytest.File):
    """The YAML file of a case, or of several."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one item for each case, agent and trial; its name says which, where there are several.

        Raises:
            CaseError: the case is invalid, or its folder contains another YAML file.
        """
        exams = exam_host(self.config)
        trials = self.config.getoption("viva_trials")
        for case, (agent, label) in product(load_cases(cases_at(self.path)), exams.labels.items()):
            for trial in range(1, trials + 1):
                parts = [label] * (len(exams.labels) > 1) + [str(trial)] * (trials > 1)
                name = f"{case.name}[{'-'.join(parts)}]" if parts else case.name
                yield CaseItem.from_parent(self, name=name, case=case, agent=agent, trial=trial)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        """Show a mistake in a case as a line or two, without a traceback."""
        if isinstance(excinfo.value, CaseError):
            return redacted(str(excinfo.value))
        return super().repr_failure(excinfo)


class CaseItem(pytest.Item):
    """One exam. It runs as the item's setup, so that what is not the agent's fault is an error, not a failure."""

    def __init__(self, *, case: Case, agent: str, trial: int, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case
        self.agent = agent
        """The SPEC of the agent under test."""
        self.trial = trial
        self.extra_keyword_matches.update(case.tags)
        for silenced in filters_for_pytest():
            self.add_marker(pytest.mark.filterwarnings(silenced))
        self.same_name: Path | None = None
        """Another case with the same name."""
        self.record: RunRecord | None = None
        self.last_round: Round | None = None

    def setup(self) -> None:
        """Run the exam and judge it.

        Raises:
            NotAnExam: examiner, judge or infrastructure failed, after retries.
        """
        if self.same_name is not None:
            raise SetupError(f"two cases are called {self.case.name!r}: {self.same_name} and {self.case.file}.")
        exams = exam_host(self.config)
        self.record = exams.examine(self)
        self.user_properties.extend(_properties(self.record, exams.shown_folder))
        if not self.record.outcome.counts:
            raise NotAnExam

    def runtest(self) -> None:
        """Compare the score with the threshold.

        Raises:
            ExamFailed: the score is lower, or the agent failed.
        """
        assert self.record is not None
        if not run_passes(self.record, self.config.getoption("viva_threshold")):
            raise ExamFailed

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what was missed and why, or whose fault it was that the exam failed."""
        error, exams = excinfo.value, self.config.pluginmanager.get_plugin("viva-exams")
        if isinstance(error, ExamFailed | NotAnExam) and self.record is not None and exams is not None:
            threshold = self.config.getoption("viva_threshold")
            title = headline(self.record, threshold)
            words = failure_text(self.record, threshold, self.last_round, exams.shown_folder)
        elif isinstance(error, PLAIN):
            words = redacted(str(error))
            title = one_line(words, 300)
        else:
            return super().repr_failure(excinfo, style)
        error.args = (words,)
        shown: Any = excinfo.getrepr(style="value", chain=False)
        # Only the first line is for the short summary, which prints whole messages in CI.
        shown.reprcrash.path, shown.reprcrash.lineno, shown.reprcrash.message = str(self.path), 1, title
        return shown

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return the location of the case, and the heading of its failure."""
        return self.path, 0, f"case {self.name}"


def _properties(record: RunRecord, folder: Path) -> list[tuple[str, object]]:
    """Return the properties for `--junitxml` and other reports: plain strings, as they are sent between processes."""
    figures = {"score": record.score, "low": record.low, "points": record.points, "max_points": record.max_points}
    facts = {name: f"{value:.6g}" for name, value in figures.items() if value is not None}
    facts["agent"] = printable(record.agent)
    return [*facts.items(), ("outcome", record.outcome.value), ("run_id", record.id), ("journal", str(folder))]

"""Chooses runs of a journal by all filters of a command, in one pass over its records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from viva.filters.columns import columns_named, refuse_unknown_columns
from viva.filters.earlier import EarlierFailures, EarlierState
from viva.filters.expression import Expression
from viva.filters.fields import UNFINISHED, FilterContext
from viva.filters.matching import Matches, matcher, result_fields
from viva.filters.stored_cases import StoredCases
from viva.journal.lines import Event
from viva.journal.run_index import RunIndex
from viva.records.run_record import RunRecord, Setting
from viva.records.text import one_line
from viva.records.wording import counted


@dataclass(frozen=True, slots=True)
class RunFilter:
    """What a command was asked to leave out; a run is kept if every filter that was given includes it."""

    where: Expression | None = None
    text: str = ""
    """The expression as the user wrote it."""
    failed: EarlierFailures | None = None
    changed: EarlierState | None = None

    def __bool__(self) -> bool:
        return self.where is not None or self.failed is not None or self.changed is not None

    @property
    def words(self) -> str:
        """Return the filters as options of the command line."""
        parts = []
        if self.where is not None:
            parts.append(f"--where '{one_line(self.text, 300)}'")
        if self.failed is not None:
            parts.append(f"--failed-in {one_line(self.failed.reference, 300)}")
        if self.changed is not None:
            parts.append(f"--changed-since {one_line(self.changed.reference, 300)}")
        return " ".join(parts)

    @property
    def by_results(self) -> list[str]:
        """Return what of the filters depends on how the runs went that they choose among, as it is written."""
        return [] if self.where is None else result_fields(self.where)

    def is_by_results(self, folders: Sequence[Path]) -> bool:
        """Return whether runs of these journals are chosen by their own results."""
        return bool(self.by_results) or (self.failed is not None and self.failed.is_one_of(folders))

    def matches(self, stored: StoredCases, threshold: float) -> Matches:
        """Return the function that tells of the records of a journal whether they are kept."""
        tests: list[Matches] = []
        if self.where is not None:
            tests.append(matcher(self.where, FilterContext(threshold, stored)))
        if (failed := self.failed) is not None:
            tests.append(lambda record: failed.includes(record.subject, record.agent))
        if (changed := self.changed) is not None:
            tests.append(lambda record: _has_changed(changed, record))
        return lambda record: all(test(record) for test in tests)


NO_FILTER = RunFilter()


@dataclass(frozen=True, slots=True)
class ChosenRuns:
    """The runs of one journal that were chosen."""

    runs: frozenset[str]
    """Their ids."""
    among: int
    """Number of all runs."""
    columns: frozenset[str] = frozenset()
    """The columns of the rows of all cases, if the filters name any."""


def choose_runs(filters: RunFilter, index: RunIndex, threshold: float, only: str | None = None) -> ChosenRuns:
    """Return the runs of a journal that are kept, in one pass over its records.

    Args:
        filters: The filters.
        index: Where the runs of the journal are.
        threshold: The score of a passing run.
        only: The id of the only run to look at; None for all.
    """
    stored = StoredCases(index.folder)
    keeps = filters.matches(stored, threshold)
    has_columns = bool(columns_named(filters.where))
    found, columns, among = set(), set[str](), 0
    for record in _all_runs(index, stored, only):
        among += 1
        if has_columns:
            columns.update(stored.facts(record).columns)
        if keeps(record):
            found.add(record.id)
    return ChosenRuns(frozenset(found), among, frozenset(columns))


def refuse_unknown(filters: RunFilter, choices: Iterable[ChosenRuns]) -> None:
    """Check that the columns that filters name are columns of rows in these journals.

    Raises:
        FilterError: no row has such a column.
    """
    if columns_named(filters.where):
        refuse_unknown_columns(filters.where, {column for each in choices for column in each.columns})


def left_out_words(chosen: int, among: int, words: str) -> str:
    """Return what a filtered report says of itself: `filtered: 12 of 50 runs …`."""
    return f"filtered: {chosen:,} of {counted(among, 'run')} ({words}); the other {among - chosen:,} are in no figure"


def named_words(folder: Path, named: int, among: int) -> str:
    """Return that only some runs of a journal were named: whoever names them may know how they ended."""
    return f"named one by one: {named:,} of {counted(among, 'run')} of {one_line(str(folder), 300)}"


def _all_runs(index: RunIndex, stored: StoredCases, only: str | None) -> Iterator[RunRecord]:
    yield from index.records(runs=None if only is None else (only,), quick=True)
    for event in index.unfinished():
        if only in (None, event.run):
            record = unfinished_record(event)
            # A setting has none: a run that did not end would be in no choice by tag, and no gate would miss it.
            yield replace(record, tags=stored.tags(record))


def unfinished_record(event: Event) -> RunRecord:
    """Return a record for filters of a run that has none, from its setting."""

    def text(name: str) -> str:
        value = event.data.get(name)
        return value if isinstance(value, str) else ""

    trial = event.data.get("trial")
    setting = Setting(
        case_hash=text("case_hash"),
        case_file=text("case_file"),
        persona=text("persona"),
        strategy=text("strategy"),
        suite=text("suite"),
        agent_digest=text("agent_digest") or None,
    )
    return RunRecord(
        event.run,
        text("case"),
        text("agent"),
        UNFINISHED,
        None,
        agent_version=text("agent_version") or None,
        trial=trial if type(trial) is int else 1,
        attempt=event.attempt,
        setting=setting,
    )


def _has_changed(since: EarlierState, record: RunRecord) -> bool:
    setting = record.setting
    return since.case_changed(record.subject, setting.case_hash) or since.agent_changed(
        record.agent, setting.agent_digest, record.agent_version
    )

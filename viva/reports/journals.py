"""The subject of a report: the runs of one or several journals, which can be read as a stream several times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from viva.filters.grouping import GroupedBy, grouped_by
from viva.filters.selection import (
    NO_FILTER,
    ChosenRuns,
    RunFilter,
    choose_runs,
    left_out_words,
    named_words,
    refuse_unknown,
)
from viva.filters.stored_cases import CaseFacts, StoredCases
from viva.journal.reader import StoredRun, read_runs, split_reference
from viva.journal.run_index import RunIndex, index_runs
from viva.journal.writer import Damage, raw_lines, scan
from viva.judge.calibration.label_files import HumanLabel
from viva.records.copies import make_quickly
from viva.records.run_record import RunRecord
from viva.statistics.causes.names import CauseNames
from viva.statistics.corrected.truths import Truths, truths_about
from viva.statistics.summary import Figures, summarize

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry:
    """One run that ended."""

    folder: Path
    """The journal's folder."""
    record: RunRecord


@dataclass(frozen=True, slots=True)
class Unfinished:
    """One run that started and never ended: it has no record."""

    folder: Path
    id: str
    case: str
    agent: str


@dataclass(frozen=True, slots=True)
class Filtered:
    """How many runs the filters of a report keep."""

    by: str
    """The filters, as options of the command line."""
    chosen: int
    among: int


@dataclass(frozen=True, slots=True)
class Journals:
    """Journals that one report covers; the same run in two of them counts as two runs."""

    locations: tuple[tuple[Path, str | None], ...]
    """Each folder, and the id of one run, or None for all runs."""
    threshold: float = 1.0
    """A run passes if its low bound is at least this."""
    labels: tuple[HumanLabel, ...] | None = None
    """What people say about points; None without label files."""
    filters: RunFilter = NO_FILTER
    """Which of the runs the report is about; what it leaves out is in no figure, and every format says so."""
    by: tuple[GroupedBy, ...] = ()
    """By which columns and entries of metadata runs have figures of their own, beside tags."""
    notes: tuple[str, ...] = ()
    """What a reader must know of the journals themselves, such as that one holds a part of a suite."""
    damage: Damage = field(default_factory=Damage)
    """The lines that the latest reading had to skip."""
    _indexes: dict[Path, RunIndex] = field(default_factory=dict, repr=False, compare=False)
    """Where the runs of each folder are. A report reads a journal several times, but looks for them once."""
    _chosen: dict[tuple[Path, str | None], ChosenRuns] = field(default_factory=dict, repr=False, compare=False)
    """Which runs of each location the filters keep."""
    _cases: dict[Path, StoredCases] = field(default_factory=dict, repr=False, compare=False)
    """The cases of each folder."""
    _truths: list[Truths] = field(default_factory=list, repr=False, compare=False)
    """What `truths` returned."""

    def check(self) -> None:
        """Check that all journals and named runs exist, before anything is written.

        Raises:
            JournalError: a journal or a named run does not exist.
            SetupError: filters or `by` name a column that no row has.
        """
        for folder, run in self.locations:
            next(iter(raw_lines(folder) if run is None else read_runs(folder, run)), None)
        if self.filters:
            refuse_unknown(self.filters, (self._choice(folder, run) for folder, run in self.locations))
        if self.by:
            self._check_by()

    def entries(self) -> Iterator[Entry]:
        """Yield all runs that ended, journal by journal.

        Raises:
            JournalError: a journal does not exist.
        """
        return self._entries(quick=False)

    def quick_entries(self) -> Iterator[Entry]:
        """Yield the same in a fraction of the time, with records that are only read, such as `read_record` makes.

        Raises:
            JournalError: a journal does not exist.
        """
        return self._entries(quick=True)

    def _entries(self, *, quick: bool) -> Iterator[Entry]:
        self.damage.clear()
        make_quickly(Entry)
        for folder, run in self.locations:
            index = self._index(folder)
            self.damage.join(index.damage)
            for record in index.records(self.damage, self._kept(folder, run), quick=quick):
                yield Entry(folder, record)

    def parts(self, kind: type[T]) -> Iterator[T]:
        """Yield a part of the record of each run that ended; see `RunIndex.parts`.

        Raises:
            JournalError: a journal does not exist.
        """
        for folder, run in self.locations:
            yield from self._index(folder).parts(kind, self._kept(folder, run))

    @property
    def truths(self) -> Truths | None:
        """Return what people say about points of these runs; None without label files.

        Raises:
            JournalError: a journal does not exist.
        """
        if self.labels is not None and not self._truths:
            self._truths.append(truths_about(self.labels, self._runs))
        return self._truths[0] if self._truths else None

    def _runs(self, names: frozenset[str]) -> Iterator[StoredRun]:
        return self.conversations(lambda _, name: name in names)

    def figures(self) -> Figures:
        """Compute the statistics of all runs that ended.

        Raises:
            JournalError: a journal does not exist.
        """
        records = (self.grouped(entry) for entry in self.quick_entries())
        figures = summarize(records, self.threshold, absent=self.absent(), truths=self.truths)
        return self.names().in_figures(figures)

    def names(self) -> CauseNames:
        """Read the names of causes that are stored beside the journals."""
        return CauseNames(folder for folder, _ in self.locations)

    def grouped(self, entry: Entry) -> RunRecord:
        """Return the record of a run for statistics, with a tag for each value that `by` asks for."""
        if not self.by:
            return entry.record
        facts = self.facts(entry)
        tags = (tag for each in self.by for tag in each.tags(facts))
        return replace(entry.record, tags=tuple(dict.fromkeys((*entry.record.tags, *tags))))

    def facts(self, entry: Entry) -> CaseFacts:
        """Return what a run's case says beyond its exam: its row, columns and metadata."""
        cases = self._cases.get(entry.folder)
        if cases is None:
            cases = self._cases[entry.folder] = StoredCases(entry.folder)
        return cases.facts(entry.record)

    def _check_by(self) -> None:
        """Check the names in `by` in one pass over the runs, before anything is written."""
        columns, keys = set[str](), set[str]()
        for entry in self.quick_entries():
            facts = self.facts(entry)
            columns.update(facts.columns)
            keys.update(facts.metadata)
        for each in self.by:
            each.check(columns, keys)

    def absent(self) -> Counter[str]:
        """Count the runs without a record by agent.

        Raises:
            JournalError: a journal does not exist.
        """
        return Counter(run.agent for run in self.unfinished())

    def unfinished(self) -> list[Unfinished]:
        """Return the runs without a record.

        Raises:
            JournalError: a journal does not exist.
        """
        found: list[Unfinished] = []
        for folder, only in self.locations:
            kept = self._kept(folder, only)
            for event in self._index(folder).unfinished():
                if kept is None or event.run in kept:
                    case, agent = (str(event.data.get(name) or "") for name in ("case", "agent"))
                    found.append(Unfinished(folder, event.run, case, agent))
        return found

    def unreadable(self) -> dict[Path, str]:
        """Return the journals that have lines, but none that can be read, with what was found there instead.

        Raises:
            JournalError: a journal does not exist.
        """
        found: dict[Path, str] = {}
        for folder in dict.fromkeys(folder for folder, _ in self.locations):
            damage = Damage()
            if next(iter(scan(folder, damage)), None) is None and (words := damage.words("unreadable line")):
                found[folder] = words
        return found

    def conversations(
        self,
        wanted: Callable[[Path, str], bool] | None = None,
        runs: Container[str] | None = None,
        *,
        quick: bool = False,
    ) -> Iterator[StoredRun]:
        """Yield the conversations, journal by journal, including those of unfinished runs.

        Args:
            wanted: Tells of a folder and a run's id, at its first line and when its turn comes, whether to read it;
                what it refuses once it must refuse later, too. None for all.
            runs: The ids of the runs; the lines of all others are passed over. None for all.
            quick: Whether records may be structs, to be shown and not handed out; see `read_runs`.

        Raises:
            JournalError: a journal or a named run does not exist.
        """
        for folder, run in self.locations:
            wants = None if wanted is None else partial(wanted, folder)
            if self.filters:
                kept = self._choice(folder, run).runs
                ids: Container[str] | None = {each for each in kept if runs is None or each in runs}
                if run is not None and not ids:
                    continue
            else:
                ids = runs
            known = self._index(folder).of(ids)
            yield from read_runs(folder, run, known=known, wanted=wants, asks_early=True, quick=quick)

    def left_out(self) -> str:
        """Return what the report must say of its filters; empty without any.

        Raises:
            JournalError: a journal does not exist.
        """
        if not self.filters:
            return ""
        found = self.filtered()
        return left_out_words(found.chosen, found.among, found.by)

    def filtered(self) -> Filtered:
        """Return how many runs the filters keep.

        Raises:
            JournalError: a journal does not exist.
        """
        found = [self._choice(folder, run) for folder, run in self.locations]
        chosen, among = sum(len(each.runs) for each in found), sum(each.among for each in found)
        return Filtered(self.filters.words, chosen, among)

    def caveats(self) -> list[str]:
        """Return the lines with which every format begins, because its figures are not those of everything.

        Raises:
            JournalError: a journal does not exist.
        """
        return [*([words] if (words := self.left_out()) else []), *self.notes]

    def indexes(self) -> Iterator[tuple[Path, RunIndex, Container[str] | None]]:
        """Yield each folder with where its runs are, and the ids of those that the report is about; None for all.

        Raises:
            JournalError: a journal does not exist.
        """
        for folder, run in self.locations:
            yield folder, self._index(folder), self._kept(folder, run)

    def named_alone(self) -> Iterator[str]:
        """Yield a line for each journal of which only some runs were named.

        Raises:
            JournalError: a journal does not exist.
        """
        for folder, number in Counter(folder for folder, run in self.locations if run is not None).items():
            if number < (among := len(self._index(folder).places)):
                yield f"{named_words(folder, number, among)}; the other {among - number:,} are in no figure"

    def _kept(self, folder: Path, run: str | None) -> Container[str] | None:
        """Return the ids of the runs of a location that the report is about; None for all."""
        if self.filters:
            return self._choice(folder, run).runs
        return None if run is None else (run,)

    def _choice(self, folder: Path, run: str | None) -> ChosenRuns:
        if (folder, run) not in self._chosen:
            self._chosen[folder, run] = choose_runs(self.filters, self._index(folder), self.threshold, run)
        return self._chosen[folder, run]

    def _index(self, folder: Path) -> RunIndex:
        if folder not in self._indexes:
            self._indexes[folder] = index_runs(folder)
        return self._indexes[folder]


def joined(
    references: Sequence[str],
    threshold: float = 1.0,
    labels: Sequence[HumanLabel] | None = None,
    filters: RunFilter = NO_FILTER,
    notes: tuple[str, ...] = (),
    by: Sequence[str] = (),
) -> Journals:
    """Return the journals of references (`FOLDER` or `FOLDER#RUN-ID`); a journal that is named twice is read once."""
    locations: dict[tuple[Path, str | None], tuple[Path, str | None]] = {}
    for reference in references:
        folder, run = split_reference(reference)
        locations.setdefault((folder.resolve(), run), (folder, run))
    whole = {folder for folder, run in locations if run is None}
    wanted = (each for key, each in locations.items() if key[1] is None or key[0] not in whole)
    grouped = tuple(dict.fromkeys(map(grouped_by, by)))
    return Journals(tuple(wanted), threshold, None if labels is None else tuple(labels), filters, grouped, notes)

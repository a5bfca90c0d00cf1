"""One journal under view: its runs as rows, kept up to date while another process appends to it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from viva.errors import SetupError
from viva.filters.expression import Expression, comparisons
from viva.filters.fields import UNFINISHED, FilterContext
from viva.filters.matching import Matches, matcher
from viva.filters.parsing import parse_filter
from viva.filters.selection import unfinished_record
from viva.filters.stored_cases import StoredCases
from viva.journal.conversation_lines import ConversationLines
from viva.journal.lines import Damage, parse, sealed_data
from viva.journal.lock import holder
from viva.journal.long_texts import restore_texts
from viva.journal.reader import StoredRun, decode_run
from viva.records.codec import decode
from viva.records.quick.records import read_record
from viva.records.run_record import RunRecord, Setting, as_earned
from viva.records.transcript import NO_USAGE
from viva.reports.page.rows import Row, row_of
from viva.suites.at_work.pausing import is_paused
from viva.suites.at_work.status import State
from viva.suites.resuming.stored_request import load_request
from viva.viewer.places import NOWHERE, JournalPlaces, RunPlaces


@dataclass(slots=True)
class ListedRun:
    """One run as the list and its filters know it."""

    places: RunPlaces
    record: RunRecord
    """Without insights, which take most of the memory; for a run in progress, what its setting tells."""
    row: Row | None = None
    """None until the run ends."""


@dataclass(slots=True)
class WatchedJournal:
    """A journal that is read as far as it was written, and then only what was appended. Threads may share it."""

    folder: Path
    threshold: float = 1.0
    places: JournalPlaces = field(init=False)
    runs: dict[str, ListedRun] = field(default_factory=dict)
    """In the order in which they began."""
    planned: int = 0
    command: str = ""
    problem: str = ""
    """Why the journal cannot be followed any more; empty while it can."""
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _settings: dict[tuple[object, ...], Setting] = field(default_factory=dict)
    """One object for all runs with the same facts, because each has some forty fields."""

    def __post_init__(self) -> None:
        self.places = JournalPlaces(self.folder)

    @property
    def version(self) -> int:
        """Return a number that grows with every change."""
        return self.places.version

    def follow(self) -> bool:
        """Read what was appended; return whether there was anything.

        Raises:
            JournalError: the journal cannot be read.
        """
        with self._turn:
            changed = self.places.follow()
            for each in changed:
                self._list(each)
            if changed or not self.command:
                with suppress(SetupError):
                    request = load_request(self.folder)
                    if request is not None:
                        self.planned, self.command = request.planned, request.command
            return bool(changed)

    def give_up(self, why: str) -> None:
        """Stop following, and tell readers why."""
        with self._turn:
            self.problem = why
            self.places.version += 1

    def state(self) -> State:
        """Return what goes on in the journal's folder now."""
        if holder(self.folder) is not None:
            return State.PAUSED if is_paused(self.folder) else State.WORKING
        left = any(each.row is None or each.places.requeued for each in list(self.runs.values()))
        ended = sum(each.row is not None for each in list(self.runs.values()))
        return State.STOPPED if left or ended < self.planned else State.ENDED

    def counts(self) -> Mapping[str, int]:
        """Return the number of runs by their standing; runs without a record are `running`."""
        return Counter("running" if each.row is None else each.row.standing.value for each in list(self.runs.values()))

    def matching(self, where: str) -> Iterator[ListedRun]:
        """Yield the runs that a filter expression keeps; all of them for an empty one.

        Args:
            where: An expression as `--where` takes it.

        Raises:
            FilterError: it is not an expression.
        """
        listed = list(self.runs.values())
        if not where.strip():
            yield from listed
            return
        expression = parse_filter(where, "the filter")
        matches = matcher(expression, FilterContext(self.threshold, StoredCases(self.folder)))
        yield from self._kept(listed, matches, whole=_needs_verdicts(expression))

    def _kept(self, listed: list[ListedRun], matches: Matches, *, whole: bool) -> Iterator[ListedRun]:
        if not whole:
            yield from (each for each in listed if matches(each.record))
            return
        ended = [each.places.record for each in listed if each.places.record != NOWHERE]
        found = (_record_in(self.folder, line) for line in self.places.read(ended))
        kept = {record.id for record in found if record is not None and matches(record)}
        for each in listed:
            if each.places.run in kept or (each.places.record == NOWHERE and matches(each.record)):
                yield each

    def conversation(self, run: str, first: int, last: int) -> StoredRun | None:
        """Return a run with the rounds at these positions only; None if there is no such run.

        Args:
            run: Its id.
            first: The position of the first round, from 0.
            last: The position after the last round.
        """
        listed = self.runs.get(run)
        if listed is None:
            return None
        places = listed.places
        wanted = [places.setting, *places.rounds[first:last], places.transcript]
        lines = [line.decode("utf-8", "surrogateescape").rstrip("\n") for line in self._lines(wanted)]
        judged = [line.decode("utf-8", "surrogateescape").rstrip("\n") for line in self._lines([places.record])]
        ended = places.transcript != NOWHERE
        found = ConversationLines(str(self.folder), run, places.attempt, tuple(lines), tuple(judged), ended)
        return replace(decode_run(found, Damage()), gap=None)

    def record(self, listed: ListedRun) -> RunRecord:
        """Return the record of a run with its insights; for a run in progress, what its setting tells."""
        for line in self._lines([listed.places.record]):
            if (record := _record_in(self.folder, line)) is not None:
                return record
        return listed.record

    def _lines(self, offsets: list[int]) -> list[bytes]:
        return list(self.places.read([each for each in offsets if each != NOWHERE]))

    def _list(self, places: RunPlaces) -> None:
        known = self.runs.get(places.run)
        number = len(self.runs) if known is None or known.row is None else known.row.number
        if places.record != NOWHERE:
            (line,) = self.places.read([places.record])
            record = _record_in(self.folder, line)
            if record is not None:
                row = row_of(number, record, self.threshold)
                self.runs[places.run] = ListedRun(places, self._light(record), row)
                return
        if known is None or known.places is not places:
            if places.setting != NOWHERE and (event := parse(next(iter(self._lines([places.setting]))))) is not None:
                self.runs[places.run] = ListedRun(places, unfinished_record(event))
                return
            self.runs[places.run] = ListedRun(places, RunRecord(places.run, "", "", UNFINISHED, None))

    def _light(self, record: RunRecord) -> RunRecord:
        setting = record.setting
        case = setting.case, setting.case_file, setting.case_hash
        judged = setting.examiner, setting.judge, setting.judge_model, setting.agent_version
        key = (*case, setting.agent, setting.persona, setting.strategy, *judged)
        shared = self._settings.setdefault(key, setting)
        usage = {"all": sum(record.usage.values(), NO_USAGE)}
        return replace(record, insights=(), setting=shared, usage=usage, metrics=None)


OF_VERDICTS = frozenset({"hit", "missed", "unsure", "point", "evaluator", "label", "reason"})
"""The fields that a record without insights lacks."""


def _needs_verdicts(expression: Expression) -> bool:
    return any(each.name in OF_VERDICTS for each in comparisons(expression))


def _record_in(folder: Path, line: bytes) -> RunRecord | None:
    data = sealed_data(line)
    if data is not None and (found := read_record(data)) is not None:
        return as_earned(found)
    event = parse(line)
    if event is None:
        return None
    with suppress(ValueError):
        return as_earned(decode(RunRecord, restore_texts(folder, event.data)))
    return None

"""One journal under view: its runs as rows, kept up to date while another process appends to it."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress, islice
from pathlib import Path
from typing import Any

from viva.errors import SetupError
from viva.filters.fields import UNFINISHED, Value
from viva.filters.parsing import parse_filter
from viva.filters.selection import unfinished_record
from viva.journal.conversation_lines import ConversationLines
from viva.journal.errors import JournalError
from viva.journal.lines import Damage, parse
from viva.journal.lock import holder
from viva.journal.reader import StoredRun, decode_run
from viva.records.run_record import RunRecord
from viva.reports.page.rows import Row, row_of
from viva.suites.at_work.pausing import is_paused
from viva.suites.at_work.status import State
from viva.suites.resuming.planned import not_begun, planned_number
from viva.suites.resuming.request_facts import RequestReader
from viva.suites.resuming.stored_request import load_request
from viva.viewer.columns import RunColumns
from viva.viewer.masks import RunMasks, record_in
from viva.viewer.places import NOWHERE, JournalPlaces, RunPlaces


@dataclass(frozen=True, slots=True)
class ListedRun:
    """One run as the list and its filters know it. What the columns lack is read when it is asked for."""

    journal: WatchedJournal
    position: int

    @property
    def run(self) -> str:
        """Return its id."""
        return self.journal.places.runs.ids[self.position]

    @property
    def places(self) -> RunPlaces:
        """Return where its lines are."""
        return self.journal.places.runs.at(self.position)

    @property
    def case(self) -> str:
        """Return the name of the case, or the subject of a recording; empty if it is not known."""
        return str(self._value("case") or "")

    @property
    def agent(self) -> str:
        """Return the agent's SPEC."""
        return str(self._value("agent") or "")

    @property
    def trial(self) -> int:
        """Return the number of the trial."""
        trial = self._value("trial")
        return int(trial) if isinstance(trial, float) else 1

    @property
    def standing(self) -> str:
        """Return how it counts: `passed`, `failed`, `excluded`, or `running` while it has no record."""
        status = self._value("status")
        return "running" if status in (None, UNFINISHED.value) else str(status)

    @property
    def ended(self) -> bool:
        """Return whether it has a record."""
        return self.standing != "running"

    @property
    def score(self) -> float | None:
        """Return the primary evaluator's score."""
        return self._number("score")

    @property
    def seconds(self) -> float:
        """Return how long it took."""
        return self._number("seconds") or 0.0

    @property
    def cost(self) -> float | None:
        """Return the cost of all roles in US dollars; None if it is not known."""
        return self.journal.columns.known_cost(self.position)

    @property
    def tokens(self) -> float | None:
        """Return the tokens of all roles; None if none were reported."""
        return self._number("tokens")

    @property
    def played(self) -> tuple[str, str]:
        """Return the persona and the strategy of the examiner; empty if there are none."""
        return str(self._value("persona") or ""), str(self._value("strategy") or "")

    @property
    def record(self) -> RunRecord:
        """Return its record as far as the columns hold it; for a run in progress, what its setting tells."""
        return self.journal.columns.light_record(self.run, self.position)

    @property
    def whole_record(self) -> RunRecord:
        """Return its record with its insights, from the journal; for a run in progress, what its setting tells."""
        return self.journal.whole_record(self)

    @property
    def row(self) -> Row | None:
        """Return what a row shows of it, from the journal; None until it ends."""
        record = self.whole_record
        return None if record.outcome == UNFINISHED else row_of(self.position, record, self.journal.threshold)

    def _value(self, name: str) -> Value:
        return self.journal.columns.at(name, self.position)

    def _number(self, name: str) -> float | None:
        value = self._value(name)
        return value if isinstance(value, float) else None


class ListedRuns(Mapping[str, ListedRun]):
    """The runs of a journal by their ids, in the order in which they began."""

    def __init__(self, journal: WatchedJournal) -> None:
        self._journal = journal

    def __len__(self) -> int:
        return self._journal.listed

    def __iter__(self) -> Iterator[str]:
        return islice(self._journal.places.runs.ids, len(self))

    def __getitem__(self, run: str) -> ListedRun:
        position = self._journal.places.runs.position(run)
        if position is None or position >= len(self):
            raise KeyError(run)
        return ListedRun(self._journal, position)


@dataclass(slots=True, eq=False)
class WatchedJournal:
    """A journal that is read as far as it was written, and then only what was appended. Threads may share it."""

    folder: Path
    threshold: float = 1.0
    name: str = ""
    """What it is called on the page; by default the name of its folder."""
    places: JournalPlaces = field(init=False)
    columns: RunColumns = field(init=False)
    runs: ListedRuns = field(init=False)
    listed: int = 0
    """Number of runs of which the columns are filled."""
    planned: int = 0
    """Number of runs; 0 if it is not known."""
    command: str = ""
    problem: str = ""
    """Why the journal cannot be followed any more; empty while it can. What was read is still shown."""
    lost: str = ""
    """Why nothing of the journal can be shown: it was removed or replaced. Empty while it is there."""
    _request: RequestReader = field(init=False)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _missing: tuple[int, int] = (-1, 0)
    """The version of the journal, and how many of the planned runs had not begun in it."""
    _settings: dict[int, int] = field(default_factory=dict)
    """Where the setting is by which a run without a record is listed."""

    def __post_init__(self) -> None:
        self.name = self.name or self.folder.name
        self._request = RequestReader(self.folder)
        self.places, self.columns, self.runs = JournalPlaces(self.folder), RunColumns(self.threshold), ListedRuns(self)

    @property
    def version(self) -> int:
        """Return a number that grows with every change."""
        return self.places.version

    def follow(self, *, whole: bool = True) -> bool:
        """Read what was appended; return whether there was anything.

        Args:
            whole: Read all of it; otherwise a part, after which `is_behind` tells whether there is more.

        Raises:
            JournalError: the journal cannot be read.
        """
        found = False
        while True:
            with self._turn:
                changed = self.places.follow()
                self._list(changed)
                self.listed = len(self.places.runs)
                if changed or not self.command:
                    with suppress(SetupError):
                        request = self._request.read()
                        if request is not None:
                            self.planned, self.command = planned_number(self.folder, request), request.command
            found = found or bool(changed)
            if not (whole and self.is_behind):
                return found

    @property
    def is_behind(self) -> bool:
        """Return whether a part of the journal was not read yet, and can be."""
        return self.places.is_behind and not (self.problem or self.lost)

    def give_up(self, why: str) -> None:
        """Stop following, and tell readers why."""
        with self._turn:
            self.problem = why
            self.places.version += 1

    def lose(self, why: str) -> bool:
        """Note why nothing of the journal can be shown, or with an empty text that it is there again.

        Returns:
            Whether this is news.
        """
        with self._turn:
            is_news = why != self.lost
            self.lost = why
            self.places.version += is_news
            return is_news

    def require(self) -> None:
        """Check that what was read is still there, so that no other journal's lines are taken for this one's.

        Raises:
            JournalError: the journal was removed, replaced, or cannot be reached.
        """
        if self.lost:
            raise JournalError(self.lost)
        self.places.found()

    def state(self) -> State:
        """Return what goes on in the journal's folder now."""
        if holder(self.folder) is not None:
            return State.PAUSED if is_paused(self.folder) else State.WORKING
        counts = self.counts()
        runs = self.places.runs
        left = counts.get("running", 0) or any(runs.is_requeued_at(each) for each in range(self.listed))
        return State.STOPPED if left or self._not_begun() else State.ENDED

    def _not_begun(self) -> int:
        """Return how many of the planned runs never began; asked once for each version of the journal."""
        if self._missing[0] != self.version:
            number = 0
            with suppress(SetupError):
                request = load_request(self.folder)  # which may name every case of a large suite, so it is not kept
                number = 0 if request is None else not_begun(self.folder, request, self.runs)
            self._missing = self.version, number
        return self._missing[1]

    def counts(self) -> Mapping[str, int]:
        """Return the number of runs by their standing; runs without a record are `running`."""
        found = self.columns.counts("status", self.listed)
        return {"running" if name in (None, UNFINISHED.value) else str(name): number for name, number in found.items()}

    def matching(self, where: str) -> Iterator[ListedRun]:
        """Yield the runs that a filter expression keeps; all of them for an empty one.

        Args:
            where: An expression as `--where` takes it.

        Raises:
            FilterError: it is not an expression.
        """
        yield from (ListedRun(self, position) for position in self.positions(where))

    def positions(self, where: str, order: str = "") -> array[int]:
        """Return the positions of the runs that a filter keeps.

        Args:
            where: An expression as `--where` takes it; empty for all runs.
            order: A key of `ORDERS`, after `-` for the reverse; any other text for the order in which they began.

        Raises:
            FilterError: `where` is not an expression.
        """
        number = self.listed
        found = array("I", range(number))
        if where.strip():
            mask = RunMasks(self.folder, self.columns, self.places, number).of(parse_filter(where, "the filter"))
            found = array("I", compress(found, mask))
        keys = ORDERS.get(order.removeprefix("-"), ())
        for key in reversed(keys):  # sorting is stable
            found = array("I", sorted(found, key=partial(key, self), reverse=order.startswith("-")))
        return found

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

    def whole_record(self, listed: ListedRun) -> RunRecord:
        """Return the record of a run with its insights; for a run in progress, what its setting tells."""
        places = listed.places
        for line in self._lines([places.record]):
            if (record := record_in(self.folder, line)) is not None:
                return record
        for line in self._lines([places.setting]):
            if (event := parse(line)) is not None:
                return unfinished_record(event)
        return _nothing_known(places.run)

    def _lines(self, offsets: list[int]) -> list[bytes]:
        return list(self.places.read([each for each in offsets if each != NOWHERE]))

    def _list(self, changed: list[int]) -> None:
        runs = self.places.runs
        ended = [each for each in changed if runs.record_at(each) != NOWHERE]
        lines = self.places.read(runs.record_at(each) for each in ended)
        without = [each for each in changed if runs.record_at(each) == NOWHERE]
        for position, line in zip(ended, lines, strict=True):
            record = record_in(self.folder, line)
            if record is None:
                without.append(position)
            else:
                self.columns.put(position, record)
                self._settings.pop(position, None)
        for position in without:
            setting = runs.at(position).setting
            if self._settings.get(position) == setting:
                continue
            self._settings[position] = setting
            event = next((parse(line) for line in self._lines([setting])), None)
            record = _nothing_known(runs.ids[position]) if event is None else unfinished_record(event)
            self.columns.put(position, record)


def _or_less(value: Value) -> float:
    """Return a number, or less than every one for none."""
    return value if isinstance(value, float) else -1.0


ORDERS: Mapping[str, Sequence[Callable[[WatchedJournal, int], Any]]] = {
    "case": (
        lambda journal, each: journal.columns.at("case", each) or "",
        lambda journal, each: journal.columns.at("agent", each) or "",
        lambda journal, each: _or_less(journal.columns.at("trial", each)),
    ),
    "score": (lambda journal, each: _or_less(journal.columns.at("score", each)),),
    "rounds": (lambda journal, each: journal.places.runs.rounds_at(each),),
    "seconds": (lambda journal, each: _or_less(journal.columns.at("seconds", each)),),
    "cost": (lambda journal, each: _or_less(journal.columns.known_cost(each)),),
    "tokens": (lambda journal, each: _or_less(journal.columns.at("tokens", each)),),
}
"""What lists of runs can be ordered by: the keys of a run, the most important one first."""


def _nothing_known(run: str) -> RunRecord:
    return RunRecord(run, "", "", UNFINISHED, None)

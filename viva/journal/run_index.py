"""Finds the runs of a journal and their records in one pass, so that readers decode only what they use."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TypeVar, cast

from viva.journal.line_checksum import is_unchanged
from viva.journal.lines import (
    HEAD,
    REPEAT,
    REQUEUE,
    Damage,
    Event,
    lines_at,
    parse,
    raw_lines,
    sealed_data,
    see_runs,
)
from viva.journal.long_texts import plain_data, restore_texts
from viva.journal.tallies.repeat_requests import RepeatRequests
from viva.journal.tallies.round_tally import MOST_NUMBER
from viva.records.codec import decode, decode_json
from viva.records.quick.records import read_record
from viva.records.run_record import RunRecord, as_earned
from viva.records.transcript import NO_USAGE, Usage

T = TypeVar("T")
_NONE = -1
_NO_HEAD = b"\n"
"""Stands for the head of a line; no line begins with it."""
_REQUEUE = REQUEUE.encode()
_REPEAT = REPEAT.encode()
_FOUND = frozenset({b"run", b"setting", _REQUEUE, _REPEAT})
"""The kinds of lines of which a reader needs more than that they are there."""


@dataclass(frozen=True, slots=True)
class LastLines:
    """Where runs end in a journal, and where the journal ended when it was read."""

    runs: dict[str, int]
    """The number of each run's last line, also of torn lines with a whole head."""
    end: int
    """The number of the file's last line."""


@dataclass(slots=True)
class RunIndex:
    """The positions of one journal's runs, some 190 bytes for each. Lines that were appended later are not in it."""

    folder: Path
    damage: Damage = field(default_factory=Damage)
    """Counts the records and unrecognizable lines that had to be skipped."""
    places: dict[str, int] = field(default_factory=dict)
    """The runs in the order of their first lines, and their places in the columns below."""
    _last: array[int] = field(default_factory=lambda: array("q"))
    """The number of each run's last line."""
    _end: int = 0
    """The number of the file's last line."""
    _records: array[int] = field(default_factory=lambda: array("q"))
    """The byte offset of each run's newest record, or -1."""
    _numbers: array[int] = field(default_factory=lambda: array("q"))
    """The line number of that record."""
    _begun: dict[int, int] = field(default_factory=dict)
    """The byte offsets of the newest settings of runs without a record, by place, in the order of their first ones."""
    _replaced: dict[int, list[int]] = field(default_factory=dict)
    """The byte offsets of older records, by place."""
    _attempts: array[int] = field(default_factory=lambda: array("I"))
    """The number of each run's newest attempt."""
    _requests: RepeatRequests[int] = field(default_factory=RepeatRequests)
    """Which runs are to be repeated, by place."""

    def records(
        self, damage: Damage | None = None, runs: Container[str] | None = None, *, quick: bool = False
    ) -> Iterator[RunRecord]:
        """Yield the newest record of each run that ended, in the order in which they ended.

        Its usage is that of the whole run: what earlier attempts cost was paid for, too, and so were earlier judgings.
        Of a recording that was read again, only what the judges used adds up.

        Args:
            damage: Counts the records that cannot be decoded.
            runs: The ids of the runs to read; None for all.
            quick: Whether records may be structs, as `read_record` makes them: for figures, not to be handed out.

        Raises:
            JournalError: the journal cannot be read any more.
        """
        for place, line in self._newest(runs):
            try:
                attempt, record = _record_in(self.folder, line, quick=quick)
            except ValueError:
                if damage is not None:
                    damage.add(self._numbers[place])
                continue
            if (older := self._replaced.get(place)) is not None:
                usage = self._paid(older, attempt, record.usage)
                if record.setting.source:  # a recording that was read again: the newest reading has all of it
                    usage = {**record.usage, **{role: usage[role] for role in usage.keys() & {"judge"}}}
                record = replace(record, usage=usage)
            yield record

    def parts(self, kind: type[T], runs: Container[str] | None = None) -> Iterator[T]:
        """Yield a part of each newest record, which costs less than the whole; records that lack it are passed over.

        Args:
            kind: A dataclass with some fields of RunRecord.
            runs: The ids of the runs to read; None for all.
        """
        for _, line in self._newest(runs):
            if (data := sealed_data(line)) is not None and (whole := read_record(data)) is not None:
                yield cast("T", whole)
                continue
            with suppress(ValueError, RecursionError):
                if (data := plain_data(line)) is not None:
                    yield decode_json(kind, data)
                elif (event := parse(line)) is not None:
                    yield decode(kind, restore_texts(self.folder, event.data))

    def unfinished(self) -> Iterator[Event]:
        """Yield the newest setting of each run that began and has no record, in the order in which they began."""
        for line in lines_at(self.folder, self._begun.values()):
            if (event := parse(line)) is not None:
                yield event

    def waiting(self) -> Iterator[str]:
        """Yield the ids of the runs that ended, are to be repeated, and have not ended again."""
        if self._requests:
            ended = ((name, place) for name, place in self.places.items() if self._records[place] >= 0)
            yield from (name for name, place in ended if self._requests.is_outdated(place))

    def of(self, runs: Container[str] | None) -> LastLines:
        """Return where the last lines of these runs are; None stands for all."""
        names = {name: self._last[place] for name, place in self.places.items() if runs is None or name in runs}
        return LastLines(names, self._end)

    def _newest(self, runs: Container[str] | None) -> Iterator[tuple[int, bytes]]:
        wanted = self.places.items() if runs is None else [each for each in self.places.items() if each[0] in runs]
        places = sorted((place for _, place in wanted if self._records[place] >= 0), key=self._records.__getitem__)
        yield from zip(places, lines_at(self.folder, (self._records[place] for place in places)), strict=True)

    def _paid(self, older: list[int], attempt: int, usage: Mapping[str, Usage]) -> Mapping[str, Usage]:
        paid: dict[int, Mapping[str, Usage]] = {}
        for line in lines_at(self.folder, older):
            if (event := parse(line)) is not None:
                with suppress(ValueError):
                    _add_paid(paid, event.attempt, decode(_Paid, {"usage": event.data.get("usage") or {}}).usage)
        _add_paid(paid, attempt, usage)
        return reduce(_added, paid.values())

    def _take_all(self) -> None:
        # 500,000 lines of 100,000 runs: most only say where their run ends, and that mostly after another of its lines.
        latest, place, last, same, match = b"", _NONE, self._last, _NO_HEAD, HEAD.match
        for number, offset, line in raw_lines(self.folder):
            self._end = number
            if line.startswith(same):  # another round of the same run
                last[place] = number
                continue
            if (head := match(line)) is None:
                self._take_parsed(number, offset, line)
                continue
            kind, name, attempt = head.group(1, 2, 3)
            same = _NO_HEAD if kind in _FOUND else head[0]
            if name != latest:
                latest, place = name, self._place(name.decode())
            last[place] = number
            if kind in _FOUND:
                # The checksum proves that the line is valid, so it need not be parsed.
                if is_unchanged(line) is not True:
                    event = parse(line, number, self.damage if kind == b"run" else None)
                    kind = b"" if event is None else event.kind.encode("utf-8", "surrogatepass")
                self._note(kind, place, int(attempt), number, offset)

    def _take_parsed(self, number: int, offset: int, line: bytes) -> None:
        """Note a line that another program wrote, or that is torn."""
        if (event := parse(line, number, self.damage)) is not None:
            place = self._place(event.run)
            self._last[place] = number
            attempt = max(0, min(event.attempt, MOST_NUMBER))  # a line without a head may have any
            self._note(event.kind.encode("utf-8", "surrogatepass"), place, attempt, number, offset)

    def _note(self, kind: bytes, place: int, attempt: int, number: int, offset: int) -> None:
        if attempt > self._attempts[place] and kind in _FOUND:
            self._attempts[place] = attempt
            self._requests.begin(place)
        if kind == b"run":
            if self._records[place] >= 0:
                self._replaced.setdefault(place, []).append(self._records[place])
            self._records[place], self._numbers[place] = offset, number
            self._begun.pop(place, None)
            if attempt == self._attempts[place]:
                self._requests.record(place)
        elif kind == _REQUEUE and self._records[place] >= 0 and attempt == self._attempts[place]:
            self._requests.request(place)
        elif kind == _REPEAT:
            self._requests.request_all()
        elif kind == b"setting" and self._records[place] < 0:
            self._begun[place] = offset

    def _place(self, name: str) -> int:
        place = self.places.get(name)
        if place is None:
            place = self.places[name] = len(self.places)
            see_runs(self.folder, len(self.places))
            self._attempts.append(0)
            for column in (self._last, self._records, self._numbers):
                column.append(_NONE)
        return place


def index_runs(folder: Path) -> RunIndex:
    """Read a journal once, and return where its runs are.

    Raises:
        JournalError: there is no journal, it cannot be read, or it holds too many runs.
    """
    index = RunIndex(folder)
    index._take_all()
    return index


def read_records(folder: Path, damage: Damage | None = None, *, quick: bool = False) -> Iterator[RunRecord]:
    """Yield the newest record of each run that ended, in the order in which they ended; transcripts are not read.

    Its usage is that of the whole run: what earlier attempts cost was paid for, too, and so were earlier judgings.

    Args:
        folder: The journal's folder.
        damage: Counts records that had to be skipped, and lines of an unrecognizable kind.
        quick: Whether records may be structs, as `read_record` makes them: for figures, not to be handed out.

    Raises:
        JournalError: there is no journal.
    """
    damage = damage if damage is not None else Damage()
    index = index_runs(folder)
    damage.join(index.damage)
    yield from index.records(damage, quick=quick)


@dataclass(frozen=True, slots=True)
class _Paid:
    usage: Mapping[str, Usage] = field(default_factory=dict)


def _record_in(folder: Path, line: bytes, *, quick: bool) -> tuple[int, RunRecord]:
    """Return the attempt and the record in a line.

    Raises:
        ValueError: there is no record in it.
    """
    head = HEAD.match(line)
    # A struct has no field for what is in other files, so it need not be looked for.
    if quick and head and (data := sealed_data(line, head)) is not None and (found := read_record(data)) is not None:
        return int(head[3]), as_earned(found)
    if head and (data := plain_data(line)) is not None:
        with suppress(ValueError, RecursionError):
            return int(head[3]), as_earned(decode_json(RunRecord, data))
    event = parse(line)
    if event is None:
        raise ValueError("this is not a line of a journal")
    return event.attempt, as_earned(decode(RunRecord, restore_texts(folder, event.data)))


def _add_paid(paid: dict[int, Mapping[str, Usage]], attempt: int, usage: Mapping[str, Usage]) -> None:
    """Add one record. A further one of the same attempt is a further judging of the same conversation."""
    judged = paid.get(attempt, {}).get("judge")
    paid[attempt] = usage if judged is None else {**usage, "judge": judged + usage.get("judge", NO_USAGE)}


def _added(one: Mapping[str, Usage], two: Mapping[str, Usage]) -> Mapping[str, Usage]:
    return {role: one.get(role, NO_USAGE) + two.get(role, NO_USAGE) for role in dict.fromkeys((*one, *two))}

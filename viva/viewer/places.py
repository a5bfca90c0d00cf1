"""Knows where in a journal the lines of each run are, and follows the file as it grows."""

from __future__ import annotations

import os
import re
import stat
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from viva.exam.stored_runs import REQUEUE
from viva.journal.errors import JournalError, no_journal
from viva.journal.line_checksum import is_unchanged
from viva.journal.lines import (
    DATA,
    EXCHANGE,
    FILE,
    HEAD,
    MOST_LINE,
    REPEAT,
    Damage,
    lines_at,
    parse,
    round_number,
    see_runs,
)
from viva.journal.tallies.repeat_requests import RepeatRequests
from viva.journal.tallies.round_tally import number_of
from viva.regular_files import open_plain

NOWHERE = -1


class ReplacedJournal(JournalError):
    """What was read of a journal is no longer there: it is shorter than it was, or another one is in its place."""


_REQUEUE = REQUEUE.encode()
_REPEAT = REPEAT.encode()
_EXCHANGE = EXCHANGE.encode()
_KINDS = frozenset({b"round", b"setting", b"transcript", b"run", _REQUEUE, _REPEAT, _EXCHANGE})
_FEW = frozenset({b"setting", b"transcript", b"run", _REQUEUE, _REPEAT})
"""The kinds of which each run has few lines, which are all checked."""
_NUMBER = re.compile(rb'"number": ?([1-9]\d{0,8})[,}]')


@dataclass(slots=True)
class RunPlaces:
    """Byte offsets of the lines of one run's newest attempt."""

    run: str
    attempt: int
    setting: int = NOWHERE
    transcript: int = NOWHERE
    record: int = NOWHERE
    asked: int = NOWHERE
    """What judges' models were asked and answered."""
    numbers: array[int] = field(default_factory=lambda: array("I"))
    """The numbers of the rounds, in ascending order."""
    rounds: array[int] = field(default_factory=lambda: array("q"))
    """The offset of each of these rounds."""
    changed: int = 0
    """The version of the journal at which the run changed last."""

    def see_round(self, number: int, offset: int) -> None:
        """Note a round, in the place of one with the same number if there is one."""
        if not self.numbers or number > self.numbers[-1]:
            self.numbers.append(number)
            self.rounds.append(offset)
            return
        place = bisect_left(self.numbers, number)
        if self.numbers[place] == number:
            self.rounds[place] = offset
        else:
            self.numbers.insert(place, number)
            self.rounds.insert(place, offset)

    def round_at(self, number: int) -> int:
        """Return the offset of a round; NOWHERE if none with this number was found."""
        if not self.numbers or number > self.numbers[-1]:
            return NOWHERE
        place = bisect_left(self.numbers, number)
        return self.rounds[place] if self.numbers[place] == number else NOWHERE


_OFFSETS = ("setting", "transcript", "record", "asked")
MOST_AT_ONCE = 16 * 1024 * 1024
"""Number of bytes after which `follow` stops reading, so that what was found can be shown."""
_MOST_PACKED = 2_000
"""Maximum number of rounds of a run of which the places are packed."""


class PlacesOfRuns:
    """The places of all runs, in the order in which the runs began.

    Those of a run that ended are packed into common arrays, some sixty bytes for each run instead of four hundred, and
    unpacked when they are asked for.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._positions: dict[str, int] = {}
        self._open: dict[int, RunPlaces] = {}
        self._offsets = {name: array("q") for name in _OFFSETS}
        self._attempts, self._changed = array("I"), array("I")
        self._first, self._counts = array("q"), array("I")
        self._rounds = array("q")
        self.requests: RepeatRequests[int] = RepeatRequests()
        """Which runs are to be repeated, by position."""

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, run: object) -> bool:
        return run in self._positions

    def position(self, run: str) -> int | None:
        """Return the position of a run; None if there is none."""
        return self._positions.get(run)

    def get(self, run: str) -> RunPlaces | None:
        """Return the places of a run; None if there is none."""
        position = self._positions.get(run)
        return None if position is None else self.at(position)

    def __getitem__(self, run: str) -> RunPlaces:
        return self.at(self._positions[run])

    def at(self, position: int) -> RunPlaces:
        """Return the places of the run at a position."""
        known = self._open.get(position)
        if known is not None:
            return known
        first, count = self._first[position], self._counts[position]
        return RunPlaces(
            self.ids[position],
            self._attempts[position],
            numbers=array("I", range(1, count + 1)),
            rounds=self._rounds[first : first + count],
            changed=self._changed[position],
            **{name: offsets[position] for name, offsets in self._offsets.items()},
        )

    def record_at(self, position: int) -> int:
        """Return where the record of a run is."""
        known = self._open.get(position)
        return self._offsets["record"][position] if known is None else known.record

    def rounds_at(self, position: int) -> int:
        """Return the number of rounds of a run."""
        known = self._open.get(position)
        return self._counts[position] if known is None else len(known.rounds)

    def is_requeued_at(self, position: int) -> bool:
        """Return whether a run is to be run again."""
        return self.record_at(position) > NOWHERE and self.requests.is_outdated(position)

    def is_open(self, position: int, places: RunPlaces) -> bool:
        """Return whether these are the places of a run in progress, which are kept as they are and need no `put`."""
        return places.record == NOWHERE and self._open.get(position) is places

    def put(self, places: RunPlaces) -> int:
        """Set the places of a run; return its position."""
        position = self._positions.setdefault(places.run, len(self.ids))
        if position == len(self.ids):
            self.ids.append(places.run)
            for offsets in self._offsets.values():
                offsets.append(NOWHERE)
            for numbers in (self._attempts, self._changed, self._first, self._counts):
                numbers.append(0)
        self._open[position] = places
        if places.record != NOWHERE and places.transcript < places.record:
            self._pack(position, places)
        return position

    def _pack(self, position: int, places: RunPlaces) -> None:
        count = len(places.rounds)
        # The numbers of most runs are 1, 2, 3…, and need not be kept.
        if count > _MOST_PACKED or not 0 < places.attempt < 1 << 32 or (count and places.numbers[-1] != count):
            return
        first, known = self._first[position], self._counts[position]
        if known != count or self._rounds[first : first + count] != places.rounds:
            self._first[position], self._counts[position] = len(self._rounds), count
            self._rounds.extend(places.rounds)
        for name, offsets in self._offsets.items():
            offsets[position] = getattr(places, name)
        self._attempts[position], self._changed[position] = places.attempt, places.changed
        del self._open[position]


_NO_HEAD = b"\n\n"
"""Stands for the head of a line; no line begins with it."""
_CLOSED = b"}\n"
"""The end of a line that was not cut off."""
_Line = tuple[str, int, bytes, int, bool]
"""What a line is about: its run, attempt and kind, the number of the round or 0, and whether it begins as Viva's lines
do, which says nothing of the rest of it."""
END = 200
"""Number of bytes of the last line that are kept: the ends of lines differ by their runs, times and scores."""


@dataclass(slots=True)
class JournalPlaces:
    """The places of a journal's runs. `follow` reads what was appended since the last call."""

    folder: Path
    runs: PlacesOfRuns = field(default_factory=PlacesOfRuns)
    version: int = 0
    """Grows with each call of `follow` that found something."""
    damage: Damage = field(default_factory=Damage)
    is_behind: bool = False
    """Whether the last call of `follow` left something unread, because there was much."""
    _offset: int = 0
    _number: int = 0
    _end: bytes = b""
    """The last bytes that were read, by which another file in the journal's place is known."""

    def follow(self) -> list[int]:
        """Read what was appended, as far as one call reads; return the positions of the runs that changed, each once.

        Raises:
            JournalError: there is no journal, it cannot be read, or it holds too many runs.
            ReplacedJournal: the journal is shorter than it was, or another one is in its place.
        """
        path = self.folder / FILE
        version = self.version + 1
        changed: dict[int, None] = {}
        if self._offset:
            self.found()
        try:
            with open_plain(path) as file, open_plain(path) as earlier:
                file.seek(self._offset - len(self._end))
                if file.read(len(self._end)) != self._end:
                    raise ReplacedJournal(f"{path} was replaced by another journal. Start the viewer again.")
                self._take_lines(file, earlier, version, changed)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise no_journal(self.folder, FILE) from error
        except OSError as error:
            raise JournalError(f"cannot read {path}: {error.strerror}") from error
        if changed:
            self.version = version
        return list(changed)

    def found(self) -> os.stat_result:
        """Return what the system knows about the journal's file.

        Raises:
            JournalError: it is gone, or is not a file.
            ReplacedJournal: it is shorter than it was.
        """
        path = self.folder / FILE
        try:
            known = os.stat(path)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise JournalError(f"{path} is gone; it was removed or renamed.") from error
        except OSError as error:
            raise JournalError(f"cannot read {path}: {error.strerror}") from error
        if not stat.S_ISREG(known.st_mode):
            raise JournalError(f"{path} is no longer a file.")
        if known.st_size < self._offset:
            raise ReplacedJournal(f"{path} is shorter than it was; it was replaced. Start the viewer again.")
        return known

    def _take_lines(self, file: BinaryIO, earlier: BinaryIO, version: int, changed: dict[int, None]) -> None:
        """Read up to `MOST_AT_ONCE` bytes of whole lines, and note which runs changed.

        Args:
            file: The journal, at the first line to read.
            earlier: The same file, in which lines that were taken before can be looked at.
            version: The version of the journal with these lines.
            changed: Takes the positions of the runs that changed.
        """
        offset, number, line = self._offset, self._number, b""
        end = offset + MOST_AT_ONCE
        same, latest, position = _NO_HEAD, RunPlaces("", 0), 0
        self.is_behind = True
        try:
            while offset < end:
                following = file.readline(MOST_LINE)
                if not following.endswith(b"\n"):
                    self.is_behind = False
                    break  # the end; or it is being written, or longer than any line
                line, start = following, offset
                offset += len(line)
                number += 1
                # Most lines are the next round of the same run, which are noted in a third of the time.
                found = _NUMBER.match(line, len(same)) if line.startswith(same) and line.endswith(_CLOSED) else None
                if found is not None and (round_ := int(found[1])) > latest.numbers[-1]:
                    latest.numbers.append(round_)
                    latest.rounds.append(start)
                    continue
                same = _NO_HEAD
                if (event := self._event(line, number)) is None:
                    continue
                if (places := self._places(event, line, number, earlier)) is not None:
                    position = self._note(places, event, start, version)
                    changed[position] = None
                    if event[2] == b"round" and event[4] and self.runs.is_open(position, places):
                        same, latest = line[: line.find(DATA) + len(DATA)], places
        finally:
            self._offset, self._number = offset, number
            if line:
                self._end = line[-END:]

    def _event(self, line: bytes, line_number: int) -> _Line | None:
        """Return what a line is about; None for one that no view shows. One with a head is not checked yet."""
        head = HEAD.match(line)
        number: int | None = 0
        if head is not None:
            if (kind := head[1]) not in _KINDS:
                return None
            run, attempt = head[2].decode(), int(head[3])
            if kind == b"round":
                found = _NUMBER.match(line, head.end())
                number = int(found[1]) if found is not None else round_number(line, head, line_number, self.damage)
        elif line == b"\n" or (event := parse(line, line_number, self.damage)) is None:
            return None
        else:
            run, attempt, kind = event.run, event.attempt, event.kind.encode("utf-8", "surrogatepass")
            if kind == b"round" and (number := number_of(event.data.get("number"))) is None:
                self.damage.add(line_number)
        if kind not in _KINDS or number is None:
            return None
        return run, attempt, kind, number, head is not None

    def _places(self, event: _Line, line: bytes, line_number: int, earlier: BinaryIO) -> RunPlaces | None:
        """Return the places to which a line belongs; None if it is torn, or of an older attempt.

        Not every line is checked, which would take longer than the rest. A torn line must not begin an attempt, which
        would hide the attempt before, and must not stand for a round, or a part of the run, that is whole elsewhere.
        """
        run, attempt, kind, round_, has_head = event
        places = self.runs.get(run)
        begins, known = False, NOWHERE
        if places is None or attempt > places.attempt:
            begins = True
        elif attempt < places.attempt:
            return None
        elif kind == b"round":
            known = places.round_at(round_)
        to_check = begins or known != NOWHERE or kind in _FEW or not line.endswith(_CLOSED)
        if has_head and to_check and not _is_whole(line, line_number, self.damage):
            return None
        if known != NOWHERE and self._is_whole_at(known, earlier):
            return None  # of two with one number, the first counts, as for every reader
        if begins:
            see_runs(self.folder, len(self.runs) + 1)
            return RunPlaces(run, attempt, record=NOWHERE if places is None else places.record)
        return places

    def _is_whole_at(self, offset: int, earlier: BinaryIO) -> bool:
        earlier.seek(offset)
        return _is_whole(earlier.readline(MOST_LINE), 0, self.damage)

    def _note(self, places: RunPlaces, event: _Line, offset: int, version: int) -> int:
        """Note where a line is; return the position of its run."""
        run, _, kind, round_, _ = event
        position = self.runs.position(run)
        if position is None:
            position = self.runs.put(places)
        if not places.changed:  # the first line of an attempt
            self.runs.requests.begin(position)
        if kind == b"round":
            places.see_round(round_, offset)
        elif kind == b"setting":
            places.setting = offset
        elif kind == b"transcript":
            places.transcript = offset
        elif kind == b"run":
            places.record = offset
            self.runs.requests.record(position)
        elif kind == _REQUEUE:
            self.runs.requests.request(position)
        elif kind == _REPEAT:
            self.runs.requests.request_all()
        else:
            places.asked = offset
        places.changed = version
        return position if self.runs.is_open(position, places) else self.runs.put(places)

    def read(self, offsets: Iterable[int]) -> Iterator[bytes]:
        """Yield the lines at these offsets.

        Raises:
            JournalError: the journal cannot be read.
        """
        return lines_at(self.folder, offsets)


def _is_whole(line: bytes, number: int, damage: Damage) -> bool:
    """Return whether a line is not torn; a torn one is counted in `damage`."""
    # The checksum proves that the line is valid, so it need not be parsed.
    return is_unchanged(line) is True or parse(line, number, damage) is not None

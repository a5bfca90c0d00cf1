"""Knows where in a journal the lines of each run are, and follows the file as it grows."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from viva.exam.stored_runs import REQUEUE
from viva.journal.errors import JournalError, no_journal
from viva.journal.lines import EXCHANGE, FILE, HEAD, MOST_LINE, Damage, lines_at, parse, see_runs
from viva.journal.round_tally import number_of
from viva.regular_files import open_plain

NOWHERE = -1
_REQUEUE = REQUEUE.encode()
_EXCHANGE = EXCHANGE.encode()
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
    requeued: bool = False
    changed: int = 0
    """The version of the journal at which the run changed last."""

    def see_round(self, number: int, offset: int) -> None:
        """Note a round; of two with one number, the first counts, as for every reader."""
        if not self.numbers or number > self.numbers[-1]:
            self.numbers.append(number)
            self.rounds.append(offset)
            return
        place = bisect_left(self.numbers, number)
        if self.numbers[place] != number:
            self.numbers.insert(place, number)
            self.rounds.insert(place, offset)


@dataclass(slots=True)
class JournalPlaces:
    """The places of a journal's runs. `follow` reads what was appended since the last call."""

    folder: Path
    runs: dict[str, RunPlaces] = field(default_factory=dict)
    """In the order in which the runs began."""
    version: int = 0
    """Grows with each call of `follow` that found something."""
    damage: Damage = field(default_factory=Damage)
    _offset: int = 0
    _number: int = 0

    def follow(self) -> list[RunPlaces]:
        """Read what was appended; return the runs that changed, each once.

        Raises:
            JournalError: there is no journal, it cannot be read, or it holds too many runs.
        """
        path = self.folder / FILE
        version, changed = self.version + 1, []
        try:
            with open_plain(path) as file:
                if file.seek(0, 2) < self._offset:
                    raise JournalError(f"{path} is shorter than it was; it was replaced. Start the viewer again.")
                file.seek(self._offset)
                while line := file.readline(MOST_LINE):
                    if not line.endswith(b"\n"):
                        break  # it is being written, or longer than any line
                    offset = self._offset
                    self._offset += len(line)
                    self._number += 1
                    found = self._take(line, offset)
                    if found is not None and found.changed != version:
                        found.changed = version
                        changed.append(found)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise no_journal(self.folder, FILE) from error
        except OSError as error:
            raise JournalError(f"cannot read {path}: {error.strerror}") from error
        if changed:
            self.version = version
        return changed

    def _take(self, line: bytes, offset: int) -> RunPlaces | None:
        head = HEAD.match(line)
        if head is not None:
            kind, run, attempt = head[1], head[2].decode(), int(head[3])
            number = int(found[1]) if kind == b"round" and (found := _NUMBER.match(line, head.end())) else None
        elif line == b"\n":
            return None
        else:
            event = parse(line, self._number, self.damage)
            if event is None:
                return None
            kind, run, attempt = event.kind.encode("utf-8", "surrogatepass"), event.run, event.attempt
            number = number_of(event.data.get("number"))
        return self._note(run, attempt, kind, offset, number)

    def _note(self, run: str, attempt: int, kind: bytes, offset: int, number: int | None) -> RunPlaces | None:
        places = self.runs.get(run)
        if places is None or attempt > places.attempt:
            see_runs(self.folder, len(self.runs) + 1)
            record = NOWHERE if places is None else places.record
            places = self.runs[run] = RunPlaces(run, attempt, record=record)
        elif attempt < places.attempt:
            return None
        if kind == b"round":
            if number is None:
                return None
            places.see_round(number, offset)
        elif kind == b"setting":
            places.setting = offset
        elif kind == b"transcript":
            places.transcript = offset
        elif kind == b"run":
            places.record, places.requeued = offset, False
        elif kind == _REQUEUE:
            places.requeued = True
        elif kind == _EXCHANGE:
            places.asked = offset
        else:
            return None
        return places

    def read(self, offsets: Iterable[int]) -> Iterator[bytes]:
        """Yield the lines at these offsets.

        Raises:
            JournalError: the journal cannot be read.
        """
        return lines_at(self.folder, offsets)

"""Reads the lines of a journal one by one in constant memory, and recognizes torn lines."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from viva.journal.errors import JournalError, no_journal
from viva.journal.line_checksum import SEAL_LENGTH, is_unchanged, unsealed
from viva.journal.tallies.round_tally import number_of
from viva.records.codec import loads
from viva.records.text import counted
from viva.regular_files import open_plain

FORMAT = 1
FILE = "journal.jsonl"
HEAD = re.compile(rb'\{"v":1,"event":"([a-z]+)","run":"([ !#-\[\]-~]+)","attempt":(\d{1,9}),"data":\{')
"""The head of a line as this version writes it, with kind, run and attempt, which saves parsing the rest. Other lines
are parsed."""
DATA = b',"data":{'
"""The end of a head, which is nowhere else in it."""
_TEXT_HEAD = re.compile(HEAD.pattern.decode(), re.ASCII)
EXCHANGE = "exchange"
"""The kind of the event that holds what judges' models were asked and answered. `viva.exam.judging.exchanges` reads it;
other readers pass it over unread."""
REQUEUE = "requeue"
"""The kind of the event that asks for a run to be repeated."""
REPEAT = "repeat"
"""The kind of the event that asks for every run to be repeated of which the journal holds a line above it. It names one
of them, as every line does: one line is there or is not, so what cuts its writing off cannot choose among runs."""
KINDS = frozenset({"setting", "round", "transcript", "insight", "run", EXCHANGE})
_NUMBER = re.compile(rb'"number": ?([1-9]\d{0,8})[,}]')
SHOWN_LINES = 20
MOST_LINE = 64 * 1024 * 1024
"""Maximum size of a line in bytes; a longer line counts as torn, and is skipped without being loaded into memory."""
MOST_PASSED_OVER = 1024 * 1024 * 1024
"""Maximum size of all such lines in bytes; a file with more is refused, because a sparse file could take hours."""
MOST_RUNS = 500_000
"""Maximum number of runs in one journal."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a journal."""

    kind: str
    """`setting`, `round`, `transcript`, `insight`, `exchange` or `run`."""
    run: str
    attempt: int
    data: dict[str, Any]


@dataclass(slots=True)
class Damage:
    """Counts the lines that a reader had to skip. It is filled while reading."""

    torn: int = 0
    unknown: int = 0
    """Number of lines in a newer format."""
    lines: list[int] = field(default_factory=list)
    """The numbers of the first twenty skipped lines, in the order of the file."""

    def add(self, number: int, *, newer: bool = False) -> None:
        """Count one skipped line; `number` is 0 if it is not known."""
        if newer:
            self.unknown += 1
        else:
            self.torn += 1
        if number:
            bisect.insort(self.lines, number)
            del self.lines[SHOWN_LINES:]

    def clear(self) -> None:
        """Begin to count anew."""
        self.torn = self.unknown = 0
        self.lines.clear()

    def join(self, other: Damage) -> None:
        """Count the lines that another reader had to skip, too."""
        self.torn += other.torn
        self.unknown += other.unknown
        self.lines = sorted((*self.lines, *other.lines))[:SHOWN_LINES]

    def words(self, torn: str = "torn line") -> str:
        """Return how many lines were skipped, as in `1 torn line and 2 lines of a newer format`; empty if none were.

        Args:
            torn: The term for a damaged line.
        """
        parts = []
        if self.torn:
            parts.append(counted(self.torn, torn))
        if self.unknown:
            parts.append(f"{counted(self.unknown, 'line')} of a newer format")
        return " and ".join(parts)


def scan(folder: Path, damage: Damage | None = None, *, kinds: frozenset[str] | None = None) -> Iterator[Event]:
    """Yield the events of a journal one by one, in order, in constant memory.

    Args:
        folder: The journal's folder.
        damage: Counts the lines that had to be skipped.
        kinds: The kinds of events to read. Other events are not parsed, so damage behind their heads is not counted.

    Raises:
        JournalError: there is no journal, or it cannot be read.
    """
    for number, _, line in raw_lines(folder):
        if kinds is not None and (head := HEAD.match(line)) is not None and head[1].decode() not in kinds:
            continue
        event = parse(line, number, damage)
        if event is not None and (kinds is None or event.kind in kinds):
            yield event


def raw_lines(folder: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield the line number, the byte offset and the bytes of every line that is not empty.

    Raises:
        JournalError: there is no journal, or it cannot be read.
    """
    path = folder / FILE
    offset, number, left = 0, 0, MOST_PASSED_OVER
    try:
        with open_plain(path) as file:
            while line := file.readline(MOST_LINE):
                number += 1
                length = len(line)
                if length == MOST_LINE and not line.endswith(b"\n"):
                    length += _pass_over(file, min(left, MOST_PASSED_OVER))
                    left -= length
                    if left < 0:
                        raise JournalError(f"{path} is not a journal: its lines are too long (line {number:,}).")
                    # Never valid: the beginning of the line shows at most to which run it belongs.
                    line = line[:200]
                if line != b"\n":
                    yield number, offset, line
                offset += length
    except (FileNotFoundError, NotADirectoryError) as error:
        raise no_journal(folder, FILE) from error
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}") from error


def lines_at(folder: Path, offsets: Iterable[int]) -> Iterator[bytes]:
    """Yield the lines that begin at these byte offsets, as `raw_lines` found them.

    Raises:
        JournalError: the journal cannot be read.
    """
    path = folder / FILE
    try:
        with open_plain(path) as file:
            for offset in offsets:
                file.seek(offset)
                yield file.readline(MOST_LINE)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise no_journal(folder, FILE) from error
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}") from error


def _pass_over(file: BinaryIO, most: int) -> int:
    """Skip to the end of a line; return its length, or somewhat more than `most` if it is longer."""
    length = 0
    while length <= most and (block := file.readline(MOST_LINE // 16)):
        length += len(block)
        if block.endswith(b"\n"):
            break
    return length


def see_runs(folder: Path, number: int) -> None:
    """Check that a journal does not hold more runs than fit into a bounded amount of memory.

    Raises:
        JournalError: the journal holds more runs.
    """
    if number > MOST_RUNS:
        raise JournalError(f"{folder} holds more than {MOST_RUNS:,} runs, the maximum for one journal.")


def round_number(line: bytes, head: re.Match[bytes], number: int = 0, damage: Damage | None = None) -> int | None:
    """Return the number of the round that a line holds, or None for a torn line, which is counted in `damage`.

    Args:
        line: A line of the kind `round`.
        head: The match of its head.
        number: The number of the line in the file.
        damage: Counts the line if it is torn.
    """
    if (found := sealed_round(line, head)) is not None:
        return found
    event = parse(line, number, damage)
    if event is None:
        return None
    counted = number_of(event.data.get("number"))
    if counted is None and damage is not None:
        damage.add(number)
    return counted


def sealed_round(line: bytes, head: re.Match[bytes]) -> int | None:
    """Return the number of the round that a line holds; None for a line that must be parsed to find it.

    Args:
        line: A line of the kind `round`.
        head: The match of its head.
    """
    # The checksum proves that the line is valid, so it need not be parsed.
    found = _NUMBER.match(line, head.end())
    return int(found[1]) if found is not None and is_unchanged(line) else None


def sealed_data(line: bytes, head: re.Match[bytes] | None = None) -> bytes | None:
    """Return the JSON of an event's data, not parsed; None for a line that must be parsed to find it.

    It is what the line's head and its checksum enclose; what is not one JSON value is not a line of Viva.

    Args:
        line: The line.
        head: The match of its head, if that was looked for.
    """
    head = head or HEAD.match(line)
    if head is None or (content := unsealed(line)) is None:
        return None
    return content[head.end() - 1 :]


def sealed_text(line: str) -> tuple[str, str] | None:
    """Return the kind of an event and the JSON of its data, not parsed; None for a line that must be parsed to find it.

    Args:
        line: A line as text, without its line end, that was read and checked before: a checksum, which covers the bytes
            on the disk, is right if it is there.
    """
    if not (line.startswith(',"crc":"', -SEAL_LENGTH) and line.endswith('"}')):
        return None
    head = _TEXT_HEAD.match(line)
    return None if head is None else (head[1], line[head.end() - 1 : -SEAL_LENGTH])


def parse(line: bytes | str, number: int = 0, damage: Damage | None = None) -> Event | None:
    """Return one event, or None for a torn line or a line in a newer format, which is counted in `damage`.

    A round with an invalid number counts as torn: no reader would know its place in the conversation. The checksum
    covers bytes on the disk; a line that is text was read and checked before.
    """
    try:
        if isinstance(line, bytes) and is_unchanged(line) is False:
            raise ValueError("its checksum does not match")
        raw = loads(line)
        version = raw["v"]
        newer = type(version) is int and version > FORMAT
        sound = newer or _sound(version, raw["event"], raw["run"], raw["attempt"], raw["data"])
    except (ValueError, KeyError, TypeError, RecursionError):
        newer = sound = False
    if newer or not sound:
        if damage is not None:
            damage.add(number, newer=newer)
        return None
    return Event(raw["event"], raw["run"], raw["attempt"], raw["data"])


def _sound(version: object, kind: object, run: object, attempt: object, data: object) -> bool:
    right = type(version) is int and isinstance(kind, str) and isinstance(run, str)
    right = right and type(attempt) is int and isinstance(data, dict)
    # What the data lacks is noticed where they are decoded.
    return right and (kind != "round" or number_of(data.get("number", 1)) is not None)  # type: ignore[attr-defined]

"""The lines of a journal: how one is told from a torn one, and how they are read one by one in constant memory."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from records.codec import loads
from records.journal_errors import JournalError, no_journal
from records.kept_files import open_plain
from records.line_checksum import is_unchanged
from records.round_tally import number_of

FORMAT = 1
FILE = "journal.jsonl"
HEAD = re.compile(rb'\{"v":1,"event":"([a-z]+)","run":"([ !#-\[\]-~]+)","attempt":(\d{1,9}),"data":\{')
"""The head of a line as this version writes it: kind, run and attempt without parsing the rest. Other lines are
parsed."""
KINDS = frozenset({"setting", "round", "transcript", "insight", "run"})
_NUMBER = re.compile(rb'"number": ?([1-9]\d{0,8})[,}]')
SHOWN_LINES = 20
MOST_LINE = 64 * 1024 * 1024
"""Bytes of one line; a longer one counts as torn, and is passed over without being held in memory."""
MOST_PASSED_OVER = 1024 * 1024 * 1024
"""Bytes of such lines, before a file is taken for no journal: a sparse file could keep a reader busy for hours."""
MOST_RUNS = 500_000
"""Runs of one journal that are read."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a journal."""

    kind: str
    """`setting`, `round`, `transcript`, `insight` or `run`."""
    run: str
    attempt: int
    data: dict[str, Any]


@dataclass(slots=True)
class Damage:
    """What a reader had to skip. Filled while reading."""

    torn: int = 0
    unknown: int = 0
    """Lines of a newer format."""
    lines: list[int] = field(default_factory=list)
    """Line numbers, the first twenty in the order of the file."""

    def add(self, number: int, *, newer: bool = False) -> None:
        """Count one skipped line; `number` is 0 where it is not known."""
        if newer:
            self.unknown += 1
        else:
            self.torn += 1
        if number:
            bisect.insort(self.lines, number)
            del self.lines[SHOWN_LINES:]

    def words(self, torn: str = "torn line") -> str:
        """Say how many lines were skipped, as `1 torn line and 2 lines of a newer format`; nothing where none was.

        Args:
            torn: What the reader calls a line that is damaged.
        """
        parts = []
        if self.torn:
            parts.append(f"{self.torn:,} {torn}{'' if self.torn == 1 else 's'}")
        if self.unknown:
            parts.append(f"{self.unknown:,} line{'' if self.unknown == 1 else 's'} of a newer format")
        return " and ".join(parts)


def scan(folder: Path, damage: Damage | None = None, *, kinds: frozenset[str] | None = None) -> Iterator[Event]:
    """Read the events of a journal one by one, in order, in constant memory.

    Args:
        folder: The journal's folder.
        damage: Counts the lines that had to be skipped.
        kinds: Only these kinds of event; others are not even parsed, so tears behind their heads go uncounted.

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
    """Line number, byte offset and bytes of every line that is not empty.

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
                        raise JournalError(f"{path} is no journal: its lines are too long (line {number:,}).")
                    # Never sound: what is left of it tells at most whose line it was.
                    line = line[:200]
                if line != b"\n":
                    yield number, offset, line
                offset += length
    except (FileNotFoundError, NotADirectoryError) as error:
        raise no_journal(folder, FILE) from error
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}") from error


def _pass_over(file: BinaryIO, most: int) -> int:
    """Read to the end of a line without keeping it. Returns its length, or somewhat more than the most."""
    length = 0
    while length <= most and (block := file.readline(MOST_LINE // 16)):
        length += len(block)
        if block.endswith(b"\n"):
            break
    return length


def see_runs(folder: Path, number: int) -> None:
    """See that a journal holds no more runs than can be told apart in a bounded memory.

    Raises:
        JournalError: it holds more.
    """
    if number > MOST_RUNS:
        raise JournalError(f"{folder} holds more than {MOST_RUNS:,} runs, which is more than are read of one journal.")


def round_number(line: bytes, head: re.Match[bytes], number: int = 0, damage: Damage | None = None) -> int | None:
    """The number of the round that a line holds, or None for a torn line, which is counted in `damage`.

    Args:
        line: Of the kind `round`.
        head: Its head.
        number: Of the line in the file.
        damage: Counts it if it is torn.
    """
    # With a checksum the line need not be parsed to be known as sound.
    if (found := _NUMBER.match(line, head.end())) is not None and is_unchanged(line):
        return int(found[1])
    event = parse(line, number, damage)
    if event is None:
        return None
    counted = number_of(event.data.get("number"))
    if counted is None and damage is not None:
        damage.add(number)
    return counted


def parse(line: bytes | str, number: int = 0, damage: Damage | None = None) -> Event | None:
    """One event, or None for a torn line or one of a newer format, which is counted in `damage`.

    The checksum is that of bytes as they lie on a disk: a line that is text was read, and checked, before.
    """
    try:
        if isinstance(line, bytes) and is_unchanged(line) is False:
            raise ValueError("a byte of it changed")
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
    return right and type(attempt) is int and isinstance(data, dict)

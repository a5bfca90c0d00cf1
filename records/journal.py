"""The journal: an append-only file of events, one JSON object a line, that survives whatever kills its writer."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from records.codec import encode, loads, prepare
from records.long_texts import cut_texts, spilled_files
from records.run_record import RunRecord, Setting
from records.text import slug
from records.transcript import Round, Transcript
from records.verdict import Insight

FORMAT = 1
FILE = "journal.jsonl"
LINE_LIMIT = 256 * 1024
"""Bytes beyond which a line's texts are looked at one by one."""
HEAD = re.compile(rb'\{"v":1,"event":"([a-z]+)","run":"([ !#-\[\]-~]+)","attempt":\d+,"data":\{')
"""The head of a line as this version writes it: tells kind and run without parsing the rest. Other lines are parsed."""


class JournalError(Exception):
    """A journal cannot be written or read; the message says where and what to do."""


class JournalBusy(JournalError):
    """Another process writes this journal."""


class JournalLost(JournalError):
    """A journal that was being written takes no more: the disk is full or gone. What it holds can be read."""


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
    """Line numbers, the first twenty."""

    def add(self, number: int, *, newer: bool = False) -> None:
        """Count one skipped line."""
        if newer:
            self.unknown += 1
        else:
            self.torn += 1
        if len(self.lines) < 20:
            self.lines.append(number)


@lru_cache(maxsize=4096)
def run_id(subject: str, agent: str, trial: int = 1) -> str:
    """The id of one (subject, agent, trial): readable, fit for a folder name, and the same every time."""
    digest = hashlib.sha256(json.dumps([subject, agent, trial]).encode()).hexdigest()[:8]
    return f"{slug(subject, 48)}-{digest}"


class Journal:
    """Writes a journal. Several processes may append to one: each event is a single `write` to an `O_APPEND` file."""

    def __init__(self, folder: Path) -> None:
        """Open `folder/journal.jsonl` for appending, creating both.

        Raises:
            JournalError: the folder cannot be written.
        """
        # Absolute: an agent may change the working directory while its journal is written.
        self.folder = folder = folder.absolute()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            reason = "it is a file, not a folder" if os.path.isfile(folder) else error.strerror
            raise JournalError(
                f"cannot write a journal in {folder}: {reason}. Choose another folder with --out."
            ) from error
        self._heads: dict[tuple[str, str, int], bytes] = {}
        # Not between the rounds of many conversations, all of which would stand still meanwhile.
        prepare(Setting, Round, Transcript, Insight, RunRecord)

    def append(self, kind: str, run: str, attempt: int, value: object) -> None:
        """Append one event.

        Raises:
            JournalError: the disk did not take it (full, read-only, gone).
        """
        head = self._heads.get((kind, run, attempt))
        if head is None:
            # Each line says everything needed to skip it without parsing what follows.
            head = (
                f'\n{{"v":{FORMAT},"event":{json.dumps(kind)},"run":{json.dumps(run)},"attempt":{attempt},"data":'
            ).encode()
            self._heads[(kind, run, attempt)] = head
        body = encode(value)
        if len(body) > LINE_LIMIT:
            body = json.dumps(cut_texts(loads(body), self.keep)).encode()
        self._write(head + body + b"}\n")
        if kind == "run":
            for event in ("setting", "round", "transcript", "insight", "run"):
                self._heads.pop((event, run, attempt), None)

    def copy_lines(self, lines: bytes, source: Path) -> None:
        """Append lines taken from the journal in the folder `source` as they are, with the long texts they name.

        Raises:
            JournalError: the disk did not take it.
        """
        if not lines:
            return
        for line in lines.splitlines():
            if b'"_texts"' in line and (event := parse(line)) is not None:
                for name, content in spilled_files(source, event.data):
                    self.keep(name, content)
        self._write(b"\n" + lines)

    def holds(self, name: str) -> bool:
        """Whether a file of that name lies beside the journal."""
        return (self.folder / name).exists()

    def keep(self, name: str, content: bytes) -> None:
        """Keep a file beside the journal under a name made from its content; writing it twice is free.

        Raises:
            JournalError: the disk did not take it.
        """
        path = self.folder / name
        if os.path.exists(path):
            return
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                # Renamed before its content reached the disk, it could survive a power cut as an empty file.
                os.fsync(file.fileno())
            part.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise JournalLost(f"cannot write {path}: {error.strerror}") from error

    def sync(self) -> None:
        """Wait until the disk has what was appended."""
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            raise JournalLost(f"cannot sync the journal in {self.folder}: {error.strerror}") from error

    def close(self) -> None:
        """Release the file. May be called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, data: bytes) -> None:
        # One write per event: O_APPEND makes it atomic between processes on a local disk. A line begins with a
        # newline of its own, so a torn write before it (crash, full disk) costs that one event and no other.
        try:
            written = os.write(self._fd, data)
        except OSError as error:
            raise JournalLost(f"cannot append to the journal in {self.folder}: {error.strerror}") from error
        if written != len(data):
            raise JournalLost(f"the journal in {self.folder} took {written} of {len(data)} bytes: is the disk full?")


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
    offset = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line != b"\n":
                    yield number, offset, line
                offset += len(line)
    except FileNotFoundError:
        if not folder.exists():
            raise JournalError(
                f"there is no folder {folder}. Journals lie under runs/ unless --out said otherwise."
            ) from None
        raise JournalError(
            f"{folder} is not a journal: it has no {FILE}. Journals lie under runs/ unless --out said otherwise."
        ) from None
    except NotADirectoryError:
        raise JournalError(f"{folder} is a file; a journal is the folder around its {FILE}.") from None
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}") from error


def parse(line: bytes, number: int = 0, damage: Damage | None = None) -> Event | None:
    """One event, or None for a torn line or one of a newer format, which is counted in `damage`."""
    try:
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

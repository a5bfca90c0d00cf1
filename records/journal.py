"""The journal: an append-only file of events, one JSON object a line, that survives whatever kills its writer."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from records.codec import encode
from records.text import slug, storable

FORMAT = 1
FILE = "journal.jsonl"
TEXT_LIMIT = 64 * 1024
"""Characters of one text that a line holds; a longer one is kept whole in `texts/` and cut in the line."""
LINE_LIMIT = 256 * 1024
"""Bytes beyond which a line's texts are looked at one by one."""


class JournalError(Exception):
    """A journal cannot be written or read; the message says where and what to do."""


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
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise JournalError(
                f"cannot write a journal in {folder}: {error.strerror}. Choose another folder with --out."
            ) from error
        self._heads: dict[tuple[str, str, int], bytes] = {}

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
            body = self._spill(body)
        self._write(head + body + b"}\n")
        if kind == "run":
            for event in ("setting", "round", "transcript", "insight", "run"):
                self._heads.pop((event, run, attempt), None)

    def copy_lines(self, lines: bytes) -> None:
        """Append lines taken from another journal as they are."""
        if lines:
            self._write(b"\n" + lines)

    def keep(self, name: str, content: bytes) -> None:
        """Keep a file beside the journal under a name made from its content; writing it twice is free.

        Raises:
            JournalError: the disk did not take it.
        """
        path = self.folder / name
        if path.exists():
            return
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(content)
            part.replace(path)
        except OSError as error:
            raise JournalError(f"cannot write {path}: {error.strerror}") from error

    def sync(self) -> None:
        """Wait until the disk has what was appended."""
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            raise JournalError(f"cannot sync the journal in {self.folder}: {error.strerror}") from error

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
            raise JournalError(f"cannot append to the journal in {self.folder}: {error.strerror}") from error
        if written != len(data):
            raise JournalError(f"the journal in {self.folder} took {written} of {len(data)} bytes: is the disk full?")

    def _spill(self, body: bytes) -> bytes:
        data = json.loads(body)
        spilled: dict[str, str] = {}

        def cut(value: Any, path: str) -> Any:
            if isinstance(value, str) and len(value) > TEXT_LIMIT:
                content = storable(value).encode()
                name = f"texts/{hashlib.sha256(content).hexdigest()}.txt"
                self.keep(name, content)
                spilled[path] = name
                return f"{value[:TEXT_LIMIT]}… [cut here: {len(value):,} characters, whole in {name}]"
            if isinstance(value, dict):
                return {key: cut(item, f"{path}/{_escape(key)}") for key, item in value.items()}
            if isinstance(value, list):
                return [cut(item, f"{path}/{index}") for index, item in enumerate(value)]
            return value

        data = cut(data, "")
        if spilled:
            data["_texts"] = spilled
        return json.dumps(data).encode()


def scan(folder: Path, damage: Damage | None = None, *, kinds: frozenset[str] | None = None) -> Iterator[Event]:
    """Read the events of a journal one by one, in order, in constant memory.

    Args:
        folder: The journal's folder.
        damage: Counts the lines that had to be skipped.
        kinds: Only these kinds of event; others are not even parsed.

    Raises:
        JournalError: there is no journal, or it cannot be read.
    """
    wanted = None if kinds is None else tuple(_mark(kind) for kind in kinds)
    for number, _, line in raw_lines(folder):
        if wanted is not None and not line[:64].startswith(wanted):
            continue
        event = parse(line, number, damage)
        if event is not None:
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
                if len(line) > 1:
                    yield number, offset, line
                offset += len(line)
    except FileNotFoundError:
        raise JournalError(
            f"{folder} is not a journal: it has no {FILE}. Journals lie under runs/ unless --out said otherwise."
        ) from None
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}") from error


def parse(line: bytes, number: int = 0, damage: Damage | None = None) -> Event | None:
    """One event, or None for a torn line or one of a newer format, which is counted in `damage`."""
    try:
        raw = json.loads(line)
        version, kind, run, attempt, data = raw["v"], raw["event"], raw["run"], raw["attempt"], raw["data"]
        sound = isinstance(version, int) and isinstance(kind, str) and isinstance(run, str)
        sound = sound and isinstance(attempt, int) and isinstance(data, dict)
    except (ValueError, KeyError, TypeError, RecursionError):
        sound = False
    if not sound:
        if damage is not None:
            damage.add(number)
        return None
    if version > FORMAT:
        if damage is not None:
            damage.add(number, newer=True)
        return None
    return Event(kind, run, attempt, data)


def restore_texts(folder: Path, data: dict[str, Any]) -> dict[str, Any]:
    """Put the texts that were too long for a line back into its data. A lost file leaves the cut text standing."""
    for path, name in data.pop("_texts", {}).items():
        place: Any = data
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
        try:
            text = _inside(folder, name).read_text(encoding="utf-8")
            for part in parents:
                place = place[int(part) if isinstance(place, list) else part]
            place[int(last) if isinstance(place, list) else last] = text
        except (OSError, KeyError, IndexError, ValueError, TypeError):
            continue
    return data


def _inside(folder: Path, name: str) -> Path:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ValueError(f"{name} lies outside the journal")
    return path


def _mark(kind: str) -> bytes:
    return f'{{"v":{FORMAT},"event":{json.dumps(kind)},'.encode()


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")

"""The journal: an append-only file of events, one JSON object per line, that survives the death of its writer."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from viva.journal.append_file import AppendFile
from viva.journal.errors import JournalBusy, JournalError, JournalLost
from viva.journal.kept_files import is_kept, may_be_written, names_in, read_sound, write_once
from viva.journal.line_checksum import seal
from viva.journal.lines import FILE, FORMAT, HEAD, Damage, Event, parse, raw_lines, scan
from viva.journal.long_texts import Keep, shorten
from viva.records.codec import encode, loads
from viva.records.copies import make_quickly
from viva.records.quick.lines import prepare_lines, write_line
from viva.records.run_record import RunRecord, Setting, Timing
from viva.records.text import slug
from viva.records.transcript import Round, Transcript
from viva.records.verdict import Insight, Verdict

LINE_LIMIT = 256 * 1024
"""Maximum size of a line in bytes; the texts and steps of a longer line are shortened one by one."""
_to_json = json.JSONEncoder().encode
"""Writes what `json.dumps` would, which checks eight options at each call."""
MOST_HELD = 10_000
"""Maximum number of names of files that are remembered; memory must not grow with the number of runs."""

RunEvents = tuple[str, int, Sequence[tuple[str, object]]]
"""A run, its attempt, and some events of it, each a kind and a value."""

__all__ = [
    "FILE",
    "FORMAT",
    "HEAD",
    "LINE_LIMIT",
    "Damage",
    "Event",
    "Journal",
    "JournalBusy",
    "JournalError",
    "JournalLost",
    "JournalWriter",
    "RunEvents",
    "encode_data",
    "observed_run_id",
    "parse",
    "raw_lines",
    "run_id",
    "scan",
]


@lru_cache(maxsize=4096)
def run_id(subject: str, agent: str, trial: int = 1, persona: str = "", strategy: str = "") -> str:
    """Return the reproducible id of a run that Viva conducts; it is readable and a valid folder name.

    It depends on nothing but these, so a row's runs keep their ids when other rows are added or moved. The plan of a
    suite refuses two runs with the same id.
    """
    # Runs without a persona and a strategy have the ids that they had before there were any.
    chosen = [persona, strategy] if persona or strategy else []
    # Rows are numerous, and long names of families are alike in their readable part: eight digits would collide.
    digits = 12 if subject.endswith("]") else 8
    digest = hashlib.sha256(_to_json([subject, agent, trial, *chosen]).encode()).hexdigest()[:digits]
    return f"{_readable(subject)}-{digest}"


@lru_cache(maxsize=256)
def _readable(subject: str) -> str:
    """Return the readable part of the ids of all trials of a subject."""
    return slug(subject, 48)


@lru_cache(maxsize=64)
def _beginning(kind: str) -> bytes:
    """Return the beginning of the head of each line with an event of this kind."""
    return f'{{"v":{FORMAT},"event":{_to_json(kind)},'.encode()


def observed_run_id(trace_or_session_id: str, subject: str = "") -> str:
    """Return the reproducible id of an observed run, which depends only on its trace or session and its subject.

    Args:
        trace_or_session_id: The id of the trace or session in the source, or else another identifier of the recording.
        subject: The task label, which makes the id readable; two subjects in one session are two runs.
    """
    # Longer than above: the traces of a day are more numerous than the runs of a suite, and must not collide.
    digest = hashlib.sha256(json.dumps([trace_or_session_id, subject]).encode()).hexdigest()[:12]
    return f"{slug(subject or trace_or_session_id, 48)}-{digest}"


def encode_data(value: object, keep: Keep) -> bytes:
    """Return the data of an event as one line of JSON.

    Args:
        value: The record. If its line would be too long, its texts and steps are shortened.
        keep: Stores the whole of what was shortened, given a file name and its content.
    """
    body = write_line(value) or encode(value)
    return body if len(body) <= LINE_LIMIT else shorten(loads(body), keep, LINE_LIMIT)


class JournalWriter(Protocol):
    """The destination of a run's events. `Journal` is one; a worker on another machine may have another."""

    @property
    def folder(self) -> Path:
        """Return the absolute folder that contains the runs' workspaces."""
        ...

    def append(self, kind: str, run: str, attempt: int, value: object) -> None:
        """Append one event, or raise JournalError."""
        ...

    def append_all(self, run: str, attempt: int, events: Sequence[tuple[str, object]]) -> None:
        """Append several events of a run, each a kind and a value, at once, or raise JournalError."""
        ...

    async def send_files(self, run: str, name: str) -> str | None:
        """Send the agent's files in `folder / name` to where the journal is written, when a conversation has ended.

        Returns why they will not be next to the journal, in words; None if they will be.
        """
        ...

    def copy_lines(self, lines: bytes, source: Path, then: RunEvents | None = None) -> None:
        """Append lines of the journal in the folder `source`, with the files that they name, or raise JournalError.

        Further events of the run follow at once.
        """
        ...

    def keep(self, name: str, content: bytes) -> None:
        """Store a file under a name made from its content, or raise JournalError; storing it twice costs nothing."""
        ...

    def holds(self, name: str) -> bool:
        """Return whether there is a file of that name."""
        ...


class Journal:
    """Writes a journal. Threads may share one; several processes may append to one folder, each with its own."""

    def __init__(self, folder: Path) -> None:
        """Open `folder/journal.jsonl` for appending, creating both.

        Raises:
            JournalError: the folder cannot be written.
        """
        # Absolute: an agent may change the working directory while its journal is written.
        self.folder = folder = folder.absolute()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = AppendFile(folder / FILE)
        except OSError as error:
            reason = "it is a file, not a folder" if os.path.isfile(folder) else error.strerror
            raise JournalError(
                f"cannot write a journal in {folder}: {reason}. Choose another folder with --out."
            ) from error
        self._heads: dict[tuple[str, int], bytes] = {}
        """The end of a head by run and attempt, while the run goes on."""
        self._held: set[str] = set()
        """Names of files that were found next to the journal."""
        # Built now rather than between the rounds of many conversations, all of which would have to wait.
        prepare_lines()
        make_quickly(Setting, Round, Transcript, Insight, Verdict, RunRecord, Timing)

    def append(self, kind: str, run: str, attempt: int, value: object) -> None:
        """Append one event.

        Raises:
            JournalError: the event cannot be written (the disk is full, read-only or gone).
        """
        self.append_encoded(kind, run, attempt, encode_data(value, self.keep))

    def append_all(self, run: str, attempt: int, events: Sequence[tuple[str, object]]) -> None:
        """Append several events of a run with one write, in order; a kill leaves the first of them, and a torn line.

        Raises:
            JournalError: the events cannot be written.
        """
        self._write(self._lines(run, attempt, events))

    def _lines(self, run: str, attempt: int, events: Sequence[tuple[str, object]]) -> bytes:
        return b"".join([self._line(kind, run, attempt, encode_data(value, self.keep)) for kind, value in events])

    def append_encoded(self, kind: str, run: str, attempt: int, body: bytes) -> None:
        """Append one event whose data another process has encoded with `encode_data`.

        Raises:
            JournalError: the event cannot be written, or the data is not one line.
        """
        self._write(self._line(kind, run, attempt, body))

    def _line(self, kind: str, run: str, attempt: int, body: bytes) -> bytes:
        if b"\n" in body:
            raise JournalError(f"the data of an event of the run {run!r:.200} is not one line.")
        # The head of each line is sufficient to skip the line without parsing the rest.
        rest = self._heads.get((run, attempt))
        if rest is None:
            rest = self._heads[run, attempt] = f'"run":{_to_json(run)},"attempt":{attempt},"data":'.encode()
        if kind == "run":
            del self._heads[run, attempt]
        return seal(b"%b%b%b" % (_beginning(kind), rest, body))

    async def send_files(self, run: str, name: str) -> str | None:
        """Do nothing: the agent worked next to the journal."""
        return None

    def copy_lines(self, lines: bytes, source: Path, then: RunEvents | None = None) -> None:
        """Append lines from the journal in the folder `source` unchanged, and copy the files that they name.

        Further events of the run follow with the same write.

        Images and texts are read from that folder only. A file that is missing, or whose content does not match its
        name, will be missing in the copy too.

        Raises:
            JournalError: the journal cannot be written.
        """
        for name in names_in(lines):
            if not self.holds(name) and (content := read_sound(source, name)) is not None:
                self.keep(name, content)
        if then is not None:
            run, attempt, events = then
            lines += self._lines(run, attempt, events)
        if lines:
            self._write(lines)

    def holds(self, name: str) -> bool:
        """Return whether there is a file of that name next to the journal."""
        # Files are never removed from a journal, so the disk is asked once for each.
        if name in self._held:
            return True
        if not is_kept(self.folder, name):
            return False
        if len(self._held) >= MOST_HELD:
            self._held.clear()
        self._held.add(name)
        return True  # another thread may have cleared the names again

    def keep(self, name: str, content: bytes) -> None:
        """Store a file next to the journal under a name made from its content; storing it twice costs nothing.

        Raises:
            JournalError: the file cannot be written, or its name is invalid or does not match its content.
        """
        if not may_be_written(name, content):
            raise JournalError(f"{name[:200]!r} is not a file name of a journal, or does not match the content.")
        try:
            write_once(self.folder, name, content)
        except OSError as error:
            raise JournalLost(f"cannot write {self.folder / name}: {error.strerror}") from error

    def sync(self) -> None:
        """Wait until everything that was appended is on the disk.

        Raises:
            JournalLost: the file cannot be synced, or was deleted or replaced.
        """
        try:
            self._file.sync()
            in_place = self._file.is_in_place()
        except OSError as error:
            raise JournalLost(f"cannot sync the journal in {self.folder}: {error.strerror}") from error
        if not in_place:
            raise JournalLost(
                f"the journal {self.folder / FILE} was deleted or replaced while it was written. "
                f"To resume what it holds now: --resume {self.folder}"
            )

    def close(self) -> None:
        """Close the file. It may be called twice."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, lines: bytes) -> None:
        try:
            self._file.append(lines)
        except OSError as error:
            raise JournalLost(f"cannot append to the journal in {self.folder}: {error.strerror}") from error

"""`Recording`, a run that was recorded outside of Viva, and the Protocol of readers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from viva.errors import SetupError
from viva.records.transcript import Transcript


class RecordingError(SetupError):
    """A recording cannot be read. The message names the file and the line (or the element of its list)."""


class NothingYet(RecordingError):
    """A source does not exist, or is empty: whoever follows it waits for it."""


class HalfWritten(RecordingError):
    """A file ends in the middle of a document, which somebody may be writing: whoever follows it waits for the rest."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded run, with the information from its source."""

    transcript: Transcript
    """The conversation. All other data of the source is in the `attributes` of transcript, rounds and steps."""
    _: KW_ONLY
    place: str
    """The position in the source for messages to users, for example file and line."""
    run_key: str
    """A key that is unique in the source: the id of a trace or session, if there is one."""
    subject: str | None = None
    """The task's label."""
    trial: int | None = None
    """The number of the trial in the source; tau-bench counts from 0."""
    agent: str | None = None
    """The name of the recorded agent."""
    agent_version: str | None = None
    workspace: Path | None = None
    """The folder with the agent's files, if the source has them."""
    pictures: Path | None = None
    """The folder in which the pictures lie that the transcript names; None if that is the workspace. Nothing else in
    it is kept."""
    reward: float | None = None
    """The recorded score; None if the source has none, or if it is not a finite number."""
    notes: tuple[str, ...] = ()
    """What a user should know about how it was read."""
    damage: Mapping[str, int] = field(default_factory=dict)
    """What is broken in the source, in words, and how often; the import adds these up over all recordings."""
    lost: tuple[str, ...] = ()
    """What was left out of it because it cannot be read, in words: no gate passes over that."""


@dataclass(frozen=True, slots=True)
class UnfinishedFile:
    """A file of a followed source that is empty, or whose end is half written, and that was passed over."""

    path: Path
    size: int
    """In bytes, when its end was passed over."""
    changed: float
    """When it was changed, in seconds since the epoch."""
    is_blank: bool = False
    """Whether there is nothing but white space in it."""

    def __str__(self) -> str:
        is_empty = self.is_blank or not self.size
        return f"{self.path}: {'it is empty' if is_empty else 'its end is half written'}"


@dataclass(slots=True)
class SourceNotes:
    """What a reader has to say of its source as a whole. It belongs to the next recording; if none follows, to none."""

    waiting: list[str] = field(default_factory=list)
    """Notes for the next recording."""
    lost: list[str] = field(default_factory=list)
    """Of these, what was left out because it cannot be read: no gate passes over that."""
    growing: bool = False
    """Whether the source is followed. Then the end of a file may be half written: it is passed over, and read when it
    is whole."""
    since: float | None = None
    """The user left out what is older, in seconds since the epoch."""
    half_written: dict[Path, UnfinishedFile] = field(default_factory=dict)
    """The files whose ends were passed over. Who follows the source decides when an end is lost."""

    def add(self, *words: str) -> None:
        """Note what a user should know."""
        self.waiting += words

    def lose(self, words: str) -> None:
        """Note what is left out because it is damaged, or cannot be read.

        What the user left out, and files of other kinds, are not lost.
        """
        self.waiting.append(words)
        self.lost.append(words)

    def pass_over(self, path: Path, *, is_blank: bool = False) -> None:
        """Note that the end of a file is half written, or nothing is in it, and that it is passed over."""
        try:
            now = path.stat()
        except OSError:
            self.half_written[path] = UnfinishedFile(path, 0, time.time())
        else:
            self.half_written[path] = UnfinishedFile(path, now.st_size, now.st_mtime, is_blank)

    def passing_over(self, path: Path) -> Callable[[], None] | None:
        """Return what to call if the end of a file is half written; None if that is damage: nobody follows the file."""
        return partial(self.pass_over, path) if self.growing else None

    def leave_out(self, path: Path, error: RecordingError) -> None:
        """Note that one of several files cannot be read. It is lost unless it is followed, and may be being written.

        An empty file is lost, too: a run may have been in it, whose agent broke down before it wrote, or emptied it;
        but not before `since`.
        """
        is_empty = isinstance(error, NothingYet)
        if is_empty and self.since is not None and _last_changed(path) < self.since:
            self.add(f"{str(error).rstrip('.')}, and is older than --since")
        elif self.waits_for(error):
            self.pass_over(path, is_blank=is_empty)
        else:
            self.lose(f"{str(error).rstrip('.')}; the other files are read")

    def waits_for(self, error: RecordingError) -> bool:
        """Return whether a followed file has merely not been written yet, or not to its end."""
        return self.growing and isinstance(error, NothingYet | HalfWritten)

    def on(self, recording: Recording) -> Recording:
        """Return a recording with the notes that wait for one."""
        if not self.waiting:
            return recording
        noted = replace(recording, notes=(*recording.notes, *self.waiting), lost=(*recording.lost, *self.lost))
        self.waiting.clear()
        self.lost.clear()
        return noted


def _last_changed(path: Path) -> float:
    """Return when a file was changed in any way: the time of its content can be set back by whoever emptied it."""
    try:
        return path.stat().st_ctime
    except OSError:
        return time.time()


class Reader(Protocol):
    """Reads the recordings of one kind of source. Any object with this method is a reader, without inheritance."""

    def read(self, source: str, **options: Any) -> Iterator[Recording]:
        """Yield the recordings of a source, one after another.

        Args:
            source: The text after the reader's name in a SPEC: a file, a folder, an address.
            options: Options of this reader; an unknown option is a usage error. `viva trace --since` passes `since`, a
                `datetime` with a time zone, to readers that take it. Readers with a parameter `told`
                receive `SourceNotes` by that name, for what is not about a single recording.

        Raises:
            RecordingError: while iterating, at the first position that cannot be read.
        """
        ...

"""`Recording`, a run that was recorded outside of Viva, and the Protocol of readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from viva.errors import SetupError
from viva.records.transcript import Transcript


class RecordingError(SetupError):
    """A recording cannot be read. The message names the file and the line (or the element of its list)."""


class NothingYet(RecordingError):
    """A source does not exist, or is empty: whoever follows it waits for it."""


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


class Reader(Protocol):
    """Reads the recordings of one kind of source. Any object with this method is a reader, without inheritance."""

    def read(self, source: str, **options: Any) -> Iterator[Recording]:
        """Yield the recordings of a source, one after another.

        Args:
            source: The text after the reader's name in a SPEC: a file, a folder, an address.
            options: Options of this reader; an unknown option is a usage error. `viva trace --since` passes `since`, a
                `datetime` with a time zone, to readers that take it.

        Raises:
            RecordingError: while iterating, at the first position that cannot be read.
        """
        ...

"""`Recording`: one run that somebody else recorded, and the Protocol of the readers that find them in a source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Protocol

from adapters.errors import SetupError
from records.transcript import Transcript


class RecordingError(SetupError):
    """A recording cannot be read. Names the file and the line (or the element of its list)."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded run and what its source says about it."""

    transcript: Transcript
    """Whatever else the source said is in the `attributes` of transcript, rounds and steps; nothing is thrown away."""
    _: KW_ONLY
    place: str
    """Where it was found, for messages to people: file and line, say."""
    run_key: str
    """What tells it from every other run of the same source: a trace's or session's id, where there is one."""
    subject: str | None = None
    """The task's label."""
    trial: int | None = None
    """As the source counts; tau-bench begins with 0."""
    agent: str | None = None
    """Who was recorded."""
    agent_version: str | None = None
    workspace: Path | None = None
    """The folder with the agent's files, if the source has them."""
    pictures: Path | None = None
    """The folder in which the pictures lie that the transcript names; None where that is the workspace. Nothing else in
    it is kept."""
    reward: float | None = None
    """The score that was recorded. None where the source holds none, or no finite number."""
    notes: tuple[str, ...] = ()
    """What a user should know of how it was read."""


class Reader(Protocol):
    """Reads the recordings of one kind of source. Anything with this method will do, nothing need be inherited."""

    def read(self, source: str, **options: Any) -> Iterator[Recording]:
        """Read a source, one recording after the other.

        Args:
            source: What follows the reader's name in a SPEC: a file, a folder, an address.
            options: The reader's own. One that it does not know is a mistake of the user's.

        Raises:
            RecordingError: while iterating, at the first place that cannot be read.
        """
        ...

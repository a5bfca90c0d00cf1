"""The table of readers, and `read_recordings`: the one place in which the SPEC of a source finds its reader."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from adapters.calls import describe
from adapters.errors import SetupError
from adapters.readers.recording import Reader, Recording, RecordingError
from records.import_strings import PluginError
from records.plugins import Kind, load, split

READERS = Kind(
    "reader",
    "viva.readers",
    {
        "chat": "adapters.readers.chat:ChatReader",
        "ufo": "adapters.readers.ufo:UfoReader",
    },
)


@dataclass(frozen=True, slots=True)
class LoadedReader:
    """A source and what reads it."""

    name: str
    """The reader's, or its import string."""
    source: str
    reader: Reader

    @property
    def spec(self) -> str:
        """As the user wrote it."""
        return f"{self.name}:{self.source}"

    @property
    def evaluators(self) -> tuple[str, ...]:
        """The evaluators that its reader names for recordings of this kind; none where it says nothing."""
        return tuple(getattr(self.reader, "evaluators", ()))

    def takes(self, option: str) -> bool:
        """Tell whether its reader has an option of this name."""
        parameters = inspect.signature(self.reader.read).parameters
        return option in parameters or any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())

    def read(self, **options: Any) -> Iterator[Recording]:
        """Read the source, one recording after the other; each has a run key of its own.

        Raises:
            RecordingError: while iterating: a place that cannot be read, or the reader itself failed.
        """
        keys = set()
        try:
            for recording in self.reader.read(self.source, **options):
                if not isinstance(recording, Recording):
                    raise RecordingError(f"the reader {self.name} gave {type(recording).__name__}, not a Recording.")
                if recording.run_key in keys:
                    raise RecordingError(f"{recording.place}: a second run has the key {recording.run_key!r}.")
                keys.add(recording.run_key)
                numbers = [round_.number for round_ in recording.transcript.rounds]
                if numbers != list(range(1, len(numbers) + 1)):
                    # A journal holds one round of each number, and verdicts name rounds by it.
                    raise RecordingError(
                        f"{recording.place}: the reader {self.name} numbers the rounds {numbers[:20]}, not from 1 on."
                    )
                yield recording
        except SetupError:
            raise
        except (Exception, SystemExit) as error:
            raise RecordingError(f"the reader {self.name} failed on {self.source}: {describe(error)}.") from error


def load_reader(spec: str) -> LoadedReader:
    """Load the reader that a SPEC names.

    Args:
        spec: `NAME:SOURCE` (`chat:FILE`) for a reader of Viva's or of an installed distribution, or
            `package.module:Reader:SOURCE` and `path/to/file.py:Reader:SOURCE` for one by import string.

    Raises:
        SetupError: there is no such reader, it cannot be imported, or no source is named.
    """
    name, source = split(READERS, spec)
    try:
        part: Any = load(READERS, name)
    except PluginError as error:
        raise SetupError(str(error)) from error
    if not source:
        raise SetupError(f"{spec!r} names no source; write {name}:SOURCE.")
    if not callable(getattr(part, "read", None)):
        raise SetupError(f"{name} is no reader: it has no read(source) method.")
    try:
        reader: Reader = part() if isinstance(part, type) else part
    except (Exception, SystemExit) as error:
        raise SetupError(f"the reader {name} cannot be made: {describe(error)}.") from error
    return LoadedReader(name, source, reader)


def read_recordings(spec: str, **options: Any) -> Iterator[Recording]:
    """Read all recordings of a source, `NAME:SOURCE`.

    Raises:
        SetupError: see `load_reader`; before the first recording.
        RecordingError: see `LoadedReader.read`; while iterating.
    """
    return load_reader(spec).read(**options)

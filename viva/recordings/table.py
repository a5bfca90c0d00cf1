"""The table of readers, and `read_recordings`, which selects the reader of a source's SPEC."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from viva.errors import SetupError
from viva.plugins.import_strings import PluginError, in_words
from viva.plugins.kinds import Kind, load, split
from viva.recordings.recording import Reader, Recording, RecordingError, SourceNotes

READERS = Kind(
    "reader",
    "viva.readers",
    {
        "chat": "viva.recordings.chat:ChatReader",
        "copilot": "viva.recordings.copilot:CopilotReader",
        "spans": "viva.recordings.spans.files:SpansReader",
        "otlp": "viva.recordings.spans.files:OtlpReader",
        "phoenix": "viva.recordings.spans.phoenix:PhoenixReader",
        "bedrock": "viva.recordings.bedrock.reader:BedrockReader",
        "atif": "viva.recordings.atif.reader:AtifReader",
        "inspect": "viva.recordings.sessions.inspect_logs:InspectReader",
        "claude_code": "viva.recordings.sessions.claude_code:ClaudeCodeReader",
        "codex": "viva.recordings.sessions.codex:CodexReader",
        "langfuse": "viva.recordings.platforms.langfuse:LangfuseReader",
        "langsmith": "viva.recordings.platforms.langsmith:LangSmithReader",
        "mlflow": "viva.recordings.platforms.mlflow:MlflowReader",
        "braintrust": "viva.recordings.platforms.braintrust:BraintrustReader",
        "openai_evals": "viva.recordings.platforms.openai_evals:OpenAIEvalsReader",
        "weave": "viva.recordings.platforms.weave:WeaveReader",
        "ufo": "viva.recordings.desktop.ufo:UfoReader",
    },
)


@dataclass(frozen=True, slots=True)
class LoadedReader:
    """A source and its reader."""

    name: str
    """The reader's name or import string."""
    source: str
    reader: Reader
    beside: tuple[LoadedReader, ...] = ()
    """Further sources that are read together with this one; see `together`."""

    @property
    def spec(self) -> str:
        """As the user wrote it."""
        return " ".join((f"{self.name}:{self.source}", *(each.spec for each in self.beside)))

    @property
    def evaluators(self) -> tuple[str, ...]:
        """The evaluators that its reader names for recordings of this kind; none where it says nothing."""
        return tuple(getattr(self.reader, "evaluators", ()))

    def read(self, told: SourceNotes | None = None, **options: Any) -> Iterator[Recording]:
        """Yield the recordings of the source, one after another; each has a unique run key.

        Args:
            told: Takes what the reader has to say of the source as a whole, if it takes that.
            options: As in `Reader.read`.

        Raises:
            RecordingError: while iterating, if a position cannot be read or the reader itself failed.
        """
        keys = set()
        self._check(options)
        if told is not None and "told" in (self._parameters() or ()):
            options["told"] = told
        try:
            for recording in self._recordings(options):
                if not isinstance(recording, Recording):
                    found = type(recording).__name__
                    raise RecordingError(f"the reader {self.name} returned {found}, not a Recording.")
                if recording.run_key in keys:
                    raise RecordingError(f"{recording.place}: duplicate run key {recording.run_key!r}.")
                keys.add(recording.run_key)
                numbers = [round_.number for round_ in recording.transcript.rounds]
                if numbers != list(range(1, len(numbers) + 1)):
                    # A journal holds one round of each number, and verdicts refer to rounds by their numbers.
                    raise RecordingError(
                        f"{recording.place}: the reader {self.name} numbers the rounds "
                        f"{numbers[:20]}; they must be numbered from 1."
                    )
                yield recording
        except SetupError:
            raise
        except (Exception, SystemExit) as error:
            raise RecordingError(
                f"the reader {self.name} failed on {self.source}: {in_words(error, __file__)}."
            ) from error

    def _recordings(self, options: Mapping[str, Any]) -> Iterator[Recording]:
        if not self.beside:
            return self.reader.read(self.source, **options)
        reader: Any = self.reader
        found: Iterator[Recording] = reader.read_together(
            (self.source, *(each.source for each in self.beside)), **options
        )
        return found

    def _parameters(self) -> Mapping[str, inspect.Parameter] | None:
        """Return the parameters of the reader's `read`; None if they are not known."""
        try:
            return inspect.signature(self.reader.read).parameters
        except (TypeError, ValueError):
            return None

    def _check(self, options: Mapping[str, Any]) -> None:
        """Refuse `--since` and `--mapping` in the words of the command line if the reader does not take them."""
        parameters = self._parameters()
        if parameters is None:
            return
        takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        refused = [name for name in options if not takes_all and name not in parameters]
        if "since" in refused:
            raise RecordingError(
                f"the reader {self.name} does not support --since; import all recordings, or name another source."
            )
        if "mapping" in refused:
            raise RecordingError(f"the reader {self.name} does not support a mapping file (--mapping).")


def load_reader(spec: str) -> LoadedReader:
    """Load the reader that a SPEC names.

    Args:
        spec: `NAME:SOURCE` (`chat:FILE`) for a reader of Viva or of an installed distribution, or
            `package.module:Reader:SOURCE` or `path/to/file.py:Reader:SOURCE` for a reader by import string.

    Raises:
        SetupError: there is no such reader, it cannot be imported, or no source is named.
    """
    name, source = split(READERS, spec)
    try:
        part: Any = load(READERS, name)
    except PluginError as error:
        if Path(spec).exists():
            known = ", ".join(READERS.builtin)
            raise SetupError(
                f"{spec} is named without a reader; write READER:{spec}, for example chat:{spec}. "
                f"The readers are {known}."
            ) from error
        raise SetupError(str(error)) from error
    if not source:
        raise SetupError(f"{spec!r} names no source; write {name}:SOURCE.")
    if not callable(getattr(part, "read", None)):
        raise SetupError(f"{name} is not a reader: it has no read(source) method.")
    try:
        reader: Reader = part() if isinstance(part, type) else part
    except (Exception, SystemExit) as error:
        raise SetupError(f"the reader {name} cannot be created: {in_words(error, __file__)}.") from error
    return LoadedReader(name, source, reader)


def together(readers: Iterable[LoadedReader], apart: str | None = None) -> list[LoadedReader]:
    """Join the sources whose readers say that they belong together: spans of one trace in several files are one run.

    Such readers have the same text as `joins`, and a method `read_together` that takes a list of sources.

    Args:
        readers: In the order in which the sources were named.
        apart: The SPEC of a source that is never joined with others.
    """
    found: list[LoadedReader] = []
    for reader in readers:
        joins = getattr(reader.reader, "joins", None)
        place = next(
            (
                number
                for number, each in enumerate(found)
                if joins is not None
                and joins == getattr(each.reader, "joins", None)
                and apart not in (each.spec, reader.spec)
            ),
            None,
        )
        if place is None:
            found.append(reader)
        else:
            found[place] = replace(found[place], beside=(*found[place].beside, reader))
    return found


def read_recordings(spec: str, **options: Any) -> Iterator[Recording]:
    """Yield all recordings of a source, `NAME:SOURCE`.

    Raises:
        SetupError: before the first recording; see `load_reader`.
        RecordingError: while iterating; see `LoadedReader.read`.
    """
    return load_reader(spec).read(**options)

"""Reads `spans:FILE` and `otlp:FILE`: spans in files, as dumps of spans, OTLP's documents or rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from viva.recordings.files.kinds import hint_for
from viva.recordings.files.locations import JSON_FILES, find_files
from viva.recordings.files.packed import open_recording
from viva.recordings.files.parquet import MAGIC, rows_of
from viva.recordings.json_pieces import Pieces, elements, is_whole, lines_of
from viva.recordings.recording import NothingYet, Recording, RecordingError, SourceNotes
from viva.recordings.spans.flat_rows import is_flat, spans_of_rows
from viva.recordings.spans.span import Span
from viva.recordings.spans.spool import Spool, with_context
from viva.recordings.spans.trajectories import read_trace

EVALUATORS = ("loops", "repeated_calls", "tool_success")
"""What judges a trace unless the user names others: evaluators that need neither a model nor a reference."""
ENDINGS = (*JSON_FILES, ".parquet")
"""Of the files that are read in a folder."""
FIRST_LINE = 1 << 20
"""Bytes of a first line that distinguish a file of lines from a document; a longer line is read piece by piece."""


class SpansReader:
    """Reads `spans:FILE`, and folders and globs of such files."""

    name = "spans"
    evaluators = EVALUATORS
    joins = "spans"
    lists: tuple[str, ...] = ("resourceSpans", "resource_spans", "spans", "data")
    """The keys under which a document holds the list of its spans."""
    """Sources of readers with the same word here are read together, because one trace may lie in several of them."""

    def read(
        self, source: str, *, since: datetime | None = None, told: SourceNotes | None = None
    ) -> Iterator[Recording]:
        """Read the agent runs of a file, a folder or a glob, in the order in which their traces began.

        Args:
            source: A file: a JSON list of spans, an object that holds one as `spans` or `data`, OTLP's JSON, or several
                of these, one after the other, as JSON Lines or as OpenTelemetry's console exporter writes them; packed
                with gzip or zstd or not; or Parquet. Or a folder or a glob of such files.
            since: Traces that began before are left out.
            told: Takes what is not about a single run.

        Raises:
            RecordingError: while iterating: the file cannot be read, is not valid, or holds no span.
        """
        return self.read_together((source,), since=since, told=told)

    def read_together(
        self, sources: Sequence[str], *, since: datetime | None = None, told: SourceNotes | None = None
    ) -> Iterator[Recording]:
        """Read several sources as one: the spans of a trace may lie in several files.

        A file that cannot be read is an error if it is the only one; among others it is lost.

        Raises:
            RecordingError: while iterating: nothing can be read, or there is no span.
        """
        found = find_files(sources, ENDINGS)
        told = SourceNotes() if told is None else told
        found.tell(told)
        with Spool() as spool:
            for number, path in enumerate(found.files):
                foreign, lost = spool.foreign, spool.lost
                try:
                    self._add(path, spool, number, told)
                except (OSError, RecordingError) as error:
                    words = f"{path}: cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
                    if len(found.files) == 1:
                        raise RecordingError(". ".join((words.rstrip("."), *told.waiting))) from error
                    told.leave_out(path, RecordingError(words) if isinstance(error, OSError) else error)
                if out := spool.foreign - foreign:
                    told.add(f"{path.name}: elements left out because they are not spans: {out}")
                if out := spool.lost - lost:
                    told.lose(f"{path.name}: spans left out because they have no ids, or are nested too deeply: {out}")
            if not spool.taken:
                notes = "".join(f" {note}." for note in told.waiting)
                where = found.files[0] if len(found.files) == 1 else ", ".join(sources)
                hint = hint_for(spool.other)
                kind = RecordingError if hint else NothingYet
                raise kind(f"{where}: there is no span in it.{notes}{hint}")

            def place(trace: str) -> str:
                return " and ".join(found.files[number].name for number in spool.sources_of(trace)[:3])

            yield from recordings(spool.traces(), place, self.name, since, told)

    def _add(self, path: Path, spool: Spool, number: int, told: SourceNotes) -> None:
        with open_recording(path, told) as file:
            begin = file.peek(len(MAGIC))[: len(MAGIC)]  # type: ignore[attr-defined]
            if begin == MAGIC:
                spool.add((span for value in rows_of(path, file) for span in self.expand(value)), number)
                return
            documents: list[bool] = []  # whether each of the first two elements is a document of its own

            def spans() -> Iterator[Any]:
                for value, is_document in _values_of(path, file, self.lists, told):
                    for span in self.expand(value):
                        if len(documents) < 2:
                            documents.append(is_document and span is value)
                        yield span

            taken, doubtful = spool.taken, spool.doubtful
            spool.add(spans(), number)
            if documents == [True] and spool.taken == taken:
                spool.excuse(spool.doubtful - doubtful)

    def expand(self, value: Any) -> Iterator[Any]:
        """Yield the raw spans of a value in a file; see `expand`."""
        return expand(value)


class OtlpReader(SpansReader):
    """Reads `otlp:FILE`."""

    name = "otlp"


def recordings(
    traces: Iterator[tuple[str, list[Span]]],
    where: str | Callable[[str], str],
    source: str,
    since: datetime | None = None,
    told: SourceNotes | None = None,
) -> Iterator[Recording]:
    """Make the recordings of traces; notes about the whole source belong to the first of them."""
    least = 0 if since is None else int(since.timestamp() * 10**9)
    told = SourceNotes() if told is None else told
    for trace, spans in traces:
        # A trace whose spans have no time at all began nobody knows when: it is not left out.
        if min((span.start_ns for span in spans if span.start_ns is not None), default=least) < least:
            continue
        place = where if isinstance(where, str) else where(trace)
        for recording in read_trace(spans, f"{place}, trace {trace}", source):
            yield told.on(recording)


def raw_spans(path: Path, file: IO[bytes], told: SourceNotes) -> Iterator[Any]:
    """Read the raw spans of a file in its order; see `values_of`."""
    for value in values_of(path, file, SpansReader.lists, told):
        yield from expand(value)


def values_of(path: Path, file: IO[bytes], lists: Sequence[str], told: SourceNotes) -> Iterator[Any]:
    """Read the values of a file in its order: its lines, or the elements of its documents.

    Args:
        path: The file's, for messages.
        file: The file.
        lists: The keys under which a document holds a list of elements.
        told: Takes what is left out because it is not valid.

    Raises:
        RecordingError: the file is empty, or a document that is not valid.
    """
    return (value for value, _ in _values_of(path, file, lists, told))


def _values_of(path: Path, file: IO[bytes], lists: Sequence[str], told: SourceNotes) -> Iterator[tuple[Any, bool]]:
    """Read the values of a file, each with whether it is a document of its own; see `values_of`."""
    first = b""
    while not first.strip():
        first = file.readline(FIRST_LINE)
        if not first:
            raise NothingYet(f"{path}: the file is empty")
    rest = _Joined(first, file)
    # A longer line was read in part, and cannot be whole.
    if len(first) < FIRST_LINE and is_whole(first):
        yield from ((value, True) for value in _of_lines(path, rest, told))
    else:
        yield from _of_documents(path, rest, lists, told)


class _Joined:
    """A file whose first line was read already.

    It is not one of `io`'s classes: their `readline` reads a byte at a time from a `read` of our own.
    """

    def __init__(self, first: bytes, file: IO[bytes]) -> None:
        self._first = first
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """Read on: first the whole line, whatever the size."""
        return self._take_first() or self._file.read(size)

    def readline(self, size: int = -1) -> bytes:
        """Read the next line."""
        return self._take_first() or self._file.readline(size)

    def _take_first(self) -> bytes:
        first, self._first = self._first, b""
        return first


def _of_lines(path: Path, file: Any, told: SourceNotes) -> Iterator[Any]:
    bad = []
    for number, value in lines_of(path, file, half_written=told.passing_over(path)):
        if isinstance(value, ValueError):
            bad.append(number)
        else:
            yield value
    if bad:
        told.lose(f"{path.name}: lines left out because they are not valid JSON: {len(bad)} (first: line {bad[0]})")


def _of_documents(path: Path, file: Any, lists: Sequence[str], told: SourceNotes) -> Iterator[tuple[Any, bool]]:
    pieces = Pieces(path, file)
    whole = 0
    while pieces.peek():
        try:
            yield from elements(pieces, lists)
        except RecordingError as error:
            if not whole:
                raise
            if told.waits_for(error):
                told.pass_over(path)
            else:
                told.lose(f"{error}; what comes after is left out")
            return
        whole += 1


def expand(value: Any) -> Iterator[Any]:
    """Yield the raw spans of a JSON value: a span, a list, or one of the levels of an OTLP document."""
    if isinstance(value, list):
        for element in value:
            yield from expand(element) if isinstance(element, list) else _of_object(element)
    else:
        yield from _of_object(value)


def _of_object(value: Any) -> Iterator[Any]:
    if not isinstance(value, Mapping):
        yield value
        return
    scopes = next((value[key] for key in _SCOPES if isinstance(value.get(key), list)), None)
    if scopes is not None:
        for scope in scopes:
            inside = scope if isinstance(scope, Mapping) else {"spans": scope}
            spans = inside.get("spans") or ()
            for span in spans if isinstance(spans, list | tuple) else (None,):
                named = inside.get("scope", inside.get("instrumentationLibrary"))
                yield with_context(span, value.get("resource"), named)
        return
    if is_flat(value):
        yield from spans_of_rows(value)
        return
    inner = next((value[key] for key in SpansReader.lists if isinstance(value.get(key), list)), None)
    if inner is None:
        yield value
        return
    for element in inner:
        yield from _of_object(element)


_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")

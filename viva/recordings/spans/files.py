"""Reads `spans:FILE` and `otlp:FILE`: spans in JSON files, as dumps of spans or as OTLP's documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from viva.recordings.json_pieces import Pieces, elements, is_whole, lines_of
from viva.recordings.recording import NothingYet, Recording, RecordingError
from viva.recordings.spans.span import Span
from viva.recordings.spans.spool import Spool, with_context
from viva.recordings.spans.trajectories import read_trace
from viva.regular_files import open_given

EVALUATORS = ("loops", "repeated_calls", "tool_success")
"""What judges a trace unless the user names others: evaluators that need neither a model nor a reference."""
FIRST_LINE = 1 << 20
"""Bytes of a first line that distinguish a file of lines from a document; a longer line is read piece by piece."""
_LISTS = ("resourceSpans", "resource_spans", "spans", "data")


class SpansReader:
    """Reads `spans:FILE`."""

    name = "spans"
    evaluators = EVALUATORS

    def read(self, source: str, *, since: datetime | None = None) -> Iterator[Recording]:
        """Read the agent runs of a file, in the order in which their traces began.

        Args:
            source: A file: a JSON list of spans, an object that holds one as `spans` or `data`, OTLP's JSON, or several
                of these, one after the other, as JSON Lines or as OpenTelemetry's console exporter writes them.
            since: Traces that began before are left out.

        Raises:
            RecordingError: while iterating: the file cannot be read, is not valid, or holds no span.
        """
        path = Path(source)
        notes: list[str] = []
        with Spool() as spool:
            try:
                with open_given(path) as file:
                    spool.add(raw_spans(path, file, notes))
            except OSError as error:
                raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error
            if spool.left_out:
                notes.append(
                    f"{path.name}: elements left out because they are not spans or have no ids: {spool.left_out}"
                )
            if not spool.taken:
                told = "".join(f" {note}." for note in notes)
                raise NothingYet(f"{path}: there is no span in it.{told}")
            yield from recordings(spool.traces(), path.name, self.name, since, notes)


class OtlpReader(SpansReader):
    """Reads `otlp:FILE`."""

    name = "otlp"


def recordings(
    traces: Iterator[tuple[str, list[Span]]],
    where: str,
    source: str,
    since: datetime | None = None,
    notes: Sequence[str] = (),
) -> Iterator[Recording]:
    """Make the recordings of traces; notes about the whole source belong to the first of them."""
    least = 0 if since is None else int(since.timestamp() * 10**9)
    told = False
    for trace, spans in traces:
        # A trace whose spans have no time at all began nobody knows when: it is not left out.
        if min((span.start_ns for span in spans if span.start_ns is not None), default=least) < least:
            continue
        for recording in read_trace(spans, f"{where}, trace {trace}", source):
            yield recording if told else replace(recording, notes=(*recording.notes, *notes))
            told = True


def raw_spans(path: Path, file: IO[bytes], notes: list[str]) -> Iterator[Any]:
    """Read the raw spans of a file in its order; lines that are not valid are left out, and noted.

    Raises:
        RecordingError: the file is empty, or a document that is not valid.
    """
    first = b""
    while not first.strip():
        first = file.readline(FIRST_LINE)
        if not first:
            raise NothingYet(f"{path}: the file is empty")
    rest = _Joined(first, file)
    # A longer line was read in part, and cannot be whole.
    if len(first) < FIRST_LINE and is_whole(first):
        yield from _of_lines(path, rest, notes)
    else:
        yield from _of_documents(path, rest, notes)


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


def _of_lines(path: Path, file: Any, notes: list[str]) -> Iterator[Any]:
    bad = []
    for number, value in lines_of(path, file):
        if isinstance(value, ValueError):
            bad.append(number)
        else:
            yield from expand(value)
    if bad:
        notes.append(f"{path.name}: lines left out because they are not valid JSON: {len(bad)} (first: line {bad[0]})")


def _of_documents(path: Path, file: Any, notes: list[str]) -> Iterator[Any]:
    pieces = Pieces(path, file)
    whole = 0
    while pieces.peek():
        try:
            for element in elements(pieces, _LISTS):
                yield from expand(element)
        except RecordingError as error:
            if not whole:
                raise
            notes.append(f"{error}; what comes after is left out")
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
            spans = scope.get("spans") if isinstance(scope, Mapping) else None
            for span in spans if isinstance(spans, list) else ():
                yield with_context(span, value.get("resource"), scope.get("scope", scope.get("instrumentationLibrary")))
        return
    inner = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    if inner is None:
        yield value
        return
    for element in inner:
        yield from _of_object(element)


_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")

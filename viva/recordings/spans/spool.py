"""Sorts the spans of a source by trace, on disk: they come in any order, and memory holds one trace at a time."""

from __future__ import annotations

import marshal
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from viva.recordings.recording import RecordingError
from viva.recordings.spans.span import Span, has_span_fields, ids_of, looks_like_span, read_known, start_of

_BATCH = 500


class Spool:
    """Takes spans, and gives them back trace by trace. A context manager; its file is deleted at the end."""

    def __init__(self) -> None:
        """Open a temporary database, which SQLite keeps in memory as long as it is small."""
        # An empty name is a file of its own in the folder for temporary files; it is gone when it is closed.
        # One thread uses it at a time, but not always the same: an import goes on in another than it began in.
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._base.execute("PRAGMA journal_mode = OFF")
        self._base.execute("PRAGMA synchronous = OFF")
        self._base.execute("PRAGMA cache_size = -8000")
        self._base.execute("CREATE TABLE span (trace TEXT, start INTEGER, body BLOB, source INTEGER)")
        self._base.execute("BEGIN")
        self.taken = 0
        self.foreign = 0
        """Elements that are not spans."""
        self.lost = 0
        """Spans that were left out: without the id of a trace or of their own, or nested beyond reason."""
        self.doubtful = 0
        """Of these, those that only their times, names or attributes show to be spans."""
        self.other: tuple[str, ...] = ()
        """The keys of the first of them that is an object, and those of its context."""

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *error: object) -> None:
        self._base.close()

    def add(self, spans: Iterable[Any], source: int = 0) -> None:
        """Add the raw spans of a source.

        Args:
            spans: As they were read; what is left out is counted.
            source: The number of the source; see `sources_of`.

        Raises:
            RecordingError: the disk for temporary files is full.
        """
        rows: list[tuple[str, int | None, bytes, int]] = []
        try:
            for raw in spans:
                row = _row(raw)
                if row is None:
                    lost = looks_like_span(raw)
                    self.lost += lost
                    self.foreign += not lost
                    self.doubtful += lost and not has_span_fields(raw)
                    if not self.other and isinstance(raw, Mapping):
                        context = raw.get("context")
                        inner = context if isinstance(context, Mapping) else {}
                        self.other = (*map(str, raw), *(f"context.{key}" for key in inner))
                    continue
                rows.append((*row, source))
                self.taken += 1
                if len(rows) >= _BATCH:
                    self._write(rows)
                    rows = []
        finally:
            # Also what was read before a source broke off.
            self._write(rows)

    def excuse(self, number: int) -> None:
        """Count as foreign so many of the elements that were counted as lost spans."""
        self.lost -= number
        self.foreign += number

    def sources_of(self, trace: str) -> list[int]:
        """Return the numbers of the sources in which a trace lies."""
        found = self._base.execute("SELECT DISTINCT source FROM span WHERE trace = ? ORDER BY source", (trace,))
        return [number for (number,) in found]

    def _write(self, rows: list[tuple[str, int | None, bytes, int]]) -> None:
        try:
            self._base.executemany("INSERT INTO span VALUES (?, ?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise RecordingError(f"the spans cannot be sorted in the folder for temporary files: {error}.") from error

    def traces(self) -> Iterator[tuple[str, list[Span]]]:
        """Yield each trace with its spans, the trace that began first, first.

        Traces without any time come last, in the order of the sources.

        Raises:
            RecordingError: the disk for temporary files is full.
        """
        try:
            self._base.execute("CREATE INDEX by_trace ON span (trace)")
            self._base.execute(
                "CREATE TABLE trace AS SELECT trace, MIN(start) AS start, MIN(rowid) AS place FROM span GROUP BY trace"
                " ORDER BY start IS NULL, start, CASE WHEN start IS NULL THEN place END, trace"
            )
            for (trace,) in self._base.execute("SELECT trace FROM trace ORDER BY rowid"):
                rows = self._base.execute("SELECT body FROM span WHERE trace = ? ORDER BY rowid", (trace,))
                # What `add` wrote into a file that nobody else can open.
                written = (marshal.loads(body) for (body,) in rows)  # noqa: S302
                yield trace, [read_known(raw, trace, span, start) for span, start, raw in written]
        except sqlite3.Error as error:
            raise RecordingError(f"the spans cannot be sorted in the folder for temporary files: {error}.") from error


def _row(raw: Any) -> tuple[str, int | None, bytes] | None:
    """Check a span, and write it down."""
    ids = ids_of(raw)
    if ids is None:
        return None
    start = start_of(raw)
    try:
        return ids[0], start, marshal.dumps((ids[1], start, raw))
    except ValueError:  # it is nested beyond what can be written
        return None


def with_context(raw: Any, resource: Any, scope: Any) -> Any:
    """Add to a span of OTLP what stands around it in the document; what is no object becomes a span without ids."""
    return {**(raw if isinstance(raw, Mapping) else {}), "resource": resource, "scope": scope}

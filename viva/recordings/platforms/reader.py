"""`PlatformReader`: reads the files of a platform's export, whose records one function turns into spans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from viva.recordings.recording import Recording, SourceNotes
from viva.recordings.spans.files import EVALUATORS, SpansReader

Translate = Callable[[Mapping[str, Any]], Iterator[Any]]
"""Yields the spans of one record (a trace, or one of its parts), as `viva.recordings.spans.span.read_span` reads them;
None for a part that is not one of this platform."""


class PlatformReader(SpansReader):
    """Reads files, folders and globs, as `SpansReader` does; a platform's reader names itself and its records."""

    evaluators = EVALUATORS
    lists: tuple[str, ...] = ()
    """The keys under which an export holds its records, if it is an object."""

    def read(
        self, source: str, *, since: datetime | None = None, told: SourceNotes | None = None
    ) -> Iterator[Recording]:
        """Read the agent runs of an export: JSON, JSON Lines or Parquet, packed or not; see `SpansReader.read`.

        Raises:
            RecordingError: while iterating: a file cannot be read, or holds no record of this platform.
        """
        return super().read(source, since=since, told=told)

    def expand(self, value: Any) -> Iterator[Any]:
        """Yield the spans of a value in a file: a record, or a list or page of them."""
        for record in _records(value, self.lists):
            if not isinstance(record, Mapping):
                yield record
                continue
            for span in self.translate(record):
                # What is not one of this platform is counted, and its keys tell what it may be.
                yield record if span is None else span

    def translate(self, record: Mapping[str, Any]) -> Iterator[Any]:
        """Yield the spans of one record."""
        raise NotImplementedError


def _records(value: Any, lists: Sequence[str]) -> Iterator[Any]:
    if isinstance(value, list):
        for each in value:
            yield from _records(each, lists)
        return
    inner = next((value[key] for key in lists if isinstance(value, Mapping) and isinstance(value.get(key), list)), None)
    if inner is None:
        yield value
    else:
        yield from _records(inner, lists)

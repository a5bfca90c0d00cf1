"""Writes the verdicts in a journal to the Phoenix server from which its traces were read, and reads them back."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from viva.journal.reader import read_runs
from viva.sinks.phoenix.annotations import Annotation, trajectory_annotations
from viva.sinks.phoenix.server import PhoenixServer

PREFIX = "phoenix:"


@dataclass(frozen=True, slots=True)
class Annotated:
    """What was written to a server."""

    server: str
    spans: int
    """Annotations of spans that were written."""
    traces: int
    """Annotations of traces that were written."""
    found: int
    """Annotations that the server had when they were read back."""


def annotate_journal(
    journal: Path, server: PhoenixServer, source: str | None = None, only: Container[str] | None = None
) -> Annotated:
    """Write the verdicts on every trace of a journal; written twice, they are there once.

    Args:
        journal: The journal's folder.
        server: Where to.
        source: Only runs that were imported from this source; None for all.
        only: Only runs with these ids; None for all.

    Raises:
        PhoenixError: the server cannot be reached, or does not have the spans.
        JournalError: the journal cannot be read.
    """
    server.annotate(_annotations(journal, source, only))
    kinds = [each.span is None for each in _annotations(journal, source, only)]
    found = server.count(_annotations(journal, source, only))
    return Annotated(str(server), len(kinds) - sum(kinds), sum(kinds), found)


def _annotations(journal: Path, source: str | None, only: Container[str] | None) -> Iterator[Annotation]:
    for stored in read_runs(journal):
        if (source is None or stored.setting.source == source) and (only is None or stored.id in only):
            yield from trajectory_annotations(stored.id, stored.transcript, stored.insights)

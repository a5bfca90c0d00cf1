"""The part of `viva trace` that compares with another agent's answers to the same queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from viva.errors import SetupError
from viva.journal.reader import read_runs
from viva.journal.writer import FILE
from viva.statistics.cross_agent import ComparedRun, CrossAgent, compare_agents


@dataclass(frozen=True, slots=True)
class Other:
    """What is compared with: a journal, or a source that is imported into the same journal."""

    journal: Path | None = None
    source: str | None = None


def find_other(given: str) -> Other:
    """Return what `--compare` means.

    Raises:
        SetupError: it is neither a journal nor READER:LOCATION.
    """
    folder = Path(given)
    if (folder / FILE).is_file():
        return Other(journal=folder)
    if ":" not in given:
        raise SetupError(f"--compare {given}: it is neither a journal nor a source, such as chat:FILE.")
    return Other(source=given)


def compare(journal: Path, other: Other) -> CrossAgent:
    """Compare the runs of a journal with the others.

    Raises:
        JournalError: a journal cannot be read.
    """

    def read() -> Iterator[ComparedRun]:
        for stored in read_runs(journal):
            if stored.record is not None:
                compared = other.source is not None and stored.setting.source == other.source
                yield ComparedRun(stored.record, stored.transcript.attributes, compared)
        if other.journal is not None:
            for stored in read_runs(other.journal):
                if stored.record is not None:
                    yield ComparedRun(stored.record, stored.transcript.attributes, True)

    return compare_agents(read)

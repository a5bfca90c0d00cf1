"""The subject of a report: the runs of one or several journals, which can be read as a stream several times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from viva.journal.reader import StoredRun, read_records, read_runs, split_reference
from viva.journal.writer import Damage, raw_lines, scan
from viva.records.run_record import RunRecord
from viva.statistics.summary import Figures, summarize


@dataclass(frozen=True, slots=True)
class Entry:
    """One run that ended."""

    folder: Path
    """The journal's folder."""
    record: RunRecord


@dataclass(frozen=True, slots=True)
class Unfinished:
    """One run that started and never ended: it has no record."""

    folder: Path
    id: str
    case: str
    agent: str


@dataclass(frozen=True, slots=True)
class Journals:
    """Journals that one report covers; the same run in two of them counts as two runs."""

    locations: tuple[tuple[Path, str | None], ...]
    """Each folder, and the id of one run, or None for all runs."""
    threshold: float = 1.0
    """A run passes if its low bound is at least this."""
    damage: Damage = field(default_factory=Damage)
    """The lines that the latest reading had to skip."""

    def check(self) -> None:
        """Check that all journals and named runs exist, before anything is written.

        Raises:
            JournalError: a journal or a named run does not exist.
        """
        for folder, run in self.locations:
            next(iter(raw_lines(folder) if run is None else read_runs(folder, run)), None)

    def entries(self) -> Iterator[Entry]:
        """Yield all runs that ended, journal by journal.

        Raises:
            JournalError: a journal does not exist.
        """
        self.damage.torn = self.damage.unknown = 0
        for folder, run in self.locations:
            for record in read_records(folder, self.damage):
                if run is None or record.id == run:
                    yield Entry(folder, record)

    def figures(self) -> Figures:
        """Compute the statistics of all runs that ended.

        Raises:
            JournalError: a journal does not exist.
        """
        return summarize((entry.record for entry in self.entries()), self.threshold)

    def unfinished(self) -> list[Unfinished]:
        """Return the runs without a record.

        Raises:
            JournalError: a journal does not exist.
        """
        found: list[Unfinished] = []
        for folder, only in self.locations:
            ended: set[str] = set()
            begun: dict[str, Unfinished] = {}
            for event in scan(folder, kinds=frozenset({"setting", "run"})):
                if event.kind == "run":
                    ended.add(event.run)
                    begun.pop(event.run, None)
                elif event.run not in ended and only in (None, event.run):
                    case, agent = (str(event.data.get(name) or "") for name in ("case", "agent"))
                    begun[event.run] = Unfinished(folder, event.run, case, agent)
            found += begun.values()
        return found

    def unreadable(self) -> dict[Path, str]:
        """Return the journals that have lines, but none that can be read, with what was found there instead.

        Raises:
            JournalError: a journal does not exist.
        """
        found: dict[Path, str] = {}
        for folder in dict.fromkeys(folder for folder, _ in self.locations):
            damage = Damage()
            if next(iter(scan(folder, damage)), None) is None and (words := damage.words("unreadable line")):
                found[folder] = words
        return found

    def conversations(self) -> Iterator[StoredRun]:
        """Yield the conversations, journal by journal, including those of unfinished runs.

        Raises:
            JournalError: a journal or a named run does not exist.
        """
        for folder, run in self.locations:
            yield from read_runs(folder, run)


def joined(references: Sequence[str], threshold: float = 1.0) -> Journals:
    """Return the journals of references (`FOLDER` or `FOLDER#RUN-ID`); a journal that is named twice is read once."""
    locations: dict[tuple[Path, str | None], tuple[Path, str | None]] = {}
    for reference in references:
        folder, run = split_reference(reference)
        locations.setdefault((folder.resolve(), run), (folder, run))
    whole = {folder for folder, run in locations if run is None}
    wanted = (each for key, each in locations.items() if key[1] is None or key[0] not in whole)
    return Journals(tuple(wanted), threshold)

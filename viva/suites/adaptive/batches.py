"""The batches of an adaptive suite: which trials of which cases each consists of. Each is a file next to the journal.

A batch is written before its first run begins, so that a suite that is resumed goes on with the same one, whatever has
become of earlier runs since.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from viva.errors import SetupError
from viva.journal.errors import JournalLost
from viva.journal.kept_files import MOST_BATCHES, batch_name, can_be_read, read_kept, write_once
from viva.journal.writer import run_id
from viva.records.codec import decode, encode, loads
from viva.records.wording import counted


class StratumKey(NamedTuple):
    """What is tried again and again: a case with an agent, and with a persona and a strategy if some were chosen."""

    case: str
    agent: str
    persona: str = ""
    strategy: str = ""

    def run(self, trial: int) -> str:
        """Return the id of one of its runs."""
        return run_id(self.case, self.agent, trial, self.persona, self.strategy)


@dataclass(frozen=True, slots=True)
class BatchRow:
    """The trials of one stratum in one batch: so many, from a number on."""

    case: str
    agent: str
    persona: str
    strategy: str
    first: int
    trials: int

    @property
    def key(self) -> StratumKey:
        """Return the stratum."""
        return StratumKey(self.case, self.agent, self.persona, self.strategy)

    def runs(self) -> Iterator[tuple[int, str]]:
        """Yield the trial and the id of each run."""
        return ((trial, self.key.run(trial)) for trial in range(self.first, self.first + self.trials))


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """One file."""

    rows: tuple[BatchRow, ...]
    fills: bool = False
    """Whether its trials stand in for excluded runs of the batch before, and are no batch of their own."""


def read_batches(folder: Path) -> list[StoredBatch]:
    """Return the batches of a journal, in order; none if its suite is not adaptive.

    Raises:
        SetupError: a file is damaged.
    """
    found: list[StoredBatch] = []
    for number in range(1, MOST_BATCHES + 1):
        content = read_kept(folder, batch_name(number))
        if content is None:
            break
        try:
            found.append(decode(StoredBatch, loads(content)))
        except ValueError as error:
            raise SetupError(f"{folder / batch_name(number)} cannot be read: {error}") from error
    return found


def write_batch(folder: Path, number: int, batch: StoredBatch) -> None:
    """Write the file of a batch; if there is one of this number, it stays.

    Raises:
        JournalLost: it cannot be written, or not be read again.
    """
    content = encode(batch)
    if not can_be_read(batch_name(number), content):
        rows = counted(len(batch.rows), "row")
        raise JournalLost(f"a batch of {rows} is too large for {folder / batch_name(number)}")
    try:
        write_once(folder, batch_name(number), content)
    except OSError as error:
        raise JournalLost(f"cannot write {folder / batch_name(number)}: {error.strerror}") from error


def planned_number(folder: Path) -> int:
    """Return the number of runs in all batches of a journal so far; 0 if its suite is not adaptive."""
    with contextlib.suppress(SetupError):
        return sum(row.trials for batch in read_batches(folder) for row in batch.rows)
    return 0


def after(batches: Sequence[StoredBatch], numbers: Mapping[StratumKey, int], *, fills: bool = False) -> StoredBatch:
    """Return a further batch with so many trials of each stratum: those with the next numbers."""
    begun: dict[StratumKey, int] = {}
    for batch in batches:
        for row in batch.rows:
            begun[row.key] = max(begun.get(row.key, 0), row.first + row.trials - 1)
    rows = (BatchRow(*key, begun.get(key, 0) + 1, number) for key, number in numbers.items() if number)
    return StoredBatch(tuple(rows), fills)


def gathered(batches: Sequence[StoredBatch]) -> list[dict[StratumKey, tuple[int, list[str]]]]:
    """Return for each batch, by stratum, how many scores it is to have, and the ids of the runs that can give them."""
    found: list[dict[StratumKey, tuple[int, list[str]]]] = []
    for batch in batches:
        if not batch.fills or not found:
            found.append({})
        for row in batch.rows:
            wanted, runs = found[-1].setdefault(row.key, (0, []))
            runs.extend(run for _, run in row.runs())
            found[-1][row.key] = (wanted if batch.fills else wanted + row.trials, runs)
    return found

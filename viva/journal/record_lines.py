"""A file of records, one a line, as the sink `jsonl` writes it: read line by line, and as a history of runs."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from viva.journal.errors import JournalError
from viva.journal.lines import MOST_LINE, Damage
from viva.records.codec import decode, loads
from viva.records.eval_run_record import EvalRunRecord
from viva.records.run_record import RunRecord
from viva.regular_files import open_plain

_AS_IT_IS = re.compile(r"[\w .:-]+", re.ASCII)
"""Task labels that every JSON writer writes unchanged."""


def read_record_lines(
    path: Path, damage: Damage | None = None, *, containing: bytes | None = None
) -> Iterator[RunRecord]:
    """Read the records of a file in its order, one at a time.

    Args:
        path: The file; a link to one will do.
        damage: Counts the lines that had to be skipped.
        containing: Pass over lines without these bytes, undecoded.

    Raises:
        JournalError: there is no such file, or it cannot be read.
    """
    damage = damage if damage is not None else Damage()
    try:
        with open_plain(path.resolve()) as file:
            number = 0
            while line := file.readline(MOST_LINE):
                number += 1
                if line == b"\n" or (containing is not None and containing not in line):
                    continue
                try:
                    plain = loads(line)
                    # Everything else of a record has a default, and a journal's own lines have none of these.
                    if not isinstance(plain, dict) or "subject" not in plain or "id" not in plain:
                        raise ValueError("this is not a record")
                    yield decode(RunRecord, plain)
                except (ValueError, RecursionError):
                    damage.add(number)
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}.") from error


class RecordLines:
    """An `EvalHistorySource` of a file that the sink `jsonl` writes."""

    def __init__(self, path: str | Path) -> None:
        """Args:
        path: The file; it need not be there yet.
        """
        self._path = Path(path)

    async def runs(self, task: str | None = None, *, limit: int | None = None) -> Sequence[EvalRunRecord]:
        """Return the runs of a task, or all, newest last; none where the file is not there yet.

        Raises:
            JournalError: it cannot be read.
        """
        return await asyncio.to_thread(self._read, task, limit)

    def _read(self, task: str | None, limit: int | None) -> Sequence[EvalRunRecord]:
        if not self._path.exists():
            return ()
        # A suite asks for each of its tasks; decoding every line each time would take longer than its runs.
        label = task.encode() if task is not None and _AS_IT_IS.fullmatch(task) else None
        lines = read_record_lines(self._path, containing=label)
        found: deque[EvalRunRecord] = deque(maxlen=limit)
        found.extend(EvalRunRecord(record) for record in lines if task in (None, record.subject))
        return list(found)

"""The JSON Lines sink: writes the record of each completed run as one line, and reads them back as a history."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from viva.journal.record_lines import RecordLines
from viva.records.codec import encode
from viva.records.eval_run_record import EvalRunRecord
from viva.records.run_record import RunRecord
from viva.records.transcript import Transcript
from viva.sinks.line_file import LineFile


class JsonLinesSink:
    """Appends records to a file, each with one write, so that several suites can share it; an `EvalHistorySource`."""

    def __init__(self, path: str = "runs/history.jsonl") -> None:
        """Open the file for appending.

        Raises:
            SetupError: it cannot be written.
        """
        self._file = LineFile(path, "jsonl")

    async def write(self, record: RunRecord, transcript: Transcript) -> None:
        """Append one record.

        Raises:
            OSError: it could not be written.
        """
        await asyncio.to_thread(self._file.append, encode(record) + b"\n")

    async def runs(self, task: str | None = None, *, limit: int | None = None) -> Sequence[EvalRunRecord]:
        """Return the runs that the file holds, newest last.

        Args:
            task: Only runs of this task; None means all.
            limit: Only the newest so many; None means all.

        Raises:
            JournalError: the file cannot be read.
        """
        return await RecordLines(self._file.path).runs(task, limit=limit)

    async def close(self) -> None:
        """Close the file."""
        self._file.close()

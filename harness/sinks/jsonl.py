"""The JSON Lines sink: writes the record of each completed run as one line, as in the journal."""

from __future__ import annotations

import asyncio

from harness.sinks.line_file import LineFile
from records.codec import encode
from records.run_record import RunRecord
from records.transcript import Transcript


class JsonLinesSink:
    """Appends records to a file, each with one write, so that several suites can share it."""

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

    async def close(self) -> None:
        """Close the file."""
        self._file.close()

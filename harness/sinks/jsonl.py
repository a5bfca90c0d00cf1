"""The JSON Lines sink: writes the record of each completed run as one line, as in the journal."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from adapters.errors import SetupError
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
        file = Path(path).absolute()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise SetupError(f"the sink jsonl cannot write {file}: {error.strerror}.") from error

    async def write(self, record: RunRecord, transcript: Transcript) -> None:
        """Append one record.

        Raises:
            OSError: it could not be written.
        """
        line = encode(record) + b"\n"
        written = await asyncio.to_thread(os.write, self._descriptor, line)
        if written != len(line):
            raise OSError(f"{written} of {len(line)} bytes were written: is the disk full?")

    async def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

"""Makes a journal of results: its runs are recordings, with the verdicts that the source has."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from viva.exam.options import Options
from viva.suites.conduct import Silence, Surroundings
from viva.suites.request import RecordingsRequest
from viva.suites.tracing import trace_recordings


def write_journal(spec: str, folder: Path) -> tuple[int, list[Any]]:
    """Write the recordings of a source into a journal.

    Args:
        spec: The reader and the file: `openai_evals:results.jsonl`.
        folder: An empty folder.

    Returns:
        The number of runs, and the events of the journal as plain data.

    Raises:
        SetupError: a recording cannot be read.
        JournalError: the journal cannot be written.
    """
    request = RecordingsRequest(command="trace", recordings=(spec,), options=Options(), folder=os.getcwd())
    found = asyncio.run(trace_recordings(request, folder, Surroundings(Silence())))
    lines = [line for file in sorted(folder.glob("*.jsonl")) for line in file.read_text("utf-8").splitlines()]
    return found.read, [json.loads(line) for line in lines if line.strip()]

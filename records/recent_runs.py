"""`RecentRuns`: the newest runs of each task of a journal, read as they are appended."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from records.codec import decode
from records.eval_run_record import EvalRunRecord
from records.journal_lines import FILE, HEAD, MOST_LINE, parse
from records.kept_files import open_plain
from records.run_record import RunRecord, Setting

KEPT = 20
"""Runs of each task that are kept."""


class RecentRuns:
    """An `EvalHistorySource` of at most `KEPT` runs of each task; a journal's lines are read once, as they come.

    Records are without insights and setting: what they are compared by is in their metrics.
    """

    def __init__(self, folder: Path) -> None:
        """Args:
        folder: The journal's. It need not be there yet.
        """
        self._file = folder / FILE
        self._turn = threading.Lock()
        self._offset = 0
        self._tasks: dict[str, deque[EvalRunRecord]] = {}

    async def runs(self, task: str | None = None, *, limit: int | None = None) -> Sequence[EvalRunRecord]:
        """Return the newest runs of a task, or of every task, newest last.

        Raises:
            OSError: the journal cannot be read.
        """
        await asyncio.to_thread(self._read)
        with self._turn:
            names = list(self._tasks) if task is None else [task]
            found = [run for name in names for run in self._tasks.get(name, ())]
        if task is None:
            found.sort(key=lambda run: run.started)
        return found if limit is None else found[len(found) - min(limit, len(found)) :]

    def _read(self) -> None:
        """Read what was appended since."""
        with self._turn:
            try:
                file = open_plain(self._file)
            except FileNotFoundError:
                return
            with file:
                file.seek(self._offset)
                while line := file.readline(MOST_LINE):
                    if not line.endswith(b"\n") and len(line) < MOST_LINE:
                        return  # it is being written: read it whole the next time
                    self._offset += len(line)
                    head = HEAD.match(line)
                    if head is None or head[1] == b"run":
                        self._take(line)

    def _take(self, line: bytes) -> None:
        event = parse(line)
        if event is None or event.kind != "run":
            return
        try:
            record = decode(RunRecord, event.data)
        except ValueError:
            return
        runs = self._tasks.setdefault(record.subject, deque(maxlen=KEPT))
        for run in runs:
            if run.id == record.id:
                runs.remove(run)  # another attempt, or judged again
                break
        runs.append(EvalRunRecord(replace(record, insights=(), setting=Setting())))

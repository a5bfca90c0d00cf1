"""`JournalHistory`: the runs of one journal as evaluators compare them, read as the journal is written."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from viva.errors import SetupError
from viva.journal.lines import FILE, HEAD, MOST_LINE, parse, round_number, see_runs
from viva.records.codec import decode
from viva.records.eval_run_record import EvalRunRecord
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import Metrics, Transcript, is_ended
from viva.regular_files import open_plain


@dataclass(slots=True)
class _Seen:
    """The data of one run, as far as its lines have been read."""

    attempt: int
    place: int
    """Which run of the journal it is, in the order of their first lines."""
    task: str = ""
    agent: str = ""
    started: float = 0.0
    run: EvalRunRecord | None = None
    """None until its conversation has ended."""


class JournalHistory:
    """An `EvalHistorySource` of one journal; each line is read once, and a few figures are kept of each run.

    A run belongs to it as soon as its conversation has ended, so that what is compared does not depend on who is judged
    first. Records are without insights and setting: what they are compared by is in their metrics.
    """

    def __init__(self, folder: Path | str) -> None:
        """Args:
        folder: The journal's. It need not be there yet.

        Raises:
            SetupError: the folder is not a path.
        """
        if not isinstance(folder, str | os.PathLike):
            raise SetupError(f"JournalHistory(): folder must be the path of a journal, not {type(folder).__name__}.")
        self._folder = Path(folder)
        self._turn = threading.Lock()
        self._offset = 0
        self._seen: dict[str, _Seen] = {}
        self._tasks: dict[str, dict[str, _Seen]] = {}

    async def runs(self, task: str | None = None, *, limit: int | None = None) -> Sequence[EvalRunRecord]:
        """Return the runs of a task, or all, in the order in which they began, newest last.

        Raises:
            OSError: the journal cannot be read.
            JournalError: it holds too many runs.
        """
        await asyncio.to_thread(self._read)
        with self._turn:
            seen = self._seen if task is None else self._tasks.get(task, {})
            ordered = sorted((each.started, each.place, each.run) for each in seen.values() if each.run is not None)
        found = [run for _, _, run in ordered]
        return found if limit is None else found[len(found) - min(limit, len(found)) :]

    def _read(self) -> None:
        """Read what was appended since."""
        with self._turn:
            try:
                file = open_plain(self._folder / FILE)
            except FileNotFoundError:
                return
            with file:
                file.seek(self._offset)
                while line := file.readline(MOST_LINE):
                    if not line.endswith(b"\n") and len(line) < MOST_LINE:
                        return  # it is being written: read it whole the next time
                    self._offset += len(line)
                    self._take(line)

    def _take(self, line: bytes) -> None:
        head = HEAD.match(line)
        if head is not None and (head[1] == b"insight" or (head[1] == b"round" and round_number(line, head) != 1)):
            return
        event = parse(line)
        if event is None or event.kind == "insight":
            return
        seen = self._seen.get(event.run)
        if seen is None or event.attempt > seen.attempt:
            place = len(self._seen) if seen is None else seen.place
            self._forget(event.run)
            seen = self._seen[event.run] = _Seen(event.attempt, place)
            see_runs(self._folder, len(self._seen))
        if event.attempt == seen.attempt:
            try:
                self._note(event.kind, event.run, event.data, seen)
            except ValueError:
                return

    def _note(self, kind: str, name: str, data: Mapping[str, Any], seen: _Seen) -> None:
        if kind == "setting":
            seen.task, seen.agent = str(data.get("case") or ""), str(data.get("agent") or "")
        elif kind == "round" and not seen.started:
            started = data.get("started")
            # A number of hundreds of digits has no float, and NaN has no place in an order.
            if isinstance(started, int | float) and abs(started) <= sys.float_info.max:
                seen.started = float(started)
        elif kind == "transcript" and is_ended(data.get("source"), data.get("stop")):
            told = decode(Transcript, {"metrics": data.get("metrics"), "success": data.get("success")})
            self._set(name, seen, _unjudged(name, seen, told.metrics, told.success))
        elif kind == "run":
            record = decode(RunRecord, dict(data))
            seen.task, seen.agent, seen.started = record.subject, record.agent, record.timing.started or seen.started
            self._set(name, seen, replace(record, insights=(), setting=Setting()))

    def _set(self, name: str, seen: _Seen, record: RunRecord) -> None:
        seen.run = EvalRunRecord(record)
        self._tasks.setdefault(seen.task, {})[name] = seen

    def _forget(self, name: str) -> None:
        """A new attempt at a run: the previous attempt does not count as history."""
        before = self._seen.get(name)
        if before is not None:
            self._tasks.get(before.task, {}).pop(name, None)


def _unjudged(name: str, seen: _Seen, metrics: Metrics | None, success: bool | None) -> RunRecord:
    timing = Timing(seen.started)
    return RunRecord(name, seen.task, seen.agent, Outcome.SCORED, None, timing=timing, metrics=metrics, success=success)

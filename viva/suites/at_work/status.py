"""How far the work on a journal is, read from the journal alone, also while another process writes it."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from viva.errors import SetupError
from viva.exam.stored_runs import REQUEUE
from viva.filters.fields import EXCLUDED, FAILED, status_of
from viva.journal.errors import JournalError, no_journal
from viva.journal.lines import FILE, HEAD, MOST_LINE, REPEAT, Event, parse, sealed_data, see_runs
from viva.journal.lock import holder
from viva.journal.tallies.repeat_requests import RepeatRequests
from viva.journal.tallies.round_tally import number_of
from viva.records.codec import decode
from viva.records.quick.records import read_record
from viva.records.run_record import RunRecord, as_earned
from viva.records.text import exact_line
from viva.records.verdict import Label
from viva.regular_files import open_plain
from viva.suites.at_work.pausing import is_paused
from viva.suites.resuming.planned import not_begun, planned_number
from viva.suites.resuming.request_facts import RequestFacts, RequestReader
from viva.suites.resuming.stored_request import load_request, unreadable_words

MOST_FAILURES = 10
"""Failures that are shown; the newest ones."""
OWN_TIMES = frozenset({"run", "suite"})
"""Commands whose records say when their runs took place: those of others are about older conversations."""


class State(StrEnum):
    """What goes on in a journal's folder."""

    WORKING = "working"
    PAUSED = "paused"
    STOPPED = "stopped"
    """No process is at work, and runs are left."""
    ENDED = "ended"


@dataclass(slots=True)
class RunningNow:
    """A run that has begun and not ended."""

    run: str
    case: str
    agent: str
    trial: int
    attempt: int
    rounds: int = 0
    judging: bool = False


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run that did not pass, or was excluded."""

    run: str
    case: str
    agent: str
    status: str
    outcome: str
    score: float | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkStatus:
    """How far the work on a journal is."""

    journal: str
    command: str
    state: State
    process: int | None
    planned: int
    """Number of runs; 0 if it is not known."""
    ended: int
    statuses: Mapping[str, int]
    """Numbers of ended runs: passed, failed, excluded."""
    outcomes: Mapping[str, int]
    requeued: int
    """Number of ended runs that are to be done again."""
    per_minute: float | None
    """Runs that ended each minute since this process began; None if that is not known."""
    seconds_left: float | None
    running: tuple[RunningNow, ...]
    """Runs in progress; if no process is at work, those that were interrupted."""
    failures: tuple[FailedRun, ...]
    part: str = ""
    """That only a part of a suite is run, or that this is not known; empty for the whole."""


@dataclass(slots=True)
class _Ended:
    status: str
    outcome: str
    attempt: int
    at: float


@dataclass(slots=True)
class StatusReader:
    """Reads a journal as far as it was written, and then only what was appended since."""

    folder: Path
    threshold: float = 1.0
    _request: RequestReader = field(init=False)
    _offset: int = 0
    _ended: dict[str, _Ended] = field(default_factory=dict)
    _open: dict[str, RunningNow] = field(default_factory=dict)
    _requests: RepeatRequests[str] = field(default_factory=RepeatRequests)
    _failures: deque[FailedRun] = field(default_factory=lambda: deque(maxlen=MOST_FAILURES))
    _began: float = field(default_factory=time.time)
    """When this reader began to look."""
    _before: int | None = None
    """Runs that had ended then."""

    def __post_init__(self) -> None:
        self._request = RequestReader(self.folder)

    def read(self) -> WorkStatus:
        """Return how far the work is now.

        Raises:
            JournalError: there is no journal, or it cannot be read.
        """
        self._take_new()
        part = ""
        try:
            request = self._request.read()
            part = "" if request is None else request.part
        except SetupError as error:
            request, part = None, unreadable_words(error)
        process = holder(self.folder)
        if self._before is None:
            self._before = len(self._ended)
        standing = [each for name, each in self._ended.items() if not self._requests.is_outdated(name)]
        ended = len(standing)
        requeued = len(self._ended) - ended
        planned = self._planned(request, at_work=process is not None)
        rate = None if process is None else self._rate(request)
        left = max(0, planned - ended)
        return WorkStatus(
            journal=str(self.folder),
            command="" if request is None else request.command,
            state=self._state(process, is_left=bool(left or requeued or self._open)),
            process=process,
            planned=planned,
            ended=ended,
            statuses=Counter(each.status for each in standing),
            outcomes=Counter(each.outcome for each in standing),
            requeued=requeued,
            per_minute=None if rate is None else rate * 60,
            seconds_left=left / rate if rate and planned else None,
            running=tuple(self._open.values()),
            failures=tuple(reversed(self._failures)),
            part=part,
        )

    def _state(self, process: int | None, *, is_left: bool) -> State:
        if process is not None:
            return State.PAUSED if is_paused(self.folder) else State.WORKING
        return State.STOPPED if is_left else State.ENDED

    def _planned(self, request: RequestFacts | None, *, at_work: bool) -> int:
        """Return the number of runs, those included that were not planned and yet began; 0 if it is not known."""
        if request is None or not (planned := planned_number(self.folder, request)):
            return 0
        known = self._ended.keys() | self._open.keys()
        if not at_work:
            # Which of them are missing is asked once the work has stopped, and not each second.
            with suppress(SetupError):
                if (whole := load_request(self.folder)) is not None:
                    return len(known) + not_begun(self.folder, whole, known)
        return max(planned, len(known))

    def _rate(self, request: RequestFacts | None) -> float | None:
        """Return how many runs end each second."""
        now = time.time()
        if request is not None and request.command in OWN_TIMES:
            with suppress(OSError):
                since = (self.folder / ".lock").stat().st_mtime  # the process has noted itself there
                number = sum(each.at >= since for each in self._ended.values())
                return number / (now - since) if number and now > since else None
        number = len(self._ended) - (self._before or 0)
        return number / (now - self._began) if number > 0 and now > self._began else None

    def _take_new(self) -> None:
        try:
            with open_plain(self.folder / FILE) as file:
                file.seek(self._offset)
                while line := file.readline(MOST_LINE):
                    if not line.endswith(b"\n") and len(line) < MOST_LINE:
                        return  # it is being written
                    self._offset += len(line)
                    self._take(line)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise no_journal(self.folder, FILE) from error
        except OSError as error:
            raise JournalError(f"cannot read {self.folder / FILE}: {error.strerror}") from error

    def _take(self, line: bytes) -> None:
        head = HEAD.match(line)
        if head is not None and head[1] == b"round":
            if (now := self._open.get(head[2].decode())) is not None and now.attempt == int(head[3]):
                now.rounds += 1
            return
        if head is not None and head[1] == b"run" and (data := sealed_data(line, head)) is not None:
            if (record := read_record(data)) is not None:
                self._end(as_earned(record), int(head[3]))
                return
        elif head is not None and head[1] == b"insight":
            return
        if (event := parse(line)) is not None:
            self._note(event)

    def _note(self, event: Event) -> None:
        now = self._open.get(event.run)
        if event.kind == "run":
            with suppress(ValueError):
                self._end(as_earned(decode(RunRecord, event.data)), event.attempt)
        elif event.kind == "setting":
            self._begin(event)
        elif event.kind == "transcript" and now is not None:
            now.judging = True
        elif event.kind == REQUEUE and event.run in self._ended and event.attempt == self._attempt(event.run):
            self._requests.request(event.run)
        elif event.kind == REPEAT:
            self._requests.request_all()

    def _attempt(self, run: str) -> int:
        """Return the number of a run's newest attempt; 0 if there is none."""
        ended, now = self._ended.get(run), self._open.get(run)
        return max(0 if ended is None else ended.attempt, 0 if now is None else now.attempt)

    def _begin(self, event: Event) -> None:
        if event.attempt > self._attempt(event.run):
            self._requests.begin(event.run)
        ended = self._ended.get(event.run)
        now = self._open.get(event.run)
        if now is not None and now.attempt == event.attempt:
            return  # its setting was written again
        case, agent = (str(event.data.get(name) or "") for name in ("case", "agent"))
        trial = number_of(event.data.get("trial")) or 1
        again = ended is not None and ended.attempt == event.attempt  # only judged
        self._open[event.run] = RunningNow(event.run, case, agent, trial, event.attempt, judging=again)
        see_runs(self.folder, len(self._open) + len(self._ended))

    def _end(self, record: RunRecord, attempt: int) -> None:
        status = status_of(record, self.threshold)
        newest = self._attempt(record.id)
        if attempt > newest:
            self._requests.begin(record.id)
        if attempt >= newest:
            self._requests.record(record.id)
        self._open.pop(record.id, None)
        at = record.timing.started + record.timing.seconds
        self._ended[record.id] = _Ended(status, record.outcome.value, attempt, at)
        if any(each.run == record.id for each in self._failures):
            kept = [each for each in self._failures if each.run != record.id]
            self._failures.clear()
            self._failures.extend(kept)
        if status in (FAILED, EXCLUDED):
            self._failures.append(_failure(record, status))


def _failure(record: RunRecord, status: str) -> FailedRun:
    missed = (
        f"missed: {verdict.statement or verdict.criterion}"
        for insight in record.insights
        for verdict in insight.verdicts
        if verdict.label in (Label.MISS, Label.UNSURE, Label.ERROR)
    )
    why = record.error or next(missed, "")
    return FailedRun(
        record.id, record.subject, record.agent, status, record.outcome.value, record.score, exact_line(why, 200)
    )

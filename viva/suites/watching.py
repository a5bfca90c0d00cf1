"""Follows sources of recordings: imports and judges new ones as they come, and watches their newest figures."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from viva.errors import SetupError
from viva.exam.outcome import EXIT_BELOW, EXIT_NOT_SCORED
from viva.journal.reader import read_records
from viva.recordings.recording import HalfWritten, NothingYet, Recording, UnfinishedFile
from viva.records.run_record import RunRecord
from viva.records.transcript import Transcript
from viva.statistics.summary import Figures, summarize
from viva.suites.conduct import Surroundings
from viva.suites.gate_checks import PlannedGates
from viva.suites.gates import Gates, gate
from viva.suites.importing import Import
from viva.suites.judging_gates.flips import joined_gates
from viva.suites.request import RecordingsRequest, journal_size
from viva.suites.resuming.unread import keep_unread, words_of
from viva.suites.tracing import trace_recordings


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """How sources are followed."""

    interval: float = 30.0
    """Seconds from the end of one look to the next."""
    settle: float = 60.0
    """Seconds since the newest thing in a recording before it is imported: it may not have ended."""
    window: int = 50
    """The newest runs, whose figures are watched."""
    least: int = 5
    """Runs that must be there before anybody is alerted."""
    looks: int | None = None
    """How often to look; None for until stopped."""


@dataclass(frozen=True, slots=True)
class Poll:
    """What one poll of the sources found."""

    new: tuple[str, ...]
    """Ids of the runs that were imported and judged now, also again."""
    runs: int
    """Runs in the window."""
    figures: Figures
    """Statistics of the runs in the window."""
    below: str
    """Which figure is below its bound, in words; empty where none is."""
    unjudged: str = ""
    """Why nobody can say whether a figure is below its bound, in words: what has a bound was not judged."""


@dataclass(slots=True)
class Window:
    """The newest runs."""

    size: int
    seen: dict[str, int] = field(default_factory=dict)
    """The attempt of each run that was seen: one that is judged again has another."""
    records: deque[RunRecord] = field(default_factory=deque)

    def take(self, folder: Path) -> tuple[str, ...]:
        """Add the runs of the journal that are new, and return their ids."""
        new = [record for record in read_records(folder) if self.seen.get(record.id) != record.attempt]
        replaced = {record.id for record in new if record.id in self.seen}
        if replaced:
            self.records = deque(record for record in self.records if record.id not in replaced)
        self.seen.update((record.id, record.attempt) for record in new)
        self.records.extend(new[-self.size :])
        while len(self.records) > self.size:
            self.records.popleft()
        return tuple(record.id for record in new)


@dataclass(slots=True)
class Settling:
    """Tells the recordings that have ended from those that may have not.

    A recording may be dated in the future, by its agent or by a clock that is ahead: it has ended when its newest time
    has stayed the same for as long. Otherwise an agent could keep its run out of the figures.
    """

    settle: float
    """As in `Watch`."""
    seen: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    """The newest time in each recording that may not have ended, and when it was first seen with it."""

    def is_over(self, recording: Recording) -> bool:
        """Return whether a recording has settled."""
        key, now, end = (recording.place, recording.run_key), time.time(), newest(recording.transcript)
        before, since = self.seen.pop(key, (end, now))
        since = since if before == end else now
        if is_new := now - min(end, since) < self.settle:
            self.seen[key] = end, since
        return not is_new


@dataclass(slots=True)
class UnfinishedFiles:
    """Tells the files that nobody writes any more from those that are being written.

    Otherwise an agent that writes its own recordings could take a run out of the figures by never finishing its file.
    """

    settle: float
    """As in `Watch`."""
    seen: dict[Path, tuple[int, float]] = field(default_factory=dict)
    """The size of each file in the look before, and when it was first seen with it."""

    def abandoned(self, files: Sequence[UnfinishedFile]) -> list[str]:
        """Return which files have not grown since the look before and are older than `settle`, in words."""
        now, before = time.time(), self.seen
        self.seen = {}
        found = []
        for file in files:
            size, since = before.get(file.path, (-1, now))
            is_still = size == file.size
            self.seen[file.path] = file.size, since if is_still else now
            # A file may say that it was changed in the future.
            if is_still and now - min(since, file.changed) >= self.settle:
                found.append(str(file))
        return found


async def follow(
    request: RecordingsRequest,
    folder: Path,
    watch: Watch,
    gates: Gates,
    make_around: Callable[[], Surroundings],
    on_poll: Callable[[Poll], bool],
    *,
    resumed: bool = False,
) -> list[str]:
    """Poll sources again and again; each poll imports and judges what is new.

    Args:
        request: What is followed.
        folder: The journal's.
        watch: How.
        gates: The bounds of the figures over the window.
        make_around: Makes what each look runs with.
        on_poll: Called after each poll that imported runs, and, if there are bounds, after each that failed and after
            the first one that did not fail again; returning False stops.
        resumed: The folder holds some of it already.

    A source that does not exist yet, is empty, or ends in the middle of its only document, is waited for. An end of a
    file that is half written is passed over until it is whole, or until the file has stopped growing; then it counts as
    unreadable, as does one that is still half written at the last poll. A recording that may not have ended at the last
    poll is lost, too. A recording of which the source has more than when it was judged is judged again.

    Returns:
        What the last poll could not read, or that it failed.

    Raises:
        SetupError: the first poll failed, or the last one still found no source. A later one that fails is reported to
            the user and repeated.
        JournalError: the journal cannot be written.
    """
    window = Window(watch.window)
    if resumed:
        window.take(folder)
    number, begun, waiting, failed = 0, resumed, "", ""
    known: set[str] = set()
    found = Import()
    lost: dict[str, bool] = {}  # what could not be read, and whether a look has told so
    unfinished, settling = UnfinishedFiles(watch.settle), Settling(watch.settle)
    around = Surroundings()
    while watch.looks is None or number < watch.looks:
        if number:
            await asyncio.sleep(watch.interval)
        around = make_around()
        try:
            planned = PlannedGates(floors=gates)
            found = await trace_recordings(
                request, folder, around, resumed=begun, choose=settling.is_over, gates=planned, known=known
            )
        except SetupError as error:
            number += 1
            if not begun and (not _is_nothing_yet(error) or number == watch.looks):
                raise
            # A reader may break off after recordings that are in the journal now: the next look goes on with it.
            begun = begun or journal_size(folder) > 0
            if not begun:
                if waiting != str(error):
                    waiting = str(error)
                    around.display.note(f"waiting for the source: {error}")
                continue
            around.display.warn(f"this poll failed, and will be repeated: {error}")
            failed = f"the last poll failed: {error}"
            keep_unread(folder, _unread(found, failed))  # nothing may come after it
            if gates.are_set and not on_poll(_look((), window, gates, watch, failed)):
                break
            continue
        recovered = bool(failed) and gates.are_set
        number, begun, failed = number + 1, True, ""
        abandoned = unfinished.abandoned(found.half_written)
        _note_new(abandoned, known, around)
        for words in (*found.lost, *abandoned):
            lost.setdefault(words, False)
        new = window.take(folder)
        if new or recovered:
            unread = ""
            if len(window.records) >= watch.least:  # before, no limit is checked, and nothing is told of it
                unread = words_of([words for words, told in lost.items() if not told])
                lost = dict.fromkeys(lost, True)
            if not on_poll(_look(new, window, gates, watch, unread)):
                break
    _note_new(found.unfinished, known, around)
    return _unread(found, failed)


def _unread(found: Import, failed: str) -> list[str]:
    """Return what is lost if nobody looks again, after the last look that did not fail."""
    return [*found.lost, *found.unfinished, *filter(None, (failed,))]


def _note_new(notes: Sequence[str], known: set[str], around: Surroundings) -> None:
    for words in notes:
        if words not in known:
            around.display.note(words)
    known.update(notes)


def _is_nothing_yet(error: BaseException | None) -> bool:
    """Return whether an error, or what caused it, says that a source is not there: readers may add words to it."""
    while error is not None:
        if isinstance(error, NothingYet | HalfWritten | FileNotFoundError):
            return True
        error = error.__cause__
    return False


def _look(new: Sequence[str], window: Window, gates: Gates, watch: Watch, unread: str) -> Poll:
    figures = summarize(window.records)
    code, words = gate(figures, gates) if len(window.records) >= watch.least else (0, "")
    if unread and gates.are_set and len(window.records) >= watch.least:
        code, words = joined_gates((code, words), (EXIT_NOT_SCORED, unread))
    below, unjudged = (words, "") if code == EXIT_BELOW else ("", words)
    return Poll(tuple(new), len(window.records), figures, below, unjudged)


def newest(transcript: Transcript) -> float:
    """Return when the last thing in a recording ended, in seconds since the epoch; 0 if it has no times."""
    ends = [round_.started + round_.agent_seconds for round_ in transcript.rounds if round_.started is not None]
    steps = (step for round_ in transcript.rounds for step in round_.steps if step.started is not None)
    return max([*ends, *((step.started or 0.0) + (step.seconds or 0.0) for step in steps)], default=0.0)

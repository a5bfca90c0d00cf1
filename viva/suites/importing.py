"""Reads recordings from their sources into a journal: each as a run, or as one that the journal holds already."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from viva.errors import SetupError
from viva.exam.kept_workspaces import keep_workspace, workspace_name
from viva.exam.stored_runs import RunState
from viva.exam.versions import versions
from viva.journal.images import keep_recorded_pictures
from viva.journal.reader import read_runs
from viva.journal.writer import Journal, observed_run_id
from viva.judge.reward import ATTRIBUTE
from viva.recordings.given_tools import with_tools
from viva.recordings.recording import Recording, RecordingError, SourceNotes, UnfinishedFile
from viva.recordings.table import LoadedReader
from viva.records.codec import encode
from viva.records.run_record import Setting
from viva.records.text import storable
from viva.records.transcript import Transcript
from viva.records.usage import with_usage
from viva.records.wording import counted
from viva.suites.engine import SuiteEnd
from viva.suites.labels import labelled
from viva.suites.request import RecordingsRequest
from viva.suites.resuming.unread import begin_unread, words_of
from viva.version import viva_version

RECORDED = "recorded"
"""The name of the examiner of a recording, and of an agent that the recording does not name."""
JUDGED_AGAIN = "judged again"
"""The beginning of the note in the transcript of a recording that had grown since it was judged."""


@dataclass(slots=True)
class Import:
    """The result of reading the sources."""

    end: SuiteEnd = field(default_factory=SuiteEnd)
    read: int = 0
    """Number of recordings that were found."""
    doubled: int = 0
    """Number of recordings that the journal already held."""
    again: int = 0
    """Number of recordings that had grown since they were judged, and are judged again."""
    notes: dict[str, int] = field(default_factory=dict)
    """The notes of readers, and the number of times that each occurred."""
    damage: dict[str, list[int]] = field(default_factory=dict)
    """What is broken in the sources: how often, and in how many recordings."""
    lost: list[str] = field(default_factory=list)
    """What was left out because it cannot be read: files, lines, ends of archives. No gate passes over it."""
    half_written: list[UnfinishedFile] = field(default_factory=list)
    """Files of followed sources whose ends were passed over, because somebody may be writing them."""
    unsettled: list[str] = field(default_factory=list)
    """Places of recordings of followed sources that were passed over, because they may not have ended, also of those
    that have grown since they were judged."""

    @property
    def unfinished(self) -> list[str]:
        """Return what was passed over, in words: it is lost if nobody looks again."""
        words = [str(file) for file in self.half_written]
        if self.unsettled:
            number = f"{counted(len(self.unsettled), 'recording')} (first: {self.unsettled[0]})"
            words.append(f"not imported because less than --settle has passed since the last step: {number}")
        return words

    @property
    def left_out(self) -> int:
        """Return how many recordings were not judged, and how many files could not be read, or not whole."""
        return self.end.left_out + len(self.lost)

    @property
    def reason(self) -> str | None:
        """Return why something was left out; None if nothing was and the work did not stop early."""
        return "; ".join(filter(None, (words_of(self.lost), self.end.reason))) or None

    def told(self) -> list[str]:
        """Return what a user should know about how the sources were read, a sentence each."""
        notes = [words if times == 1 else f"{words} ({times} times)" for words, times in self.notes.items()]
        damage = (f"{words}: {count} (in {counted(held, 'recording')})" for words, (count, held) in self.damage.items())
        return [*notes, *damage]


@dataclass(frozen=True, slots=True)
class OpenSource:
    """A source whose first recording was read."""

    spec: str
    recordings: Iterator[Recording]
    """All of them, the first included."""
    told: SourceNotes
    """What its reader says of it as a whole: complete when all recordings were read."""


def begin_reading(readers: Sequence[LoadedReader], request: RecordingsRequest, *, followed: bool) -> list[OpenSource]:
    """Read the first recording of each source, so that a mistake leaves no journal behind.

    Some sources can be read only once (a pipe), so `import_recordings` continues to read the iterators that are opened
    here.

    Args:
        readers: The sources and their readers.
        request: What is asked of them.
        followed: Whether the sources are followed: they may hold nothing yet, and their ends may be half written.

    Raises:
        SetupError: a reader does not take a mapping file, a source cannot be read, or no source contains a recording.
    """
    sources: list[OpenSource] = []
    empty = True
    options: dict[str, Any] = {} if request.since is None else {"since": datetime.fromtimestamp(request.since, UTC)}
    options |= {} if request.mapping is None else {"mapping": request.mapping}
    for reader in readers:
        told = SourceNotes(growing=followed, since=request.since)
        read = reader.read(told, **options)
        recordings = (replace(each, transcript=with_tools(each.transcript, request.tools)) for each in read)
        first = list(itertools.islice(recordings, 1))
        empty = empty and not first
        sources.append(OpenSource(reader.spec, itertools.chain(first, recordings), told))
    if empty and not followed:
        names = ", ".join(reader.spec for reader in readers)
        later = f" that began at {options['since'].isoformat()} or later" if request.since is not None else ""
        raise SetupError(f"there is nothing to import: {names} contains no recording{later}.{_sentences(sources)}")
    return sources


def import_recordings(
    sources: Sequence[OpenSource],
    request: RecordingsRequest,
    journal: Journal,
    done: dict[str, RunState],
    found: Import,
    choose: Callable[[Recording], bool] | None,
) -> None:
    """Write the recordings that a request asks for, and that the journal does not hold, to the journal.

    Args:
        sources: What `begin_reading` opened.
        request: Limits and selects the recordings.
        journal: Takes them.
        done: The runs that the journal holds, by id; those that were found again are removed.
        found: Is counted up.
        choose: As in `trace_recordings`.
    """
    limit = request.limit
    taken = {run for run, state in done.items() if state.whole}
    trials: Counter[str] = Counter()
    # A source may give only what is new when it is read again, so the position alone does not tell the trial.
    given = {(state.case, state.trial) for run, state in done.items() if run in taken}
    owners: dict[str, int] = {}
    own = 0  # those of the compared source have a limit of their own
    for number, source in enumerate(sources):
        spec, told = source.spec, source.told
        compared = spec == request.compared
        left = None if limit is None else limit if compared else limit - own
        for recording in _read(itertools.islice(source.recordings, left), journal.folder, found):
            found.read += 1
            own += not compared
            _note(found, recording.notes)
            found.lost += recording.lost
            for words, count in recording.damage.items():
                sums = found.damage.setdefault(words, [0, 0])
                sums[0] += count
                sums[1] += 1
            subject = recording.subject or recording.place
            trials[subject] += 1
            run = observed_run_id(recording.run_key, subject)
            if owners.setdefault(run, number) != number:
                # Another source has a run with the same name, as two files with one name do: both runs are kept.
                run = observed_run_id(f"{recording.run_key}, source {number + 1}", subject)
            if run in taken:
                state = done.pop(run, None)
                named = labelled(recording, request.labels_of(spec))
                if choose is None or state is None or (had := _outgrown(named, state, run, journal)) is None:
                    found.doubled += 1
                elif choose(recording):
                    _write_again(named, had, state, run, spec, journal)
                    found.again += 1
                else:
                    found.unsettled.append(recording.place)
                continue
            if not request.samples(recording.run_key):
                continue
            if choose is not None and not choose(recording):
                found.unsettled.append(recording.place)
                continue
            taken.add(run)
            # What a cut-off import left is an attempt of its own, as the source may have changed since: readers pass
            # over the lines of an older attempt, and would mix two readings under one number.
            cut_off = done.get(run)
            attempt = 1 if cut_off is None else cut_off.attempt + 1
            while (subject, trials[subject]) in given:
                trials[subject] += 1
            named = labelled(recording, request.labels_of(spec))
            _write(named, subject, trials[subject], run, spec, journal, attempt)
        _note(found, told.waiting)
        found.lost += told.lost
        found.half_written += told.half_written.values()


def _note(found: Import, notes: Iterable[str]) -> None:
    for note in notes:
        found.notes[note] = found.notes.get(note, 0) + 1


def _sentences(sources: Sequence[OpenSource]) -> str:
    return "".join(f" {note}." for source in sources for note in source.told.waiting)


def _read(recordings: Iterator[Recording], folder: Path, found: Import) -> Iterator[Recording]:
    try:
        yield from recordings
    except RecordingError as error:
        before = f"The {counted(found.read, 'recording')} before it {'is' if found.read == 1 else 'are'} in {folder}"
        words = f"{str(error).rstrip('.')}. {before}; correct it, then resume: viva trace --resume {folder}"
        raise RecordingError(words) from error


def _outgrown(recording: Recording, state: RunState, run: str, journal: Journal) -> int | None:
    """Return the size that a recording had when it was judged if the source has more of it now, else None."""
    transcript = with_usage(numbered(recording.transcript))
    if _digest(transcript) == state.recording_digest:
        return None
    before = _size(next(read_runs(journal.folder, run)).transcript)
    return before if before < _size(transcript) else None  # it may be read in another way, and not be more


def _write_again(recording: Recording, had: int, state: RunState, run: str, spec: str, journal: Journal) -> None:
    """Append a recording that has grown as a further attempt."""
    now = counted(_size(recording.transcript), "step")
    words = f"{JUDGED_AGAIN}: the source has {now} of it, and had {had} at the first judgement"
    grown = replace(recording, notes=(*recording.notes, words))
    _write(grown, state.case, state.trial, run, spec, journal, attempt=state.attempt + 1)


def _size(transcript: Transcript) -> int:
    """Count the steps and the words of both sides."""
    return sum(len(each.steps) + (each.examiner is not None) + (each.agent is not None) for each in transcript.rounds)


def _digest(transcript: Transcript) -> str:
    return hashlib.sha256(encode(transcript)).hexdigest()[:12]


def _write(
    recording: Recording, subject: str, number: int, run: str, spec: str, journal: Journal, attempt: int = 1
) -> None:
    """Append one recording to the journal: its setting, its rounds, and its end."""
    begin_unread(journal.folder)  # before anything of it is there: the import may be stopped at any time
    transcript = with_usage(numbered(recording.transcript))
    notes = tuple(dict.fromkeys((*transcript.notes, *recording.notes)))
    attributes = dict(transcript.attributes)
    if recording.reward is not None:
        attributes[ATTRIBUTE] = recording.reward
    workspace, name, left_out = recording.workspace, None, ""
    if workspace is not None and workspace.is_dir():
        name = workspace_name(run)
        left_out = keep_workspace(workspace.resolve(), journal.folder, name) or ""
    setting = Setting(
        viva=viva_version(),
        case=subject,
        agent=recording.agent or RECORDED,
        agent_version=recording.agent_version,
        trial=number if recording.trial is None else recording.trial,
        examiner=RECORDED,
        judge=RECORDED,
        source=spec,
        place=recording.place,
        recording_digest=_digest(transcript),
        workspace=None if left_out else name,
        workspace_left_out=storable(left_out),
        versions=versions(),
    )
    journal.append("setting", run, attempt, setting)
    transcript = replace(transcript, notes=notes, attributes=attributes)
    transcript = keep_recorded_pictures(transcript, journal, recording.pictures or workspace)
    for round_ in transcript.rounds:
        journal.append("round", run, attempt, round_)
    journal.append("transcript", run, attempt, transcript.without_rounds())


def numbered(transcript: Transcript) -> Transcript:
    """Renumber the rounds from 1 if a reader numbered them differently, because a gap would count as a lost round."""
    if all(round_.number == number for number, round_ in enumerate(transcript.rounds, 1)):
        return transcript
    return replace(
        transcript, rounds=tuple(replace(round_, number=number) for number, round_ in enumerate(transcript.rounds, 1))
    )

"""Imports recordings into a journal, and judges them there like any other conversation that has ended."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from viva.cases import Rubric
from viva.errors import PlanError, SetupError
from viva.exam.judging.rubrics import RubricPapers
from viva.exam.judging.stored_facts import facts_of
from viva.exam.kept_workspaces import keep_workspace, workspace_name
from viva.exam.options import Options
from viva.exam.stored_runs import RunState, read_run_states, read_states_to_resume
from viva.exam.versions import versions, viva_version
from viva.journal.conversation_lines import read_conversation_lines
from viva.journal.images import keep_recorded_pictures
from viva.journal.reader import read_runs
from viva.journal.writer import Journal, observed_run_id
from viva.judge.registry import DEFAULT, read_spec
from viva.judge.reward import ATTRIBUTE, RewardEvaluator
from viva.recordings.given_tools import with_tools
from viva.recordings.recording import Recording, RecordingError
from viva.recordings.table import LoadedReader, load_reader, together
from viva.records.codec import encode
from viva.records.run_record import Setting
from viva.records.text import storable
from viva.records.transcript import Transcript
from viva.records.usage import with_usage
from viva.records.wording import counted
from viva.suites.conduct import Surroundings, Work, conduct
from viva.suites.engine import SuiteEnd
from viva.suites.gate_checks import NO_GATES, PlannedGates
from viva.suites.job import Action, Job, WorkOrder
from viva.suites.labels import labelled
from viva.suites.request import RecordingsRequest
from viva.suites.resuming.next_step import ResumeStep, next_step

RECORDED = "recorded"
"""The name of the examiner of a recording, and of an agent that the recording does not name."""
JUDGED_AGAIN = "judged again"
"""The beginning of the note in the transcript of a recording that had grown since it was judged."""
DEFAULT_EVALUATORS = (RewardEvaluator.name,)


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

    def told(self) -> list[str]:
        """Return what a user should know about how the sources were read, a sentence each."""
        notes = [words if times == 1 else f"{words} ({times} times)" for words, times in self.notes.items()]
        damage = (f"{words}: {count} (in {counted(held, 'recording')})" for words, (count, held) in self.damage.items())
        return [*notes, *damage]


async def trace_recordings(
    request: RecordingsRequest,
    folder: Path,
    around: Surroundings,
    *,
    resumed: bool = False,
    retry_errors: bool = False,
    choose: Callable[[Recording], bool] | None = None,
    gates: PlannedGates = NO_GATES,
    known: set[str] | None = None,
) -> Import:
    """Import recordings and judge them.

    Args:
        request: SPECs of the recordings, and the options of judging.
        folder: The journal's folder.
        around: The engine, display, sinks and subscribers.
        resumed: Whether the folder already holds some recordings, which are then not imported again.
        retry_errors: Whether to judge again what could not be judged before.
        choose: Selects the recordings to import, of which there may be none; None stands for all.
        gates: The gates that will be applied, which are checked before anything is judged.
        known: What the user was told about the sources when they were read before, and is not told again; what is told
            now is added.

    Raises:
        SetupError: a recording cannot be read, or the user must change something.
        JournalError: the journal cannot be written.
    """
    found = Import()
    streams: list[tuple[str, Iterator[Recording]]] = []

    papers = RubricPapers(request.rubric)

    def fill(journal: Journal) -> tuple[int, int]:
        done = read_states_to_resume(journal.folder) if resumed else {}
        _import(streams, request, journal, done, found, choose)
        for words in found.told():
            if known is None or words not in known:
                around.display.note(words)
        if known is not None:
            known.update(found.told())
        if found.again:
            around.display.note(f"{counted(found.again, 'run')} judged again: the source has more of them now")
        states = read_run_states(journal.folder)
        if choose is None:  # sources that are followed may still bring what the baseline has
            _check_baseline(gates, states)
        left = sum(_is_left(state, retry_errors) for state in states.values())
        return left, len(states) - left

    def prepare() -> Work:
        loaded = (load_reader(spec) for spec in dict.fromkeys(request.recordings))
        readers = together(loaded, apart=request.compared)
        evaluators = request.options.evaluators or _evaluators(readers, request.rubric)
        streams.extend(_begin_reading(readers, request, may_be_empty=choose is not None))
        options = replace(request.options, evaluators=evaluators)
        return Work(
            request=request,
            order=_order(options, request.rubric, gates),
            fill=fill,
            jobs=lambda new: _jobs(new, papers, retry_errors),
        )

    found.end = await conduct(folder, prepare, around, resumed=resumed)
    if not resumed:  # of the others, it is not known here which points they were judged by
        for words in papers.notes():
            around.display.note(words)
    return found


def _check_baseline(gates: PlannedGates, states: Mapping[str, RunState]) -> None:
    """Check what only the imported recordings show: whether the baseline has any of their tasks.

    Raises:
        PlanError: it has none, so nothing is judged.
    """
    planned: dict[str, set[str]] = {}
    for state in states.values():
        planned.setdefault(state.agent, set()).add(state.case)
    try:
        gates.check_baseline(planned)
    except SetupError as error:
        raise PlanError(str(error)) from error


def _order(options: Options, rubric: Rubric | None, gates: PlannedGates) -> WorkOrder:
    """Return the work order of judging recordings.

    Raises:
        SetupError: there is a rubric, and the evaluators named do not judge by it.
    """
    if rubric is None:
        return WorkOrder(options=options, recordings=True, gated=gates.evaluators)
    if all(read_spec(spec)[0] != DEFAULT for spec in options.evaluators):
        raise SetupError(f"--rubric has no effect: --evaluators does not name {DEFAULT}. Add it, or omit one of both.")
    return WorkOrder(options=options, cases=rubric.papers, gated=gates.evaluators)


def _evaluators(readers: Sequence[LoadedReader], rubric: Rubric | None) -> tuple[str, ...]:
    """Return the default evaluators of recordings: the rubric, or those of their reader, or the recorded reward.

    Raises:
        SetupError: the readers have different defaults.
    """
    if rubric is not None:
        return (DEFAULT,)
    found = {reader.evaluators or DEFAULT_EVALUATORS for reader in readers}
    if len(found) > 1:
        names = " or ".join(sorted({name for names in found for name in names}))
        raise SetupError(f"these sources are judged by different evaluators; name them: --evaluators {names}.")
    return next(iter(found), DEFAULT_EVALUATORS)


def _begin_reading(
    readers: Sequence[LoadedReader], request: RecordingsRequest, *, may_be_empty: bool
) -> list[tuple[str, Iterator[Recording]]]:
    """Read the first recording of each source, so that a mistake leaves no journal behind.

    Some sources can be read only once (a pipe), so `_import` continues to read the iterators that are opened here.

    Raises:
        SetupError: a reader does not take a mapping file, a source cannot be read, or no source contains a recording.
    """
    streams: list[tuple[str, Iterator[Recording]]] = []
    empty = True
    options: dict[str, Any] = {} if request.since is None else {"since": datetime.fromtimestamp(request.since, UTC)}
    options |= {} if request.mapping is None else {"mapping": request.mapping}
    for reader in readers:
        read = reader.read(**options)
        recordings = (replace(each, transcript=with_tools(each.transcript, request.tools)) for each in read)
        first = list(itertools.islice(recordings, 1))
        empty = empty and not first
        streams.append((reader.spec, itertools.chain(first, recordings)))
    if empty and not may_be_empty:
        names = ", ".join(reader.spec for reader in readers)
        later = f" that began at {options['since'].isoformat()} or later" if request.since is not None else ""
        raise SetupError(f"there is nothing to import: {names} contains no recording{later}.")
    return streams


def _import(
    streams: list[tuple[str, Iterator[Recording]]],
    request: RecordingsRequest,
    journal: Journal,
    done: dict[str, RunState],
    found: Import,
    choose: Callable[[Recording], bool] | None,
) -> None:
    limit = request.limit
    taken = {run for run, state in done.items() if state.whole}
    trials: Counter[str] = Counter()
    # A source may give only what is new when it is read again, so the position alone does not tell the trial.
    given = {(state.case, state.trial) for run, state in done.items() if run in taken}
    owners: dict[str, int] = {}
    own = 0  # those of the compared source have a limit of their own
    for number, (spec, recordings) in enumerate(streams):
        compared = spec == request.compared
        left = None if limit is None else limit if compared else limit - own
        for recording in _read(itertools.islice(recordings, left), journal.folder, found):
            found.read += 1
            own += not compared
            for note in recording.notes:
                found.notes[note] = found.notes.get(note, 0) + 1
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
                if choose is not None and state is not None and choose(recording):
                    found.again += _write_again(labelled(recording, request.labels_of(spec)), state, run, spec, journal)
                else:
                    found.doubled += 1
                continue
            if not request.samples(recording.run_key) or (choose is not None and not choose(recording)):
                continue
            taken.add(run)
            while (subject, trials[subject]) in given:
                trials[subject] += 1
            _write(labelled(recording, request.labels_of(spec)), subject, trials[subject], run, spec, journal)


def _read(recordings: Iterator[Recording], folder: Path, found: Import) -> Iterator[Recording]:
    try:
        yield from recordings
    except RecordingError as error:
        before = f"The {counted(found.read, 'recording')} before it {'is' if found.read == 1 else 'are'} in {folder}"
        words = f"{str(error).rstrip('.')}. {before}; correct it, then resume: viva trace --resume {folder}"
        raise RecordingError(words) from error


def _write_again(recording: Recording, state: RunState, run: str, spec: str, journal: Journal) -> bool:
    """Append a recording as a further attempt if the source has more of it now; return whether it has."""
    transcript = with_usage(numbered(recording.transcript))
    if _digest(transcript) == state.recording_digest:
        return False
    before, now = _size(next(read_runs(journal.folder, run)).transcript), _size(transcript)
    if now <= before:  # read in another way, and not more
        return False
    words = f"{JUDGED_AGAIN}: the source has {counted(now, 'step')} of it, and had {before} at the first judgement"
    grown = replace(recording, notes=(*recording.notes, words))
    _write(grown, state.case, state.trial, run, spec, journal, attempt=state.attempt + 1)
    return True


def _size(transcript: Transcript) -> int:
    """Count the steps and the words of both sides."""
    return sum(len(each.steps) + (each.examiner is not None) + (each.agent is not None) for each in transcript.rounds)


def _digest(transcript: Transcript) -> str:
    return hashlib.sha256(encode(transcript)).hexdigest()[:12]


def _write(
    recording: Recording, subject: str, number: int, run: str, spec: str, journal: Journal, attempt: int = 1
) -> None:
    """Append one recording to the journal: its setting, its rounds, and its end."""
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


def _is_left(state: RunState, retry_errors: bool) -> bool:
    return state.whole and next_step(state, retry_errors=retry_errors).step is not ResumeStep.SKIP


def _jobs(folder: Path, papers: RubricPapers, retry_errors: bool) -> Iterator[Job]:
    """Yield a job for each recording in the journal that has not been judged."""
    left = {run for run, state in read_run_states(folder).items() if _is_left(state, retry_errors)}
    for lines in read_conversation_lines(folder):
        if lines.run not in left:
            continue
        facts = facts_of(lines)
        header, talk = facts.header(lines), replace(lines, judged=())
        paper = papers.of(facts.subject, talk)
        yield Job(
            action=Action.JUDGE,
            header=header,
            case_hash="" if paper is None else paper.hash,
            conversation=talk,
            timing=facts.timing,
            carried=True,
        )

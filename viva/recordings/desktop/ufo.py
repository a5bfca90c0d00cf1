"""Reads the log folders of UFO, and folders of the same shape by other agents, into transcripts with screenshots.

The format is that of github.com/microsoft/UFO: `response.log` with one JSON object per line, screenshots beside it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from viva.recordings.desktop.lines import LineFields, read_lines, unfound_fields
from viva.recordings.desktop.names import UFO, Names, load_names
from viva.recordings.desktop.session_log import SOURCE, SessionLog
from viva.recordings.files.locations import may_hide_files, unlisted_words
from viva.recordings.recording import NothingYet, Recording, RecordingError, SourceNotes
from viva.records.transcript import Transcript


class UfoReader:
    """Reads `ufo:FOLDER`: one session's folder, or a tree of them."""

    evaluators = ("session",)
    """The evaluators of such recordings if the user names none."""

    def read(
        self, source: str, mapping: str | Path | None = None, *, told: SourceNotes | None = None
    ) -> Iterator[Recording]:
        """Read the sessions of a folder, in the order of their names; see `read_session`.

        Args:
            source: A session's folder, or one that holds such folders at any depth.
            mapping: A mapping file, for the logs of another agent; see `load_names`.
            told: Takes what is not about a single session.

        Raises:
            RecordingError: before the first recording: there is no session, or the mapping is wrong.
        """
        names = UFO if mapping is None else load_names(Path(mapping))
        root = Path(source)
        told = SourceNotes() if told is None else told
        if not root.is_dir():
            words = "is not a folder" if root.exists() else "does not exist"
            raise RecordingError(
                f"{root} {words}; ufo:FOLDER names the folder of a session, or a folder that contains such folders."
            )
        if os.path.isfile(root / names.log):
            yield read_session(root, names, told=told)
            return
        found = False
        for folder in _sessions(root, names.log, told):
            found = True
            yield told.on(_in_a_tree(root, folder, names, told))
        if not found:
            words = f"{root} is not the log folder of a session: neither it nor a folder below it contains {names.log}"
            raise RecordingError(f"{'. '.join((words, *told.lost))}.")


def read_session(
    folder: Path, names: Names = UFO, *, one_of_many: bool = False, told: SourceNotes | None = None
) -> Recording:
    """Read one session.

    A round of the log is a round of the transcript; its lines of `AppAgent` are the steps, those of `HostAgent` give
    the round's plan and subtasks (the attributes `plan`, `subtasks` and, whole, `host`). A step's `image_roles` name
    what its pictures show, in the same order. The notes of transcript and recording list the faults of the folder. For
    one session of many, the recording's notes contain no numbers, so that equal notes can be counted.

    Raises:
        RecordingError: the log cannot be read, or none of its lines can be used.
        NothingYet: it is empty.
    """
    file = folder / names.log
    try:
        inside = file.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError) as error:
        raise RecordingError(f"{file}: cannot be read: {error}") from error
    if not inside:
        raise RecordingError(f"{file} is a link that leads out of the folder; copy the log itself into it.")
    lines = read_lines(file, names.lines, told)
    if not lines.good:
        held = f"it has only broken lines ({len(lines.broken)})" if lines.broken else "it is empty"
        kind = RecordingError if lines.broken else NothingYet
        raise kind(f"{file} holds no step of a session: {held}.")
    session = SessionLog(folder, names, lines.good)
    for line in lines.good:
        session.take(LineFields(line, names))
    recording = session.recording(lines.broken)
    unfound = unfound_fields(lines.good, names)
    recording = replace(
        recording,
        transcript=replace(recording.transcript, notes=(*recording.transcript.notes, *unfound)),
        notes=(*recording.notes, *unfound),
    )
    return recording if one_of_many else replace(recording, notes=recording.transcript.notes)


def _sessions(root: Path, log: str, told: SourceNotes) -> Iterator[Path]:
    """Yield the folders that contain a log. Links are not followed."""

    def unlisted(error: OSError) -> None:
        if may_hide_files(error):
            told.lose(unlisted_words(error))

    for folder, below, files in os.walk(root, onerror=unlisted):
        below.sort()
        if log in files or ("/" in log and os.path.isfile(Path(folder, log))):
            below.clear()
            yield Path(folder)


def _in_a_tree(root: Path, folder: Path, names: Names, told: SourceNotes) -> Recording:
    """Return one session of many. One that cannot be read becomes a run without rounds, and the others are judged."""
    key = folder.relative_to(root).as_posix()
    try:
        return replace(read_session(folder, names, one_of_many=True, told=told), run_key=key)
    except RecordingError as error:
        transcript = Transcript(source=SOURCE, trace_id=key, notes=(str(error),))
        if waits := told.waits_for(error):
            told.pass_over(folder / names.log)
        note = f"a session without a readable {names.log}"
        return Recording(
            transcript,
            place=str(folder),
            run_key=key,
            subject=folder.name,
            agent=names.agent,
            notes=(note,),
            lost=() if waits else (str(error),),
        )

"""Reads the log folders of UFO, and folders of the same shape by other agents, into transcripts with screenshots.

The format is that of github.com/microsoft/UFO: `response.log` with one JSON object a line, screenshots beside it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from viva.recordings.desktop.lines import LineFields, read_lines, text_of, unfound_fields
from viva.recordings.desktop.names import UFO, Names, load_names
from viva.recordings.desktop.screenshots import Screenshots
from viva.recordings.desktop.steps import steps_of, usage_of
from viva.recordings.recording import Recording, RecordingError
from viva.records.transcript import NO_USAGE, Round, Step, StopReason, Transcript, Usage

SOURCE = "ufo"
FINISHED = "FINISH"
"""The status of the last step of a session that ended as planned."""


class UfoReader:
    """Reads `ufo:FOLDER`: one session's folder, or a tree of them."""

    evaluators = ("session",)
    """The evaluators of such recordings if the user names none."""

    def read(self, source: str, mapping: str | Path | None = None) -> Iterator[Recording]:
        """Read the sessions of a folder, in the order of their names; see `read_session`.

        Args:
            source: A session's folder, or one that holds such folders at any depth.
            mapping: A mapping file, for the logs of another agent; see `load_names`.

        Raises:
            RecordingError: before the first recording: there is no session, or the mapping is wrong.
        """
        names = UFO if mapping is None else load_names(Path(mapping))
        root = Path(source)
        if not root.is_dir():
            words = "is not a folder" if root.exists() else "does not exist"
            raise RecordingError(
                f"{root} {words}; ufo:FOLDER names the folder of a session, or a folder that contains such folders."
            )
        if (root / names.log).is_file():
            yield read_session(root, names)
            return
        found = False
        for folder in _sessions(root, names.log):
            found = True
            yield _in_a_tree(root, folder, names)
        if not found:
            raise RecordingError(
                f"{root} is not the log folder of a session: neither it nor a folder below it contains {names.log}."
            )


def read_session(folder: Path, names: Names = UFO, *, one_of_many: bool = False) -> Recording:
    """Read one session.

    A round of the log is a round of the transcript; its lines of `AppAgent` are the steps, those of `HostAgent` give
    the round's plan and subtasks (the attributes `plan`, `subtasks` and, whole, `host`). A step's `image_roles` name
    what its pictures show, in the same order. The notes of transcript and recording list the faults of the folder. For
    one session of many, the recording's notes contain no numbers, so that equal notes can be counted.

    Raises:
        RecordingError: the log cannot be read, or none of its lines can be used.
    """
    file = folder / names.log
    try:
        inside = file.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError) as error:
        raise RecordingError(f"{file}: cannot be read: {error}") from error
    if not inside:
        raise RecordingError(f"{file} is a link that leads out of the folder; copy the log itself into it.")
    lines = read_lines(file, names.lines)
    if not lines.good:
        held = f"it has only broken lines ({len(lines.broken)})" if lines.broken else "it is empty"
        raise RecordingError(f"{file} holds no step of a session: {held}.")
    session = _LogReader(folder, names)
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


def _sessions(root: Path, log: str) -> Iterator[Path]:
    """Yield the folders that contain a log. Links are not followed."""
    for folder, below, files in os.walk(root):
        below.sort()
        if log in files or ("/" in log and Path(folder, log).is_file()):
            below.clear()
            yield Path(folder)


def _in_a_tree(root: Path, folder: Path, names: Names) -> Recording:
    """Return one session of many. One that cannot be read becomes a run without rounds, and the others are judged."""
    key = folder.relative_to(root).as_posix()
    try:
        return replace(read_session(folder, names, one_of_many=True), run_key=key)
    except RecordingError as error:
        transcript = Transcript(source=SOURCE, trace_id=key, notes=(str(error),))
        note = f"a session without a readable {names.log}"
        return Recording(
            transcript, place=str(folder), run_key=key, subject=folder.name, agent=names.agent, notes=(note,)
        )


@dataclass(slots=True)
class _LogRound:
    """A round whose lines are being read."""

    number: int
    """The number in the log."""
    request: str | None = None
    said: str | None = None
    steps: list[Step] = field(default_factory=list)
    host: list[dict[str, Any]] = field(default_factory=list)
    plan: list[str] = field(default_factory=list)
    subtasks: list[str] = field(default_factory=list)
    usage: Usage = NO_USAGE


class _LogReader:
    """Reads the lines of one log in order."""

    def __init__(self, folder: Path, names: Names) -> None:
        self._folder, self._names = folder, names
        self._shots = Screenshots(folder / names.screenshots, names)
        self._rounds: dict[int, _LogRound] = {}
        self._last = names.first_round
        self._ids: set[str] = set()
        self._again: Counter[str] = Counter()
        """Maps each number of a step to the suffix that was tried last."""
        self._status: str | None = None
        self._others: dict[str, int] = {}

    def take(self, line: LineFields) -> None:
        kind = text_of(line.take("agent_type")) or ""
        number = line.number("round")
        self._last = self._last if number is None else number
        draft = self._rounds.setdefault(self._last, _LogRound(self._last))
        request = line.text("request")
        draft.request = draft.request or request or self._names.asked
        if kind in self._names.plans_of:
            self._plan(draft, line)
        elif self._names.steps_of is None or kind in self._names.steps_of:
            step = line.number("step")
            taken = steps_of(self._identity(step), line, self._shots.of_step(line, step, self._last), self._names)
            if request not in (None, draft.request):
                taken[0] = replace(taken[0], attributes={**taken[0].attributes, "request": request})
            draft.steps += taken
            draft.said = taken[0].attributes.get("comment") or draft.said
            self._status = taken[0].attributes.get("status") or self._status
        else:
            self._others[kind] = self._others.get(kind, 0) + 1
            draft.host.append(line.rest)

    def recording(self, broken: list[int]) -> Recording:
        final = self._shots.final()
        rounds = tuple(self._round(number, draft) for number, draft in enumerate(self._rounds.values(), 1))
        finished = (self._status or "").upper() == FINISHED
        details, notes = self._notes(broken)
        transcript = Transcript(
            rounds,
            source=SOURCE,
            trace_id=self._key,
            images=final.names,
            stop=StopReason.FINISHED if finished else None,
            stop_detail=None if finished or not self._status else f"the status of the last step is {self._status}",
            notes=tuple(details),
            attributes=final.attributes,
        )
        return Recording(
            transcript,
            place=str(self._folder),
            run_key=self._key,
            subject=self._key,
            agent=self._names.agent,
            pictures=self._folder / self._names.screenshots,
            notes=tuple(notes),
        )

    @property
    def _key(self) -> str:
        return self._folder.resolve().name or "session"

    def _identity(self, step: int | None) -> str:
        """Return the id of a step: its number in the log, or else its position, with a suffix if it occurs again."""
        name = base = str(len(self._ids) + 1 if step is None else step)
        while name in self._ids:
            self._again[base] += 1
            name = f"{base}-{self._again[base] + 1}"
        self._ids.add(name)
        return name

    def _plan(self, draft: _LogRound, line: LineFields) -> None:
        """Read a line of the HostAgent. Its cost counts as the round's."""
        told = {
            name: line.take(name) for name in ("step", "subtask", "observation", "thought", "plan", "comment", "status")
        }
        told["message"] = line.take("message")
        draft.usage += usage_of(line)
        draft.subtasks += [words] if (words := text_of(told["subtask"])) else []
        if words := text_of(told["plan"]):
            draft.plan = words.splitlines()
        draft.said = text_of(told["comment"]) or draft.said
        told |= {"log": line.rest}
        draft.host.append({key: value for key, value in told.items() if value not in (None, "", [], {})})

    def _round(self, number: int, draft: _LogRound) -> Round:
        shots = self._shots.of_round(draft.number)
        attributes: dict[str, Any] = {
            "round": draft.number,
            "plan": draft.plan,
            "subtasks": draft.subtasks,
            "host": draft.host,
            **shots.attributes,
        }
        kept = {key: value for key, value in attributes.items() if value not in (None, [], {})}
        return Round(
            number,
            draft.request,
            draft.said,
            tuple(draft.steps),
            images=shots.names,
            # The host's and the steps': a figure without tokens would be taken to include what lies below it.
            usage=sum((step.usage for step in draft.steps), draft.usage),
            attributes=kept,
        )

    def _notes(self, broken: list[int]) -> tuple[list[str], list[str]]:
        """Return the faults of this session, and the same without numbers, so that equal notes can be counted."""
        details, notes = [], []
        if broken:
            shown = ", ".join(map(str, broken[:10])) + (", …" if len(broken) > 10 else "")
            which = f"line {shown} is" if len(broken) == 1 else f"{len(broken)} lines are"
            where = "" if len(broken) == 1 else f": lines {shown}"
            details.append(f"{which} broken in {self._names.log} and skipped{where}")
            notes.append(f"broken lines of {self._names.log} were skipped")
        for kind, times in self._others.items():
            details.append(f"lines of {kind[:60] or 'no agent'} are not steps, and are kept with their round: {times}")
            notes.append("lines of other agents are not steps")
        for fault, times in self._shots.faults.items():
            details.append(f"screenshots that {fault}: {times}")
            notes.append(f"screenshots {fault}")
        if not any(draft.steps for draft in self._rounds.values()):
            words = f"no step of {' or '.join(self._names.steps_of or ('any agent',))} is in {self._names.log}"
            details.append(words)
            notes.append(words)
        if unused := self._shots.unused:
            details.append(f"screenshots of no step in the log: {', '.join(unused[:8])}{', …' if unused[8:] else ''}")
        return details, notes

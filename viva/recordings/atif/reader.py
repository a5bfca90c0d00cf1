"""Reads `atif:FILE`: trajectories in ATIF, the Agent Trajectory Interchange Format, versions 1.0 to 1.8.

The format is that of the `harbor` package (`harbor.models.trajectories`). `atif_writer` writes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from viva.recordings.atif.steps import StepError, read_steps
from viva.recordings.files.each_file import of_each_file, of_each_part
from viva.recordings.files.locations import may_hide_files, unlisted_words
from viva.recordings.files.packed import open_recording
from viva.recordings.json_pieces import is_whole, lines_of, read_document
from viva.recordings.recording import NothingYet, Recording, RecordingError, SourceNotes
from viva.recordings.spans.files import EVALUATORS
from viva.recordings.subjects import subject_of
from viva.recordings.tool_definitions import normal
from viva.records.transcript import UNREPORTED, Transcript, Usage
from viva.records.usage import with_usage

KNOWN = ("1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8")
_VERSION = re.compile(r"ATIF-v(\d{1,3}\.\d{1,3})")


class AtifReader:
    """Reads `atif:FILE` and `atif:FOLDER`."""

    evaluators = EVALUATORS

    def read(
        self, source: str, *, since: datetime | None = None, told: SourceNotes | None = None
    ) -> Iterator[Recording]:
        """Read trajectories, each with the trajectories of subagents that it holds after it.

        Args:
            source: A JSON file with one trajectory or a list of them, JSON Lines, or a folder: every `trajectory.json`
                in it and below, as harbor lays its jobs out.
            since: Trajectories whose first step has an earlier time are left out.
            told: Takes what is not about a single trajectory.

        Raises:
            RecordingError: while iterating: the only file, or each of several, cannot be read, or contains something
                other than a trajectory. One of several is lost.
        """
        path = Path(source)
        told = SourceNotes() if told is None else told
        is_folder = os.path.isdir(path)

        def of_file(file: Path) -> Iterator[Recording]:
            name = str(file.relative_to(path)) if is_folder else file.name
            yield from of_each_part(_with_subagents(_documents(file, name, told)), _read, told)

        for recording in of_each_file(_in_folder(path, told) if is_folder else [path], of_file, told):
            began = recording.transcript.rounds[0].started if recording.transcript.rounds else None
            if since is None or began is None or began >= since.timestamp():
                yield told.on(recording)


def _in_folder(path: Path, told: SourceNotes) -> list[Path]:
    def unlisted(error: OSError) -> None:
        if may_hide_files(error):
            told.lose(unlisted_words(error))

    walked = os.walk(path, onerror=unlisted)
    files = sorted(
        Path(folder, name) for folder, _, names in walked for name in names if fnmatchcase(name, "trajectory*.json")
    )
    if not files and not told.lost:
        raise NothingYet(f"{path}: there is no trajectory.json in this folder or below.")
    if not files:
        raise RecordingError(f"{path}: there is no trajectory.json that can be read. {'. '.join(told.lost)}")
    return files


def _documents(path: Path, name: str, told: SourceNotes) -> Iterator[tuple[Any, str, str]]:
    """Yield each document, or what is wrong with it, with its place, and with a key that a moved file keeps."""
    try:
        with open_recording(path) as file:
            data = file.read(1 << 16)
            first, _, rest = data.partition(b"\n")
            file.seek(0)
            if not (rest.strip() and is_whole(first)):
                document = read_document(path, file)
                several = document if isinstance(document, list) else [document]
                for place, each in enumerate(several, 1):
                    mark = f", element {place}" if isinstance(document, list) else ""
                    yield each, f"{path}{mark}", f"{name}{mark}"
                return
            for number, value in lines_of(path, file, half_written=told.passing_over(path)):
                yield value, f"{path}, line {number}", f"{name}, line {number}"
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error


def _with_subagents(documents: Iterable[tuple[Any, str, str]]) -> Iterator[tuple[Any, str, str]]:
    """Yield each document and, after it, each trajectory that is embedded in it, however deep."""
    for document in documents:
        waiting = [document]
        while waiting:
            each, place, key = waiting.pop()
            yield each, place, key
            inner = each.get("subagent_trajectories") or [] if isinstance(each, Mapping) else []
            if not isinstance(inner, list):
                yield RecordingError(f"{place}: its `subagent_trajectories` are not a list."), place, key
                continue
            for number, sub in reversed(list(enumerate(inner, 1))):
                waiting.append((sub, f"{place}, subagent {number}", f"{key}, subagent {number}"))


def _read(found: tuple[Any, str, str]) -> Iterator[Recording]:
    document, place, key = found
    if isinstance(document, RecordingError):
        raise document
    if isinstance(document, ValueError):
        raise RecordingError(f"{place}: not valid JSON: {document}")
    yield _recording(document, place, key)


def _recording(document: Any, place: str, key: str) -> Recording:
    version = document.get("schema_version") if isinstance(document, Mapping) else None
    found = _VERSION.fullmatch(version) if isinstance(version, str) else None
    steps = document.get("steps") if isinstance(document, Mapping) else None
    if found is None or not isinstance(steps, list):
        raise RecordingError(
            f"{place}: not an ATIF trajectory: it must have `schema_version` (ATIF-v1.0 to v1.8) and `steps`."
        )
    agent = document.get("agent")
    agent = agent if isinstance(agent, Mapping) else {}
    model = agent.get("model_name")
    try:
        read = read_steps(steps, model if isinstance(model, str) else None, _text(agent.get("name")))
    except StepError as error:
        raise RecordingError(f"{place}: {error}") from error
    notes = list(read.notes)
    if found[1] not in KNOWN:
        notes.append(f"{version} is newer than what Viva knows; fields that it does not know are kept as attributes")
    if isinstance(document.get("continued_trajectory_ref"), str):
        notes.append(f"the trajectory continues in {document['continued_trajectory_ref']}")
    tools = agent.get("tool_definitions")
    rest = {name: value for name, value in document.items() if name not in ("steps", "subagent_trajectories")}
    session, identity = _text(document.get("session_id")), _text(document.get("trajectory_id"))
    transcript = Transcript(
        read.rounds,
        source="atif",
        trace_id=identity or session,
        system=read.system,
        tools=tuple(
            tool for given in (tools if isinstance(tools, list) else ()) if (tool := normal(given)) is not None
        ),
        notes=tuple(notes),
        attributes={"atif": rest, **({"session": session} if session else {})},
    )
    transcript = with_usage(transcript)
    if transcript.usage["target"] is UNREPORTED:
        transcript = replace(transcript, usage={**transcript.usage, "target": _total(document.get("final_metrics"))})
    question = next((each.examiner for each in read.rounds if each.examiner), None)
    return Recording(
        transcript,
        place=place,
        run_key=key,
        subject=subject_of(question) if question and question.strip() else None,
        agent=_text(agent.get("name")),
        agent_version=_text(agent.get("version")),
    )


def _total(metrics: Any) -> Usage:
    """Return the sum that the trajectory itself reports, if its steps report nothing."""
    if not isinstance(metrics, Mapping):
        return UNREPORTED
    given, said, cached = (metrics.get(f"total_{name}_tokens") for name in ("prompt", "completion", "cached"))
    if given is None and said is None:
        return UNREPORTED
    return Usage.answered(given, said, cached, calls=0, cost=metrics.get("total_cost_usd"))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
